package plugin

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/audit"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/warning"

	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/server/builtin"
	"github.com/kx-apiserver/kx/server/builtin/scheme"
	"github.com/kx-apiserver/kx/server/endpoint"
	"github.com/kx-apiserver/kx/server/handler"
	"github.com/kx-apiserver/kx/store"
)

// Kit gives plugins access to the server.
type Kit struct {
	Authorizer authorizer.Authorizer
	// Storage returns the storage of a built-in resource, nil if it is not served. It is set when the API is
	// installed, before the first request.
	Storage func(schema.GroupVersionResource) rest.Storage
	// Storages returns the storages of all resources, also of other groups. It is set together with Storage.
	Storages func() map[schema.GroupVersionResource]rest.Storage
	// Scope returns the handlers' request scope of a built-in resource. It is set together with Storage.
	Scope func(schema.GroupVersionResource) *handler.RequestScope
}

type trustKey struct{}

// WithTrust marks the context of a write by this server's own controllers. They have no roles, so plugins that
// check permissions allow them everything.
func WithTrust(ctx context.Context) context.Context { return context.WithValue(ctx, trustKey{}, true) }

// TrustAuthorizer wraps an authorizer: contexts that WithTrust marked are allowed, all others go to a.
func TrustAuthorizer(a authorizer.Authorizer) authorizer.Authorizer { return trustAuthorizer{a} }

type trustAuthorizer struct{ authorizer.Authorizer }

// Authorize allows trusted contexts.
func (u trustAuthorizer) Authorize(ctx context.Context, a authorizer.Attributes) (authorizer.Decision, string, error) {
	if ctx.Value(trustKey{}) != nil {
		return authorizer.DecisionAllow, "", nil
	}
	return u.Authorizer.Authorize(ctx, a)
}

// ServedResource is a resource that is served.
type ServedResource struct {
	schema.GroupVersionResource
	Namespaced bool
}

// ResourcesOf returns the resources whose objects are of a kind, sorted by name.
func (k *Kit) ResourcesOf(kind schema.GroupVersionKind) (found []ServedResource) {
	for resource, storage := range k.Storages() {
		scoper, ok := storage.(rest.Scoper)
		if !ok || strings.Contains(resource.Resource, "/") ||
			!slices.Contains(endpoint.KindsOf(resource.GroupVersion(), storage, scheme.Scheme), kind) {
			continue
		}
		found = append(found, ServedResource{resource, scoper.NamespaceScoped()})
	}
	slices.SortFunc(found, func(a, b ServedResource) int { return strings.Compare(a.Resource, b.Resource) })
	return found
}

// Objects reads and writes the objects of one built-in resource for plugins. If the resource is not served, it
// has none.
type Objects[T builtin.Object] struct {
	kit      *Kit
	resource schema.GroupVersionResource
}

// ObjectsOf returns the objects of a resource.
func ObjectsOf[T builtin.Object](kit *Kit, resource schema.GroupVersionResource) Objects[T] {
	return Objects[T]{kit, resource}
}

// Get returns the current object. It may be shared: the caller must not change it.
func (o Objects[T]) Get(ctx context.Context, namespace, name string) (obj T, found bool, err error) {
	reading := o.requestContext(ctx, "get", "", namespace, name)
	obj, err = builtin.Get[T](reading, o.kit.Storage(o.resource), name, &metav1.GetOptions{})
	if apierrors.IsNotFound(err) || errors.Is(err, builtin.ErrNotServed) {
		return obj, false, nil
	}
	return obj, err == nil, o.failed(ctx, err)
}

// List returns the objects of a namespace, or of all namespaces if it is empty. They may be shared.
func (o Objects[T]) List(ctx context.Context, namespace string) (all []T, err error) {
	return o.list(ctx, namespace, "")
}

// Recent returns the objects of a namespace from the cache, which may be a moment old. It does not read etcd,
// and records no step.
func (o Objects[T]) Recent(ctx context.Context, namespace string) (all []T, err error) {
	return o.list(trace.WithoutRecording(ctx), namespace, "0")
}

func (o Objects[T]) list(ctx context.Context, namespace, resourceVersion string) (all []T, err error) {
	reading := o.requestContext(ctx, "list", "", namespace, "")
	all, err = builtin.List[T](reading, o.kit.Storage(o.resource), &metainternalversion.ListOptions{ResourceVersion: resourceVersion})
	if errors.Is(err, builtin.ErrNotServed) {
		return nil, nil
	}
	return all, o.failed(ctx, err)
}

// apiServer is the user for the server's requests to itself.
var apiServer = &user.DefaultInfo{Name: user.APIServerUser, Groups: []string{user.AllAuthenticated, user.SystemPrivilegedGroup}}

// own is the context of a write that the server makes because of a client's request. It hides the request's
// audit record: warnings and annotations of the inner write must not reach that client or the audit log of its
// request.
type own struct{ context.Context }

func (c own) Value(key any) any {
	value := c.Context.Value(key)
	if _, ok := value.(*audit.AuditContext); ok {
		return nil
	}
	return value
}

// Create stores a new object as the server itself, unless admission refuses it.
func (o Objects[T]) Create(ctx context.Context, obj T) error {
	storage := o.kit.Storage(o.resource)
	creater, ok := storage.(rest.Creater)
	if !ok {
		return apierrors.NewInternalError(fmt.Errorf("admission can't create %s: they are not served", o.resource.GroupResource()))
	}
	fields, err := endpoint.NewFieldManager(scheme.Scheme, o.resource, "", storage)
	if err != nil {
		return apierrors.NewInternalError(err)
	}
	scheme.Scheme.Default(obj)
	owned, err := fields.Update(creater.New(), obj, ownManager)
	if err != nil {
		return apierrors.NewInternalError(err)
	}
	owned.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{}) // the type says it all
	namespace, options := obj.GetNamespace(), &metav1.CreateOptions{}
	if o.resource == corev1.SchemeGroupVersion.WithResource("namespaces") {
		namespace = obj.GetName() // as in a request of a client
	}
	ctx = request.WithUser(warning.WithWarningRecorder(own{ctx}, nil), apiServer)
	ctx = o.requestContext(ctx, "create", "", namespace, obj.GetName())
	ctx, validate, err := o.kit.Scope(o.resource).AdmitCreate(ctx, creater, namespace, obj.GetName(), owned, options)
	if err != nil {
		return err
	}
	_, err = creater.Create(ctx, owned, validate, options)
	return err
}

// errAsItIs ends an update that has nothing to change.
var errAsItIs = errors.New("nothing is to be changed")

// ownManager is the field manager of what plugins write, as upstream, where the kube-apiserver sends such a
// write to itself.
const ownManager = "kube-apiserver"

// UpdateStatus changes the status of an object. It calls change with a copy of the current object, again after
// each conflict; change reports whether there is anything to write. A missing object is no error.
func (o Objects[T]) UpdateStatus(ctx context.Context, namespace, name string, change func(T) (bool, error)) error {
	storage := o.kit.Storage(o.resource.GroupVersion().WithResource(o.resource.Resource + "/status"))
	updater, ok := storage.(rest.Updater)
	if !ok {
		return nil
	}
	fields, err := endpoint.NewFieldManager(scheme.Scheme, o.resource, "status", storage)
	if err != nil {
		return apierrors.NewInternalError(err)
	}
	var refused error
	next := func(_ context.Context, _, old runtime.Object) (runtime.Object, error) {
		now, err := builtin.As[T](old)
		if err != nil {
			return nil, err
		}
		obj := now.DeepCopyObject().(T)
		changed, err := change(obj)
		if refused = err; err != nil {
			return nil, err
		}
		if !changed {
			return nil, errAsItIs
		}
		owned, err := fields.Update(now.DeepCopyObject(), obj, ownManager)
		if err == nil {
			owned.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{}) // the type says it all
		}
		return owned, err
	}
	ctx = o.requestContext(ctx, "update", "status", namespace, name)
	_, _, err = updater.Update(ctx, name, rest.DefaultUpdatedObjectInfo(nil, next), rest.UpdateAdmission{}, &metav1.UpdateOptions{})
	switch {
	case refused != nil:
		return refused
	case err == nil, errors.Is(err, errAsItIs), apierrors.IsNotFound(err):
		return nil
	case ctx.Err() != nil, errors.Is(err, store.ErrRewound):
		return err
	}
	return apierrors.NewInternalError(
		fmt.Errorf("admission can't update the status of %s %s/%s: %w", o.resource.GroupResource(), namespace, name, err))
}

// requestContext returns the context of a request that the server makes. Errors name its resource.
func (o Objects[T]) requestContext(ctx context.Context, verb, subresource, namespace, name string) context.Context {
	ctx = request.WithNamespace(ctx, namespace)
	return request.WithRequestInfo(ctx, &request.RequestInfo{
		IsResourceRequest: true, Verb: verb, APIGroup: o.resource.Group, APIVersion: o.resource.Version, Resource: o.resource.Resource,
		Subresource: subresource, Namespace: namespace, Name: name,
	})
}

// failed wraps the error of a read. It leaves a timeout of the request to the handler.
func (o Objects[T]) failed(ctx context.Context, err error) error {
	if err == nil || ctx.Err() != nil {
		return err
	}
	return apierrors.NewInternalError(fmt.Errorf("admission can't read %s: %w", o.resource.GroupResource(), err))
}
