package service

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/server/builtin"
	"github.com/kx-apiserver/kx/store"
	"github.com/kx-apiserver/kx/store/backend"
	"github.com/kx-apiserver/kx/store/registry"
)

// The ranges for cluster IPs and node ports, unless etcd already has others.
const (
	defaultIPs   = "10.96.0.0/12"
	defaultPorts = "30000-32767"
)

// Resource declares services.
var Resource = resource{builtin.Resource[*corev1.Service]{
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
			Keep:  func(svc, old *corev1.Service) { svc.Spec = old.Spec },
			Check: validateStatusUpdate,
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
}}

// resource gives services addresses and ports from its pools.
type resource struct {
	builtin.Resource[*corev1.Service]
}

// NewStorages makes pools for one server, and the storages of services that take from them.
func (r resource) NewStorages(getter backend.RESTOptionsGetter) (map[string]rest.Storage, error) {
	a := &allocator{
		ips: &pool{name: "cluster IPs", key: "/ranges/serviceips", initial: defaultIPs, parse: parseIPs,
			taken: errors.New("provided IP is already allocated")},
		ports: &pool{name: "node ports", key: "/ranges/servicenodeports", initial: defaultPorts, parse: parsePorts,
			taken: errors.New("provided port is already allocated")},
	}
	r.Hooks = registry.Hooks{BeginCreate: a.beginCreate, BeginUpdate: a.beginUpdate, AfterDelete: a.afterDelete}
	storages, err := r.Resource.NewStorages(getter)
	if err != nil {
		return nil, err
	}
	services := storages[""].(*builtin.REST)
	a.ips.inUse = inUse(services.Store, clusterIPNumbers)
	a.ports.inUse = inUse(services.Store, portNumbers)
	if err := a.open(getter, services.Store); err != nil {
		services.Destroy()
		return nil, err
	}
	return storages, nil
}

// open makes the storage of the bitmaps, and lets it end with that of the services.
func (a *allocator) open(optsGetter backend.RESTOptionsGetter, services *registry.Store) error {
	for _, p := range []struct {
		pool     *pool
		resource string
	}{{a.ips, "serviceipallocations"}, {a.ports, "servicenodeportallocations"}} {
		opts, err := optsGetter.GetRESTOptions(corev1.Resource(p.resource), &corev1.RangeAllocation{})
		if err != nil {
			return fmt.Errorf("storage of %s: %w", p.resource, err)
		}
		storage, destroy, err := backend.NewRawStorage(opts.StorageConfig, newRange, newRange, "/ranges")
		if err != nil {
			return fmt.Errorf("storage of %s: %w", p.resource, err)
		}
		p.pool.storage = storage
		destroyServices := services.DestroyFunc
		services.DestroyFunc = func() {
			destroyServices()
			destroy()
		}
	}
	return nil
}

func newRange() runtime.Object { return &corev1.RangeAllocation{} }

// inUse lists the numbers that the stored services use.
func inUse(services *registry.Store, numbers func(*corev1.Service) []uint32) func(context.Context) ([]uint32, error) {
	return func(ctx context.Context) ([]uint32, error) {
		list := &corev1.ServiceList{}
		// A context without a namespace makes the key of all of them.
		key := services.KeyRootFunc(context.Background())
		if _, err := services.Storage.GetList(ctx, key, store.ListOptions{Predicate: store.Everything, Recursive: true}, list); err != nil {
			return nil, err
		}
		var all []uint32
		for i := range list.Items {
			all = append(all, numbers(&list.Items[i])...)
		}
		return all, nil
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
	// The hook has no context: what is given back here does not depend on the request any more.
	a.releaseAll(context.Background(), obj.(*corev1.Service))
}
