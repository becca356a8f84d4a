package rest

import (
	"context"
	"net/url"

	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
)

// Storage holds the methods that every resource has.
type Storage interface {
	// New makes an empty object of the type that bodies of requests are decoded into.
	New() runtime.Object
	// Destroy ends the storage's goroutines and closes its connections. It may be called more than once.
	Destroy()
}

// StorageWithReadiness knows when it is ready to serve.
type StorageWithReadiness interface {
	Storage
	ReadinessCheck() error
}

// Scoper says whether a resource lives in namespaces. Every Storage that is not a subresource must be one.
type Scoper interface {
	NamespaceScoped() bool
}

// ShortNamesProvider (optional) gives the names kubectl users type.
type ShortNamesProvider interface {
	ShortNames() []string
}

// CategoriesProvider (optional) gives the categories that the resource belongs to, such as "all".
type CategoriesProvider interface {
	Categories() []string
}

// SingularNameProvider gives the name discovery shows for one object.
type SingularNameProvider interface {
	GetSingularName() string
}

// GroupVersionKindProvider (optional) is for a subresource whose kind is not its parent's, such as scale.
type GroupVersionKindProvider interface {
	GroupVersionKind(containingGV schema.GroupVersion) schema.GroupVersionKind
}

// Getter answers GET of one object.
type Getter interface {
	Get(ctx context.Context, name string, options *metav1.GetOptions) (runtime.Object, error)
}

// Lister answers GET of a collection.
type Lister interface {
	// NewList is an empty list of the resource.
	NewList() runtime.Object
	List(ctx context.Context, options *metainternalversion.ListOptions) (runtime.Object, error)
	TableConvertor
}

// QueryReader (optional) is for a lister or getter with query parameters of its own.
type QueryReader interface {
	// ReadQuery puts those parameters into the context of List, Watch and Get, or returns a bad-request error.
	ReadQuery(ctx context.Context, query url.Values) (context.Context, error)
}

// TableConvertor makes rows of objects, for kubectl get. A nil options is allowed.
type TableConvertor interface {
	ConvertToTable(ctx context.Context, object runtime.Object, tableOptions runtime.Object) (*metav1.Table, error)
}

// ListTableConvertor is a TableConvertor whose rows depend on the other items of their list.
type ListTableConvertor interface {
	TableConvertor
	// InList is the convertor for the items of a decoded list.
	InList(list runtime.Object) TableConvertor
}

// Creater answers POST to a collection.
type Creater interface {
	New() runtime.Object
	// Create stores obj. createValidation (admission) sees the object in the form that will be stored.
	Create(ctx context.Context, obj runtime.Object, createValidation ValidateObjectFunc, options *metav1.CreateOptions) (runtime.Object,
		error)
}

// NamedCreater answers POST to a named object, as subresources such as deployments/rollback have it.
type NamedCreater interface {
	New() runtime.Object
	Create(ctx context.Context, name string, obj runtime.Object, createValidation ValidateObjectFunc,
		options *metav1.CreateOptions) (runtime.Object, error)
}

// SubresourceObjectMetaPreserver (optional) is for a NamedCreater that needs the UID and the resourceVersion that a
// client sent.
type SubresourceObjectMetaPreserver interface {
	PreserveRequestObjectMetaSystemFieldsOnSubresourceCreate() bool
}

// UpdatedObjectInfo makes the next state of an object from its present one. The storage calls it at least once.
type UpdatedObjectInfo interface {
	// Preconditions (may be nil) must hold on the present state.
	Preconditions() *metav1.Preconditions
	// UpdatedObject returns the next state. It must not change oldObj.
	UpdatedObject(ctx context.Context, oldObj runtime.Object) (newObj runtime.Object, err error)
}

// ValidateObjectFunc is validating admission of a create or a delete. It must not change the object.
type ValidateObjectFunc func(ctx context.Context, obj runtime.Object) error

// ValidateAllObjectFunc admits everything.
func ValidateAllObjectFunc(context.Context, runtime.Object) error { return nil }

// ValidateObjectUpdateFunc is validating admission of an update.
type ValidateObjectUpdateFunc func(ctx context.Context, obj, old runtime.Object) error

// ValidateAllObjectUpdateFunc admits everything.
func ValidateAllObjectUpdateFunc(context.Context, runtime.Object, runtime.Object) error { return nil }

// UpdateAdmission says which results of an update are admitted.
type UpdateAdmission struct {
	// Create (may be nil) validates an object that the update creates.
	Create ValidateObjectFunc
	// Update (may be nil) validates the next state of an object.
	Update ValidateObjectUpdateFunc
	// ForceAllowCreate lets the update create an object even if the strategy does not: server-side apply sets it.
	ForceAllowCreate bool
}

// Updater answers PUT.
type Updater interface {
	New() runtime.Object
	// Update stores the next state that objInfo makes, and says whether it created the object.
	Update(ctx context.Context, name string, objInfo UpdatedObjectInfo, admit UpdateAdmission,
		options *metav1.UpdateOptions) (runtime.Object, bool, error)
}

// CreaterUpdater answers POST and PUT.
type CreaterUpdater interface {
	Creater
	Updater
}

// Patcher answers PATCH, which is a read and an update.
type Patcher interface {
	Getter
	Updater
}

// GracefulDeleter answers DELETE of one object.
type GracefulDeleter interface {
	// Delete returns the object (or a Status) and whether it is gone. Finalizers or a grace period may keep it.
	Delete(ctx context.Context, name string, deleteValidation ValidateObjectFunc, options *metav1.DeleteOptions) (runtime.Object, bool,
		error)
}

// MayReturnFullObjectDeleter (optional) says that Delete returns the object rather than a Status.
type MayReturnFullObjectDeleter interface {
	DeleteReturnsDeletedObject() bool
}

// StorageMetadata (optional) is for a storage whose answers are of another kind than New's.
type StorageMetadata interface {
	// ProducesObject returns an object of the kind that answers the HTTP method verb, or nil if that is New's.
	ProducesObject(verb string) runtime.Object
}

// CollectionDeleter answers DELETE of a collection.
type CollectionDeleter interface {
	DeleteCollection(ctx context.Context, deleteValidation ValidateObjectFunc, options *metav1.DeleteOptions,
		listOptions *metainternalversion.ListOptions) (runtime.Object, error)
}

// Watcher answers GET with watch=true.
type Watcher interface {
	Watch(ctx context.Context, options *metainternalversion.ListOptions) (watch.Interface, error)
}

// StandardStorage has every verb.
type StandardStorage interface {
	Getter
	Lister
	CreaterUpdater
	GracefulDeleter
	CollectionDeleter
	Watcher
	Destroy()
}

// CorruptObjectDeleterProvider (optional) deletes objects that can't be decrypted or decoded, for DELETE with
// ignoreStoreReadErrorWithClusterBreakingPotential.
type CorruptObjectDeleterProvider interface {
	GetCorruptObjDeleter() GracefulDeleter
}

// StorageVersionProvider names the version in which a resource is stored, for discovery.
type StorageVersionProvider interface {
	StorageVersion() runtime.GroupVersioner
}
