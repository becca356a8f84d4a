package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Snapshot is a revision of etcd to which the objects of the server can be rewound. It is no copy: the server keeps
// etcd's history from there on as long as the snapshot lives. It belongs to one process, is never changed, and ends by
// itself.
type Snapshot struct {
	metav1.TypeMeta `json:",inline"`
	// Standard object metadata.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// Which revision, and for how long.
	// +optional
	Spec SnapshotSpec `json:"spec,omitempty"`
	// The snapshot as the server keeps it.
	// +optional
	Status SnapshotStatus `json:"status,omitempty"`
}

// SnapshotSpec says which revision is kept, and for how long.
type SnapshotSpec struct {
	// The revision of etcd, which it must still have; the present one by default.
	// +optional
	Revision int64 `json:"revision,omitempty"`
	// For how many seconds it is kept, a day at most; 3600 by default.
	// +optional
	Seconds int32 `json:"seconds,omitempty"`
}

// SnapshotStatus describes a snapshot.
type SnapshotStatus struct {
	// The revision of etcd.
	Revision int64 `json:"revision"`
	// How many keys etcd has at that revision.
	Keys int64 `json:"keys"`
	// When it ends by itself.
	// +optional
	Until *metav1.Time `json:"until,omitempty"`
}

// SnapshotList is a list of snapshots, in the order of their names.
type SnapshotList struct {
	metav1.TypeMeta `json:",inline"`
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`
	// +listType=atomic
	Items []Snapshot `json:"items"`
}

// Rewind brings all objects back to what they were at a snapshot. It is created in snapshots/rewind, and done then; it
// is not kept.
type Rewind struct {
	metav1.TypeMeta `json:",inline"`
	// Standard object metadata; the name is the snapshot's.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// The result.
	// +optional
	Status RewindStatus `json:"status,omitempty"`
}

// RewindStatus describes the writes of a rewind.
type RewindStatus struct {
	// The revision at which etcd had nothing else than at the snapshot. The caches of the server have reached it.
	Revision int64 `json:"revision"`
	// How many keys were written, because they were gone or different.
	Written int64 `json:"written"`
	// How many keys were deleted, because they were new.
	Removed int64 `json:"removed"`
	// How long that took, in microseconds.
	TookMicros int64 `json:"tookMicros"`
}

func (in *Snapshot) DeepCopyObject() runtime.Object { return in.DeepCopy() }

// DeepCopy returns a copy that shares nothing with in.
func (in *Snapshot) DeepCopy() *Snapshot {
	out := copyOf(in)
	if out != nil {
		in.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
		out.Status.Until = in.Status.Until.DeepCopy()
	}
	return out
}

func (in *SnapshotList) DeepCopyObject() runtime.Object { return in.DeepCopy() }

// DeepCopy returns a copy that shares nothing with in.
func (in *SnapshotList) DeepCopy() *SnapshotList {
	out := copyOf(in)
	if out != nil {
		in.ListMeta.DeepCopyInto(&out.ListMeta)
		out.Items = copyItems(in.Items, (*Snapshot).DeepCopy)
	}
	return out
}

func (in *Rewind) DeepCopyObject() runtime.Object { return in.DeepCopy() }

// DeepCopy returns a copy that shares nothing with in.
func (in *Rewind) DeepCopy() *Rewind {
	out := copyOf(in)
	if out != nil {
		in.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	}
	return out
}

// OpenAPIModelName returns the name of the type's definition.
func (Snapshot) OpenAPIModelName() string       { return "dev.kx.v1alpha1.Snapshot" }
func (SnapshotList) OpenAPIModelName() string   { return "dev.kx.v1alpha1.SnapshotList" }
func (SnapshotSpec) OpenAPIModelName() string   { return "dev.kx.v1alpha1.SnapshotSpec" }
func (SnapshotStatus) OpenAPIModelName() string { return "dev.kx.v1alpha1.SnapshotStatus" }
func (Rewind) OpenAPIModelName() string         { return "dev.kx.v1alpha1.Rewind" }
func (RewindStatus) OpenAPIModelName() string   { return "dev.kx.v1alpha1.RewindStatus" }
