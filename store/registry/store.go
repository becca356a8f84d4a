package registry

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/store"
)

// The hooks of a Store. A Begin hook may return a function that is called once at the end of the operation, before the
// After hook, with whether it succeeded.
type (
	FinishFunc      func(ctx context.Context, success bool)
	BeginCreateFunc func(ctx context.Context, obj runtime.Object, options *metav1.CreateOptions) (FinishFunc, error)
	AfterCreateFunc func(obj runtime.Object, options *metav1.CreateOptions)
	BeginUpdateFunc func(ctx context.Context, obj, old runtime.Object, options *metav1.UpdateOptions) (FinishFunc, error)
	AfterUpdateFunc func(obj runtime.Object, options *metav1.UpdateOptions)
	AfterDeleteFunc func(obj runtime.Object, options *metav1.DeleteOptions)
)

// Store is the REST storage of one resource: a rest.StandardStorage to embed, or to use as it is. What a field leaves
// unset, CompleteWithOptions fills in or refuses.
type Store struct {
	// NewFunc and NewListFunc make an empty object, and an empty list, of the storage version.
	NewFunc     func() runtime.Object
	NewListFunc func() runtime.Object

	// DefaultQualifiedResource is the resource's plural name, for errors of requests that don't carry it themselves.
	DefaultQualifiedResource  schema.GroupResource
	SingularQualifiedResource schema.GroupResource

	// KeyRootFunc is the key under which a request's objects lie, without a slash at its end. KeyFunc is one object's.
	// Both or none are set.
	KeyRootFunc func(ctx context.Context) string
	KeyFunc     func(ctx context.Context, name string) (string, error)
	// ObjectNameFunc is the name an object is stored under; unset is its metadata.name.
	ObjectNameFunc func(obj runtime.Object) (string, error)
	// TTLFunc (optional) says for how many seconds obj lives, from each write of it on. existing is what it had left, if
	// the storage knows; etcd3 does not, and says 0.
	TTLFunc func(obj runtime.Object, existing uint64, update bool) (uint64, error)
	// PredicateFunc makes a predicate of selectors.
	PredicateFunc func(label labels.Selector, field fields.Selector) store.SelectionPredicate

	// EnableGarbageCollection lets delete options set the finalizers by which a garbage collector orphans dependents or
	// deletes them first. Without a collector nobody would ever take them away.
	EnableGarbageCollection bool
	// DeleteCollectionWorkers is how many objects DeleteCollection deletes at a time.
	DeleteCollectionWorkers int

	// Decorator (optional) changes what goes out: objects, lists, and objects in watch events.
	Decorator func(runtime.Object)

	CreateStrategy rest.RESTCreateStrategy
	BeginCreate    BeginCreateFunc
	AfterCreate    AfterCreateFunc

	UpdateStrategy rest.RESTUpdateStrategy
	BeginUpdate    BeginUpdateFunc
	AfterUpdate    AfterUpdateFunc

	DeleteStrategy rest.RESTDeleteStrategy
	AfterDelete    AfterDeleteFunc
	// ReturnDeletedObject makes Delete return the object instead of a Status.
	ReturnDeletedObject bool
	// ShouldDeleteDuringUpdate (optional) may keep an object that an update would delete by the rules of
	// [ShouldDeleteDuringUpdate].
	ShouldDeleteDuringUpdate func(ctx context.Context, key string, obj, existing runtime.Object) bool

	TableConvertor rest.TableConvertor

	Storage DryRunnableStorage
	// StorageVersioner names the version that objects are stored in.
	StorageVersioner runtime.GroupVersioner
	// ReadinessCheckFunc says why the storage does not serve yet.
	ReadinessCheckFunc func() error
	// DestroyFunc ends the storage. It may be called more than once.
	DestroyFunc func()

	corruptObjDeleter rest.GracefulDeleter
}

// GenericStore gives access to the strategies of a storage that embeds a Store.
type GenericStore interface {
	GetCreateStrategy() rest.RESTCreateStrategy
	GetUpdateStrategy() rest.RESTUpdateStrategy
	GetDeleteStrategy() rest.RESTDeleteStrategy
}

var (
	_ rest.StandardStorage              = &Store{}
	_ rest.StorageWithReadiness         = &Store{}
	_ rest.Scoper                       = &Store{}
	_ rest.SingularNameProvider         = &Store{}
	_ rest.MayReturnFullObjectDeleter   = &Store{}
	_ rest.CorruptObjectDeleterProvider = &Store{}
	_ rest.StorageVersionProvider       = &Store{}
	_ GenericStore                      = &Store{}
)

// New implements rest.Storage.
func (e *Store) New() runtime.Object { return e.NewFunc() }

// NewList implements rest.Lister.
func (e *Store) NewList() runtime.Object { return e.NewListFunc() }

// Destroy implements rest.Storage.
func (e *Store) Destroy() {
	if e.DestroyFunc != nil {
		e.DestroyFunc()
	}
}

// ReadinessCheck implements rest.StorageWithReadiness.
func (e *Store) ReadinessCheck() error {
	if e.ReadinessCheckFunc != nil {
		return e.ReadinessCheckFunc()
	}
	return nil
}

// NamespaceScoped implements rest.Scoper. A storage without a create and an update strategy must say so itself.
func (e *Store) NamespaceScoped() bool {
	if e.CreateStrategy != nil {
		return e.CreateStrategy.NamespaceScoped()
	}
	if e.UpdateStrategy != nil {
		return e.UpdateStrategy.NamespaceScoped()
	}
	panic("registry: the store of " + e.DefaultQualifiedResource.String() +
		" has no CreateStrategy and no UpdateStrategy: define NamespaceScoped on the type that embeds it")
}

// GetSingularName implements rest.SingularNameProvider.
func (e *Store) GetSingularName() string { return e.SingularQualifiedResource.Resource }

// GetCreateStrategy implements GenericStore.
func (e *Store) GetCreateStrategy() rest.RESTCreateStrategy { return e.CreateStrategy }

// GetUpdateStrategy implements GenericStore.
func (e *Store) GetUpdateStrategy() rest.RESTUpdateStrategy { return e.UpdateStrategy }

// GetDeleteStrategy implements GenericStore.
func (e *Store) GetDeleteStrategy() rest.RESTDeleteStrategy { return e.DeleteStrategy }

// GetCorruptObjDeleter implements rest.CorruptObjectDeleterProvider.
func (e *Store) GetCorruptObjDeleter() rest.GracefulDeleter { return e.corruptObjDeleter }

// DeleteReturnsDeletedObject implements rest.MayReturnFullObjectDeleter.
func (e *Store) DeleteReturnsDeletedObject() bool { return e.ReturnDeletedObject }

// StorageVersion implements rest.StorageVersionProvider.
func (e *Store) StorageVersion() runtime.GroupVersioner { return e.StorageVersioner }

// ConvertToTable implements rest.TableConvertor.
func (e *Store) ConvertToTable(ctx context.Context, object, tableOptions runtime.Object) (*metav1.Table, error) {
	convertor := e.TableConvertor
	if convertor == nil {
		convertor = rest.NewDefaultTableConvertor(e.DefaultQualifiedResource)
	}
	if _, ok := convertor.(rest.EncodedTableConvertor); !ok {
		var err error
		if object, err = decoded(object); err != nil {
			return nil, err
		}
	}
	return convertor.ConvertToTable(ctx, object, tableOptions)
}

// decoded is what obj stands for, if it is encoded. Nobody may change it.
func decoded(obj runtime.Object) (runtime.Object, error) {
	if encoded, ok := obj.(interface {
		Object() (runtime.Object, error)
	}); ok {
		return encoded.Object()
	}
	return obj, nil
}

// qualifiedResourceFromContext names the resource in errors: as the request did, if it is known.
func (e *Store) qualifiedResourceFromContext(ctx context.Context) schema.GroupResource {
	if info, ok := request.RequestInfoFrom(ctx); ok {
		return schema.GroupResource{Group: info.APIGroup, Resource: info.Resource}
	}
	return e.DefaultQualifiedResource
}

// decorate changes what goes out, if the resource wants that.
func (e *Store) decorate(obj runtime.Object) {
	if e.Decorator != nil {
		e.Decorator(obj)
	}
}

// calculateTTL is for how many seconds obj lives, 0 for ever. A storage may say of an object whose time is over, and that
// is still there, that it has less than nothing left: that is one second, since 0 would be for ever.
func (e *Store) calculateTTL(obj runtime.Object, existing int64, update bool) (uint64, error) {
	if existing < 0 {
		existing = 1
	}
	if e.TTLFunc == nil {
		return uint64(existing), nil
	}
	return e.TTLFunc(obj, uint64(existing), update)
}

func isDryRun(flags []string) bool { return len(flags) > 0 }
