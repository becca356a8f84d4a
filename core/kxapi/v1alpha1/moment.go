package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Moment tells which revision etcd had at a time, as far as this process has seen: etcd itself keeps no times. Its
// name is its time, or the requested one: a time such as 2026-01-02T15:04:05Z, or an age such as 5m.
type Moment struct {
	metav1.TypeMeta `json:",inline"`
	// Standard object metadata. There is no resourceVersion: moments can't be watched.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// The observation.
	Status MomentStatus `json:"status"`
}

// MomentStatus is one observation of etcd.
type MomentStatus struct {
	// When it was seen that etcd had come to the revision.
	Time metav1.MicroTime `json:"time"`
	// The revision.
	Revision int64 `json:"revision"`
}

// MomentList lists the observations in this process's memory, the oldest first.
type MomentList struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`
	// +listType=atomic
	Items []Moment `json:"items"`
}

func (in *Moment) DeepCopyObject() runtime.Object { return in.DeepCopy() }

// DeepCopy returns a copy that shares nothing with in.
func (in *Moment) DeepCopy() *Moment {
	if in == nil {
		return nil
	}
	out := *in
	in.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	return &out
}

func (in *MomentList) DeepCopyObject() runtime.Object { return in.DeepCopy() }

// DeepCopy returns a copy that shares nothing with in.
func (in *MomentList) DeepCopy() *MomentList {
	out := copyOf(in)
	if out != nil {
		in.ListMeta.DeepCopyInto(&out.ListMeta)
		out.Items = copyItems(in.Items, (*Moment).DeepCopy)
	}
	return out
}

// OpenAPIModelName returns the name of the type's definition.
func (Moment) OpenAPIModelName() string       { return "dev.kx.v1alpha1.Moment" }
func (MomentList) OpenAPIModelName() string   { return "dev.kx.v1alpha1.MomentList" }
func (MomentStatus) OpenAPIModelName() string { return "dev.kx.v1alpha1.MomentStatus" }
