package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// GroupName is the name of kx's own group.
const GroupName = "kx.dev"

// SchemeGroupVersion is the group and version of the types here.
var SchemeGroupVersion = schema.GroupVersion{Group: GroupName, Version: "v1alpha1"}

// AddToScheme registers the types.
func AddToScheme(s *runtime.Scheme) error {
	s.AddKnownTypes(SchemeGroupVersion, &Journey{}, &JourneyList{}, &Cache{}, &CacheList{}, &CacheCheck{}, &CachedObject{},
		&Key{}, &KeyList{}, &KeyHistory{},
		&Breakpoint{}, &BreakpointList{}, &Fault{}, &FaultList{}, &Recording{}, &RecordingList{}, &JourneyCommand{}, &Compaction{},
		&AccessReview{}, &Snapshot{}, &SnapshotList{}, &Rewind{},
		&Moment{}, &MomentList{}, &Source{}, &SourceList{}, &Structure{}, &StructureList{})
	metav1.AddToGroupVersion(s, SchemeGroupVersion)
	return nil
}

// OpenAPIModelName returns the name of the type's definition.
func (Journey) OpenAPIModelName() string            { return "dev.kx.v1alpha1.Journey" }
func (JourneyList) OpenAPIModelName() string        { return "dev.kx.v1alpha1.JourneyList" }
func (JourneySpec) OpenAPIModelName() string        { return "dev.kx.v1alpha1.JourneySpec" }
func (JourneyStatus) OpenAPIModelName() string      { return "dev.kx.v1alpha1.JourneyStatus" }
func (Step) OpenAPIModelName() string               { return "dev.kx.v1alpha1.Step" }
func (Attribute) OpenAPIModelName() string          { return "dev.kx.v1alpha1.Attribute" }
func (Mark) OpenAPIModelName() string               { return "dev.kx.v1alpha1.Mark" }
func (Delivery) OpenAPIModelName() string           { return "dev.kx.v1alpha1.Delivery" }
func (Cause) OpenAPIModelName() string              { return "dev.kx.v1alpha1.Cause" }
func (Effect) OpenAPIModelName() string             { return "dev.kx.v1alpha1.Effect" }
func (Cache) OpenAPIModelName() string              { return "dev.kx.v1alpha1.Cache" }
func (CacheList) OpenAPIModelName() string          { return "dev.kx.v1alpha1.CacheList" }
func (CacheSpec) OpenAPIModelName() string          { return "dev.kx.v1alpha1.CacheSpec" }
func (CacheStatus) OpenAPIModelName() string        { return "dev.kx.v1alpha1.CacheStatus" }
func (CacheHistory) OpenAPIModelName() string       { return "dev.kx.v1alpha1.CacheHistory" }
func (CacheWatcher) OpenAPIModelName() string       { return "dev.kx.v1alpha1.CacheWatcher" }
func (CacheCheck) OpenAPIModelName() string         { return "dev.kx.v1alpha1.CacheCheck" }
func (CacheCheckStatus) OpenAPIModelName() string   { return "dev.kx.v1alpha1.CacheCheckStatus" }
func (CacheDifference) OpenAPIModelName() string    { return "dev.kx.v1alpha1.CacheDifference" }
func (CachedObject) OpenAPIModelName() string       { return "dev.kx.v1alpha1.CachedObject" }
func (CachedObjectStatus) OpenAPIModelName() string { return "dev.kx.v1alpha1.CachedObjectStatus" }
func (ObjectState) OpenAPIModelName() string        { return "dev.kx.v1alpha1.ObjectState" }
