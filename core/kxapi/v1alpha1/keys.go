package v1alpha1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// Key is a key in etcd as it lies below the API, or a directory: all keys that begin alike up to a slash. Its name is
// the key with other signs in place of some (KeyName).
type Key struct {
	metav1.TypeMeta `json:",inline"`
	// Standard object metadata. The resourceVersion is the revision of the key's last change; a directory has none.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// The key, and the resource and name in it.
	Spec KeySpec `json:"spec"`
	// The contents of etcd there.
	Status KeyStatus `json:"status"`
}

// KeySpec says which key.
type KeySpec struct {
	// The key itself.
	Key string `json:"key"`
	// Whether it stands for all keys that begin with it.
	// +optional
	Directory bool `json:"directory,omitempty"`
	// The resource, namespace and name of the object that an API server keeps there, if it is a key of one.
	// +optional
	Group string `json:"group,omitempty"`
	// +optional
	Resource string `json:"resource,omitempty"`
	// +optional
	Namespace string `json:"namespace,omitempty"`
	// +optional
	Name string `json:"name,omitempty"`
}

// KeyStatus describes a key or directory of etcd at one revision.
type KeyStatus struct {
	// The revision at which all this holds.
	Revision int64 `json:"revision"`
	// How many keys there are: 1, or those of a directory.
	Keys int64 `json:"keys"`
	// The size of their values in stored form.
	Bytes int64 `json:"bytes"`
	// Of how many of the keys bytes are, and modRevision of at least these: large directories are not read whole.
	Measured int64 `json:"measured"`
	// The revision of the last change.
	// +optional
	ModRevision int64 `json:"modRevision,omitempty"`
	// The revision at which the key came to be.
	// +optional
	CreateRevision int64 `json:"createRevision,omitempty"`
	// How often it was written since.
	// +optional
	Version int64 `json:"version,omitempty"`
	// The lease that the key ends with, as a hexadecimal number.
	// +optional
	Lease string `json:"lease,omitempty"`
	// The value. Lists leave it out.
	// +optional
	Value *KeyValue `json:"value,omitempty"`
}

// KeyValue is a value, decoded.
type KeyValue struct {
	// How it is encoded: protobuf, json, cbor, text or binary.
	// +optional
	Format string `json:"format,omitempty"`
	// The provider and the key that it is encrypted with, such as "aescbc key1"; empty for none.
	// +optional
	Encryption string `json:"encryption,omitempty"`
	// The object as it is stored. That of a Secret is masked.
	// +optional
	Object *runtime.RawExtension `json:"object,omitempty"`
	// The value, if it is text and no object.
	// +optional
	Text string `json:"text,omitempty"`
	// The bytes in etcd.
	// +optional
	Raw []byte `json:"raw,omitempty"`
	// Whether a secret part is left out: the object except its metadata, and the bytes unless they are encrypted. Two
	// secrets of the same length look the same then.
	// +optional
	Masked bool `json:"masked,omitempty"`
	// Why it can't be read.
	// +optional
	Error string `json:"error,omitempty"`
}

// KeyList lists the keys and directories right below a prefix, in order.
type KeyList struct {
	metav1.TypeMeta `json:",inline"`
	// The resourceVersion is the revision at which the list holds.
	// +optional
	metav1.ListMeta `json:"metadata,omitempty"`
	// The prefix of all keys in the list.
	// +optional
	Prefix string `json:"prefix,omitempty"`
	// From where to where etcd can be read.
	Etcd EtcdHead `json:"etcd"`
	// +listType=atomic
	Items []Key `json:"items"`
}

// EtcdHead is where etcd's history begins and ends.
type EtcdHead struct {
	// The newest revision.
	Revision int64 `json:"revision"`
	// The oldest revision that can be read; 0 if all can.
	// +optional
	Compacted int64 `json:"compacted,omitempty"`
}

// KeyHistory is every revision of a key that etcd still has.
type KeyHistory struct {
	metav1.TypeMeta `json:",inline"`
	// Standard object metadata; the name is the key's.
	// +optional
	metav1.ObjectMeta `json:"metadata,omitempty"`

	// The revisions.
	Status KeyHistoryStatus `json:"status"`
}

// KeyHistoryStatus are the revisions of a key.
type KeyHistoryStatus struct {
	// The key itself.
	Key string `json:"key"`
	// The revisions at which etcd can be read. The first revision of a key may be older: it is the key's state when
	// etcd's history begins.
	Etcd EtcdHead `json:"etcd"`
	// The oldest first.
	// +optional
	// +listType=atomic
	Revisions []KeyRevision `json:"revisions,omitempty"`
	// How many older ones are left out because there are so many, or they are so large.
	// +optional
	Cut int64 `json:"cut,omitempty"`
}

// KeyRevision is one write of a key.
type KeyRevision struct {
	Revision int64 `json:"revision"`
	// create, update or delete.
	Operation string `json:"operation"`
	// The revision at which the key came to be; 0 for a deletion.
	// +optional
	CreateRevision int64 `json:"createRevision,omitempty"`
	// How often it was written since; 0 for a deletion.
	// +optional
	Version int64 `json:"version,omitempty"`
	// How many bytes the value has.
	Bytes int64 `json:"bytes"`
	// +optional
	Lease string `json:"lease,omitempty"`
	// The journey of the request that wrote it, if this process served it and still has the journey.
	// +optional
	Journey string `json:"journey,omitempty"`
	// The authors of the write by the object's managed fields: the managers whose entries changed.
	// +optional
	// +listType=atomic
	Authors []KeyAuthor `json:"authors,omitempty"`
	// When it was written, as far as the object tells.
	// +optional
	Time *metav1.Time `json:"time,omitempty"`
	// Why the value can't be read.
	// +optional
	Error string `json:"error,omitempty"`
}

// KeyAuthor is a manager of an object's fields.
type KeyAuthor struct {
	Manager string `json:"manager"`
	// Update or Apply.
	// +optional
	Operation string `json:"operation,omitempty"`
	// +optional
	Subresource string `json:"subresource,omitempty"`
	// +optional
	Time *metav1.Time `json:"time,omitempty"`
}

// OpenAPIModelName returns the name of the type's definition.
func (Key) OpenAPIModelName() string              { return "dev.kx.v1alpha1.Key" }
func (KeySpec) OpenAPIModelName() string          { return "dev.kx.v1alpha1.KeySpec" }
func (KeyStatus) OpenAPIModelName() string        { return "dev.kx.v1alpha1.KeyStatus" }
func (KeyValue) OpenAPIModelName() string         { return "dev.kx.v1alpha1.KeyValue" }
func (KeyList) OpenAPIModelName() string          { return "dev.kx.v1alpha1.KeyList" }
func (EtcdHead) OpenAPIModelName() string         { return "dev.kx.v1alpha1.EtcdHead" }
func (KeyHistory) OpenAPIModelName() string       { return "dev.kx.v1alpha1.KeyHistory" }
func (KeyHistoryStatus) OpenAPIModelName() string { return "dev.kx.v1alpha1.KeyHistoryStatus" }
func (KeyRevision) OpenAPIModelName() string      { return "dev.kx.v1alpha1.KeyRevision" }
func (KeyAuthor) OpenAPIModelName() string        { return "dev.kx.v1alpha1.KeyAuthor" }
