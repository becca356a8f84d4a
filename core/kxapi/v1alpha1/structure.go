package v1alpha1

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Structure is one part of a server: a filter that requests pass, one server of the delegation chain, a resource in
// one version, the definition of a custom resource, or a controller. Names of filters, servers, definitions and
// controllers begin with filter:, server:, definition: and controller:; a resource has a name such as
// deployments.v1.apps.
type Structure struct {
	metav1.TypeMeta `json:",inline"`
	// Standard object metadata. There is no resourceVersion: a server's map can't be watched.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// The part.
	Spec StructureSpec `json:"spec"`
}

// StructureList is a server's map: the filters and the servers in the order in which a request passes them, then the
// resources by the servers that have them, then the definitions, then the controllers.
type StructureList struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`
	// +listType=atomic
	Items []Structure `json:"items"`
}

// StructurePart is the kind of a part.
type StructurePart string

const (
	PartFilter     StructurePart = "Filter"
	PartServer     StructurePart = "Server"
	PartResource   StructurePart = "Resource"
	PartDefinition StructurePart = "Definition"
	PartController StructurePart = "Controller"
)

// StructureSpec is one part. One of filter, server, resource, definition and controller is set.
type StructureSpec struct {
	// Filter, Server, Resource, Definition or Controller.
	Part StructurePart `json:"part"`
	// The part's purpose, in a few words.
	Title string `json:"title"`
	// Where its source is: the function of a filter, the type of a server or of a storage.
	Source CodePlace `json:"source"`
	// +optional
	Filter *StructureFilter `json:"filter,omitempty"`
	// +optional
	Server *StructureServer `json:"server,omitempty"`
	// +optional
	Resource *StructureResource `json:"resource,omitempty"`
	// +optional
	Definition *StructureDefinition `json:"definition,omitempty"`
	// +optional
	Controller *StructureController `json:"controller,omitempty"`
}

// CodePlace is a function, a type or a variable in the server's source.
type CodePlace struct {
	// The name with its package from the module's root, such as store/registry.Store.Get.
	// +optional
	Name string `json:"name,omitempty"`
	// The file and the line, as in steps; empty outside of the server's own source.
	// +optional
	File string `json:"file,omitempty"`
	// +optional
	Line int32 `json:"line,omitempty"`
	// The comment above it. Lists leave it out, except of filters and servers.
	// +optional
	Doc string `json:"doc,omitempty"`
	// The function of the Kubernetes API server that does the same, and its file, if it is one that a step names.
	// +optional
	Upstream string `json:"upstream,omitempty"`
	// +optional
	UpstreamFile string `json:"upstreamFile,omitempty"`
}

// StructureFilter is a filter that every request passes.
type StructureFilter struct {
	// Which of the filters it is, counted from 1.
	Position int32 `json:"position"`
	// The ID of its step in journeys.
	Step string `json:"step"`
	// The function of the Kubernetes API server that does the same, and its file.
	Upstream     string `json:"upstream"`
	UpstreamFile string `json:"upstreamFile"`
}

// StructureServer is one of the servers of the chain.
type StructureServer struct {
	// Which of them it is, counted from 1.
	Position int32 `json:"position"`
	// The server that gets the requests which this one does not serve; empty for the last.
	// +optional
	Delegate string `json:"delegate,omitempty"`
	// The group versions that are installed in it, in the order of installation.
	// +optional
	// +listType=atomic
	GroupVersions []string `json:"groupVersions,omitempty"`
	// How many resources it has, each version counted.
	Resources int32 `json:"resources"`
}

// StructureController is a controller that the server runs, triggered by objects in etcd.
type StructureController struct {
	// Running; Elsewhere, where another process holds the Lease of the controllers or none does yet; or Off, by
	// --controllers.
	State string `json:"state"`
	// The process that holds the Lease of the controllers, where several servers share an etcd.
	// +optional
	Holder string `json:"holder,omitempty"`
	// The kube-controller-manager that does the same work at the same time.
	// +optional
	Other string `json:"other,omitempty"`
	// How many objects it has yet to look at, how many it is looking at, and how many it will try again since it
	// failed.
	Waiting int32 `json:"waiting"`
	Working int32 `json:"working"`
	Failing int32 `json:"failing"`
	// Why it failed last, while it does.
	// +optional
	Error string `json:"error,omitempty"`
}

// The states of a controller.
const (
	ControllerRunning   = "Running"
	ControllerElsewhere = "Elsewhere"
	ControllerOff       = "Off"
)

// StructureResource is a resource in one version.
type StructureResource struct {
	// +optional
	Group    string `json:"group,omitempty"`
	Version  string `json:"version"`
	Resource string `json:"resource"`
	Kind     string `json:"kind"`
	// +optional
	Singular   string `json:"singular,omitempty"`
	Namespaced bool   `json:"namespaced"`
	// +optional
	// +listType=atomic
	ShortNames []string `json:"shortNames,omitempty"`
	// +optional
	// +listType=atomic
	Categories []string `json:"categories,omitempty"`
	// The server that has it, and the definition that it is served for.
	Server string `json:"server"`
	// +optional
	Definition string `json:"definition,omitempty"`
	// The version and kind in which objects are stored, such as apps/v1 Deployment; empty if none are.
	// +optional
	StoredAs string `json:"storedAs,omitempty"`
	// The prefix of its objects' keys in etcd; empty if it has none.
	// +optional
	Key string `json:"key,omitempty"`
	// Its watch cache, if it has one.
	// +optional
	Cache *StructureCache `json:"cache,omitempty"`
	// The verbs of the resource itself, and the names of its subresources.
	// +listType=atomic
	Verbs []string `json:"verbs"`
	// +optional
	// +listType=atomic
	Subresources []string `json:"subresources,omitempty"`
	// The storage of the resource itself, then those of its subresources. Lists leave them out.
	// +optional
	// +listType=atomic
	Storages []StructureStorage `json:"storages,omitempty"`
}

// StructureCache summarizes a watch cache. The resource caches has more.
type StructureCache struct {
	// Its name among the caches.
	Name  string     `json:"name"`
	State CacheState `json:"state"`
	Items int64      `json:"items"`
	Bytes int64      `json:"bytes"`
}

// StructureStorage describes the storage of a resource or a subresource.
type StructureStorage struct {
	// Empty for the resource itself.
	// +optional
	Subresource string `json:"subresource,omitempty"`
	// The kind that clients see, such as autoscaling/v1 Scale.
	Kind string `json:"kind"`
	// The storage's type.
	Type CodePlace `json:"type"`
	// The strategies of its Store, by purpose.
	// +optional
	// +listType=atomic
	Strategies []StructureStrategy `json:"strategies,omitempty"`
	// The paths that it has, and what answers there.
	// +optional
	// +listType=atomic
	Routes []StructureRoute `json:"routes,omitempty"`
	// The missing parts, and why they are missing.
	// +optional
	// +listType=atomic
	Absent []StructureAbsence `json:"absent,omitempty"`
}

// StructureStrategy is a strategy of a Store.
type StructureStrategy struct {
	// create, update or delete.
	For  string    `json:"for"`
	Type CodePlace `json:"type"`
}

// StructureRoute is one path, and the method that it takes.
type StructureRoute struct {
	Verb   string `json:"verb"`
	Method string `json:"method"`
	Path   string `json:"path"`
	// The function that made the handler, and what that calls of the storage.
	Handler CodePlace `json:"handler"`
	// +optional
	Calls *CodePlace `json:"calls,omitempty"`
}

// StructureAbsence is a verb without a route.
type StructureAbsence struct {
	Verb   string `json:"verb"`
	Reason string `json:"reason"`
}

// StructureDefinition is a CustomResourceDefinition and what serves it.
type StructureDefinition struct {
	Group    string `json:"group"`
	Resource string `json:"resource"`
	Kind     string `json:"kind"`
	// Namespaced or Cluster.
	Scope string `json:"scope"`
	// Its versions in its order.
	// +listType=atomic
	Versions []StructureVersion `json:"versions"`
	// The versions in which objects may be stored.
	// +optional
	// +listType=atomic
	StoredVersions []string `json:"storedVersions,omitempty"`
	// +optional
	// +listType=atomic
	Conditions []StructureCondition `json:"conditions,omitempty"`
	// Its handlers; empty until the first request makes them.
	// +optional
	Serving *StructureServing `json:"serving,omitempty"`
}

// StructureVersion is a version of a definition.
type StructureVersion struct {
	Name    string `json:"name"`
	Served  bool   `json:"served"`
	Storage bool   `json:"storage"`
	// +optional
	Deprecated bool `json:"deprecated,omitempty"`
}

// StructureCondition is a condition of a definition.
type StructureCondition struct {
	Type   string `json:"type"`
	Status string `json:"status"`
	// +optional
	Reason string `json:"reason,omitempty"`
	// +optional
	Message string `json:"message,omitempty"`
	// +optional
	Since metav1.Time `json:"since,omitempty"`
}

// StructureServing describes the handlers that serve a definition.
type StructureServing struct {
	// When it was made, and how long that took, in microseconds.
	Made       metav1.MicroTime `json:"made"`
	TookMicros int64            `json:"tookMicros"`
	// How many requests use it now, watches among them.
	Requests int64 `json:"requests"`
	// The version in which it stores objects, and those that it serves.
	StorageVersion string `json:"storageVersion"`
	// +listType=atomic
	Versions []string `json:"versions"`
}

// OpenAPIModelName returns the name of the type's definition.
func (Structure) OpenAPIModelName() string           { return "dev.kx.v1alpha1.Structure" }
func (StructureList) OpenAPIModelName() string       { return "dev.kx.v1alpha1.StructureList" }
func (StructureSpec) OpenAPIModelName() string       { return "dev.kx.v1alpha1.StructureSpec" }
func (CodePlace) OpenAPIModelName() string           { return "dev.kx.v1alpha1.CodePlace" }
func (StructureFilter) OpenAPIModelName() string     { return "dev.kx.v1alpha1.StructureFilter" }
func (StructureServer) OpenAPIModelName() string     { return "dev.kx.v1alpha1.StructureServer" }
func (StructureResource) OpenAPIModelName() string   { return "dev.kx.v1alpha1.StructureResource" }
func (StructureCache) OpenAPIModelName() string      { return "dev.kx.v1alpha1.StructureCache" }
func (StructureStorage) OpenAPIModelName() string    { return "dev.kx.v1alpha1.StructureStorage" }
func (StructureStrategy) OpenAPIModelName() string   { return "dev.kx.v1alpha1.StructureStrategy" }
func (StructureRoute) OpenAPIModelName() string      { return "dev.kx.v1alpha1.StructureRoute" }
func (StructureAbsence) OpenAPIModelName() string    { return "dev.kx.v1alpha1.StructureAbsence" }
func (StructureDefinition) OpenAPIModelName() string { return "dev.kx.v1alpha1.StructureDefinition" }
func (StructureVersion) OpenAPIModelName() string    { return "dev.kx.v1alpha1.StructureVersion" }
func (StructureCondition) OpenAPIModelName() string  { return "dev.kx.v1alpha1.StructureCondition" }
func (StructureServing) OpenAPIModelName() string    { return "dev.kx.v1alpha1.StructureServing" }
