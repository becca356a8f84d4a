package registry

import (
	"context"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/kx-apiserver/kx/core/object"
	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/store"
	"github.com/kx-apiserver/kx/store/backend"
)

// Store is the REST storage of one resource: a rest.StandardStorage to embed, or to use as it is.
//
// The first fields describe the resource; its author sets them. The last ones are the Store's state:
// CompleteWithOptions sets them.
type Store struct {
	// NewFunc and NewListFunc make an empty object, and an empty list, of the storage version.
	NewFunc     func() runtime.Object
	NewListFunc func() runtime.Object

	// DefaultQualifiedResource is the resource's plural name, for errors of requests that don't carry it themselves.
	DefaultQualifiedResource  schema.GroupResource
	SingularQualifiedResource schema.GroupResource

	// The strategies validate objects, and set what clients may not. Either of the first two may be nil.
	CreateStrategy rest.RESTCreateStrategy
	UpdateStrategy rest.RESTUpdateStrategy
	DeleteStrategy rest.RESTDeleteStrategy

	TableConvertor rest.TableConvertor
	// AttrFunc (optional) gives the labels and fields that selectors compare; by default labels, name and namespace.
	AttrFunc store.AttrFunc
	// ReturnDeletedObject makes Delete return the object instead of a Status.
	ReturnDeletedObject bool
	Hooks

	// Storage holds the objects.
	Storage DryRunnableStorage
	// DestroyFunc ends the storage. It may be called more than once.
	DestroyFunc func()
	// options are the server's for this resource. Their ResourcePrefix begins with a slash and ends without one.
	options backend.RESTOptions
	// namespaced caches NamespaceScoped of the strategies.
	namespaced bool
	// notes record the steps that made the storage.
	notes *trace.Notes
}

var (
	_ rest.StandardStorage              = &Store{}
	_ rest.StorageWithReadiness         = &Store{}
	_ rest.Scoper                       = &Store{}
	_ rest.SingularNameProvider         = &Store{}
	_ rest.MayReturnFullObjectDeleter   = &Store{}
	_ rest.CorruptObjectDeleterProvider = &Store{}
	_ rest.StorageVersionProvider       = &Store{}
)

func (e *Store) New() runtime.Object { return e.NewFunc() }

func (e *Store) NewList() runtime.Object { return e.NewListFunc() }

// Destroy ends the storage. A Store that was never completed has none.
func (e *Store) Destroy() {
	if e.DestroyFunc != nil {
		e.DestroyFunc()
	}
}

// ReadinessCheck returns why the storage does not serve yet.
func (e *Store) ReadinessCheck() error { return e.Storage.Storage.ReadinessCheck() }

// NamespaceScoped returns the answer of the strategies.
func (e *Store) NamespaceScoped() bool { return e.namespaced }

func (e *Store) GetSingularName() string { return e.SingularQualifiedResource.Resource }

// GetCorruptObjDeleter returns the deleter for objects that can't be decrypted or decoded.
func (e *Store) GetCorruptObjDeleter() rest.GracefulDeleter { return NewCorruptObjectDeleter(e) }

func (e *Store) DeleteReturnsDeletedObject() bool { return e.ReturnDeletedObject }

// CreationNotes returns the steps that made the storage: CompleteWithOptions first, then its calls.
func (e *Store) CreationNotes() []*trace.Notes {
	if e.options.StorageConfig == nil {
		return nil
	}
	return []*trace.Notes{e.notes, e.options.StorageConfig.Notes}
}

// StorageVersion returns the version that objects are stored in.
func (e *Store) StorageVersion() runtime.GroupVersioner {
	return e.options.StorageConfig.EncodeVersioner
}

// Etcd returns where the objects are. Their creates heed a store.Condition.
func (e *Store) Etcd() store.Etcd {
	if e.options.StorageConfig == nil {
		return store.Etcd{}
	}
	transport := &e.options.StorageConfig.Transport
	return store.Etcd{
		InProcess: transport.InProcess, Servers: strings.Join(transport.ServerList, ","), Prefix: e.options.StorageConfig.Prefix,
	}
}

// ConvertToTable decodes the object first, unless the resource's convertor reads encoded ones.
func (e *Store) ConvertToTable(ctx context.Context, object, tableOptions runtime.Object) (*metav1.Table, error) {
	if _, ok := e.TableConvertor.(rest.EncodedTableConvertor); !ok {
		var err error
		if object, err = decoded(object); err != nil {
			return nil, err
		}
	}
	return e.TableConvertor.ConvertToTable(ctx, object, tableOptions)
}

// InList is the convertor for the items of a list. Few resources have rows that depend on others.
func (e *Store) InList(ctx context.Context, list *object.List) (rest.TableConvertor, error) {
	convertor, ok := e.TableConvertor.(rest.ListTableConvertor)
	if !ok {
		return e, nil
	}
	whole, err := list.Object(ctx)
	if err != nil {
		return nil, err
	}
	s := *e
	s.TableConvertor = convertor.InList(whole)
	return &s, nil
}

// decoded returns the object that an encoded obj stands for, and any other obj itself. Callers must not change it.
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

func isDryRun(flags []string) bool { return len(flags) > 0 }
