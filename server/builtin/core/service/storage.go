package service

import (
	"context"
	"fmt"
	"net/netip"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/server/builtin"
	"github.com/kx-apiserver/kx/store"
	"github.com/kx-apiserver/kx/store/backend"
	"github.com/kx-apiserver/kx/store/registry"
)

const (
	// DefaultCIDR is the name of the ServiceCIDR that a server creates.
	DefaultCIDR = "kubernetes"
	// DefaultIPs is the range of cluster IPs that a server creates if there is none.
	DefaultIPs = "10.96.0.0/12"
	// defaultPorts is the range of node ports unless etcd has another one.
	defaultPorts = "30000-32767"
)

// Resource declares services.
var Resource = builtin.Resource[*corev1.Service]{
	Names:   builtin.Names{Plural: "services", Singular: "service", Short: []string{"svc"}, Categories: []string{"all"}},
	List:    &corev1.ServiceList{},
	Stored:  corev1.SchemeGroupVersion,
	Default: setDefaults,
	Fields: []builtin.Field[*corev1.Service]{
		{Label: "spec.clusterIP", Value: func(svc *corev1.Service) string { return svc.Spec.ClusterIP }},
		{Label: "spec.type", Value: func(svc *corev1.Service) string { return string(svc.Spec.Type) }},
	},
	PrepareUpdate:  dropTypeDependentFields,
	Validate:       func(svc *corev1.Service) field.ErrorList { return validate(svc, nil) },
	ValidateUpdate: validateUpdate,
	Warnings:       warnings,
	CreateOnUpdate: true,
	Status: &builtin.Status[*corev1.Service]{
		Of: func(svc *corev1.Service) any { return &svc.Status },
		Part: builtin.Part[*corev1.Service]{
			Keep:     func(svc, old *corev1.Service) { svc.Spec = old.Spec },
			Check:    validateStatusUpdate,
			Warnings: statusWarnings,
		},
	},
	Sample: `
spec:
  type: ClusterIP
  selector: {app: NAME}
  ports: [{name: http, port: 80, targetPort: 8080}]`,
	Columns: columns,
	Row:     row,

	ReturnDeletedObject: true,
}

// declaration adds the allocation of addresses and ports to the declared resource.
type declaration struct {
	*builtin.AnyResource
}

// NewStorages makes the allocator, and the storages of services, which use it.
func (d declaration) NewStorages(getter backend.RESTOptionsGetter) (map[string]rest.Storage, error) {
	a := &allocator{ips: &addresses{used: map[netip.Addr]bool{}}, ports: &pool{}}
	r := *d.AnyResource
	r.Hooks = registry.Hooks{BeginCreate: a.beginCreate, BeginUpdate: a.beginUpdate, AfterDelete: a.afterDelete}
	storages, err := r.NewStorages(getter)
	if err != nil {
		return nil, err
	}
	services := storages[""].(*builtin.REST)
	a.ips.services = listStored(services.Store)
	a.ports.inUse = func(ctx context.Context) (ports []uint32, err error) {
		list, err := a.ips.services(ctx)
		for i := range list {
			ports = append(ports, portNumbers(&list[i])...)
		}
		return ports, err
	}
	if err := a.open(getter, services.Store); err != nil {
		services.Destroy()
		return nil, err
	}
	storages[""] = &REST{services, a.ports}
	return storages, nil
}

// open makes the storages of addresses, ranges and ports, and destroys them with the storage of services. They have
// no cache: only etcd's current state shows what is taken.
func (a *allocator) open(optsGetter backend.RESTOptionsGetter, services *registry.Store) error {
	for _, s := range []struct {
		resource  schema.GroupResource
		prefix    string
		new, list func() runtime.Object
		storage   *store.Interface
	}{
		{
			networkingv1.Resource("ipaddresses"), addressPrefix, newObject[networkingv1.IPAddress], newObject[networkingv1.IPAddressList],
			&a.ips.given,
		},
		{networkingv1.Resource("servicecidrs"), rangePrefix, newObject[networkingv1.ServiceCIDR], newObject[networkingv1.ServiceCIDRList],
			&a.ips.ranges},
		{corev1.Resource("servicenodeportallocations"), "/ranges", newObject[corev1.RangeAllocation], newObject[corev1.RangeAllocation],
			&a.ports.storage},
	} {
		opts, err := optsGetter.GetRESTOptions(s.resource, s.new())
		if err != nil {
			return fmt.Errorf("storage of %s: %w", s.resource, err)
		}
		storage, destroy, err := backend.NewRawStorage(opts.StorageConfig, s.new, s.list, s.prefix)
		if err != nil {
			return fmt.Errorf("storage of %s: %w", s.resource, err)
		}
		*s.storage = storage
		destroyServices := services.DestroyFunc
		services.DestroyFunc = func() {
			destroyServices()
			destroy()
		}
	}
	return nil
}

// newObject returns an empty object.
func newObject[T any, P interface {
	*T
	runtime.Object
}]() runtime.Object {
	return P(new(T))
}

// listStored returns a function that lists all services from etcd.
func listStored(services *registry.Store) func(context.Context) ([]corev1.Service, error) {
	return func(ctx context.Context) ([]corev1.Service, error) {
		list := &corev1.ServiceList{}
		// The key root of a context without a namespace covers all namespaces.
		key := services.KeyRootFunc(context.Background())
		_, err := services.Storage.GetList(ctx, key, store.ListOptions{Predicate: store.Everything, Recursive: true}, list)
		return list.Items, err
	}
}

func (a *allocator) beginCreate(ctx context.Context, obj runtime.Object, options *metav1.CreateOptions) (registry.FinishFunc, error) {
	svc := obj.(*corev1.Service)
	normalizeClusterIPs(svc, nil)
	g, err := a.allocate(ctx, svc, nil, len(options.DryRun) > 0)
	if err != nil {
		return nil, err
	}
	return g.finish, nil
}

func (a *allocator) beginUpdate(ctx context.Context, obj, old runtime.Object, options *metav1.UpdateOptions) (registry.FinishFunc, error) {
	svc, was := obj.(*corev1.Service), old.(*corev1.Service)
	patchAllocatedValues(svc, was)
	normalizeClusterIPs(svc, was)
	g, err := a.allocate(ctx, svc, was, len(options.DryRun) > 0)
	if err != nil {
		return nil, err
	}
	return g.finish, nil
}

func (a *allocator) afterDelete(obj runtime.Object, options *metav1.DeleteOptions) {
	if len(options.DryRun) > 0 {
		return
	}
	// The hook has no context, and the release must not depend on the request any more.
	a.releaseAll(context.Background(), obj.(*corev1.Service))
}
