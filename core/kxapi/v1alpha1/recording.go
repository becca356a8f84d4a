package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Recording has the objects of requests recorded for a while, as if their clients had asked for it, and may allow
// breakpoints and faults as long. It belongs to one process, is never changed, and ends by itself. The one called
// "flags" says what the flags of the process allow, and stays.
type Recording struct {
	metav1.TypeMeta `json:",inline"`
	// Standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// What is recorded, and for how long.
	Spec RecordingSpec `json:"spec"`
	// What has come of it.
	// +optional
	Status RecordingStatus `json:"status,omitempty"`
}

// Permission is what administrators may do to requests.
type Permission string

const (
	AllowBreakpoints Permission = "Breakpoints"
	AllowFaults      Permission = "Faults"
)

// RecordingSpec says what is recorded, and for how long.
type RecordingSpec struct {
	// Which requests, in the language of filters; empty for all. It can ask for what is known of a request before it is
	// carried out: verb, resource, ns, name, user, agent and the like. Of a create the name is not, which is in the
	// body.
	// +optional
	Filter string `json:"filter,omitempty"`
	// For how many seconds, a day at most; 900 if it is not said.
	// +optional
	Seconds int32 `json:"seconds,omitempty"`
	// What is allowed meanwhile: Breakpoints, Faults. What was made of these ends with the recording.
	// +optional
	// +listType=set
	Allow []Permission `json:"allow,omitempty"`
}

// RecordingStatus is what has come of a recording.
type RecordingStatus struct {
	// When it ends by itself.
	// +optional
	Until *metav1.Time `json:"until,omitempty"`
	// How many requests were recorded with objects because of it.
	// +optional
	Requests int64 `json:"requests,omitempty"`
	// The journey of the last one.
	// +optional
	Last string `json:"last,omitempty"`
	// Whether the server records the objects of all requests as long as it runs. Only flags says so.
	// +optional
	AllObjects bool `json:"allObjects,omitempty"`
}

// RecordingList is a list of recordings, in the order of their names.
type RecordingList struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`
	// +listType=atomic
	Items []Recording `json:"items"`
}

func (in *Recording) DeepCopyObject() runtime.Object { return in.DeepCopy() }

// DeepCopy returns a copy that shares nothing with in.
func (in *Recording) DeepCopy() *Recording {
	out := copyOf(in)
	if out != nil {
		in.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
		out.Spec.Allow = append([]Permission(nil), in.Spec.Allow...)
		out.Status.Until = in.Status.Until.DeepCopy()
	}
	return out
}

func (in *RecordingList) DeepCopyObject() runtime.Object { return in.DeepCopy() }

// DeepCopy returns a copy that shares nothing with in.
func (in *RecordingList) DeepCopy() *RecordingList {
	out := copyOf(in)
	if out != nil {
		in.ListMeta.DeepCopyInto(&out.ListMeta)
		out.Items = copyItems(in.Items, (*Recording).DeepCopy)
	}
	return out
}

// OpenAPIModelName returns the name of the type's definition.
func (Recording) OpenAPIModelName() string       { return "dev.kx.v1alpha1.Recording" }
func (RecordingList) OpenAPIModelName() string   { return "dev.kx.v1alpha1.RecordingList" }
func (RecordingSpec) OpenAPIModelName() string   { return "dev.kx.v1alpha1.RecordingSpec" }
func (RecordingStatus) OpenAPIModelName() string { return "dev.kx.v1alpha1.RecordingStatus" }
