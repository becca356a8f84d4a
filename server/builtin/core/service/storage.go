package service

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kx-apiserver/kx/server/builtin"
	"github.com/kx-apiserver/kx/store"
	"github.com/kx-apiserver/kx/store/backend"
	"github.com/kx-apiserver/kx/store/registry"
)

// The ranges that services are given things out of, unless etcd has others already.
const (
	defaultIPs   = "10.96.0.0/12"
	defaultPorts = "30000-32767"
)

// NewREST makes the storage of services and services/status.
func NewREST(optsGetter backend.RESTOptionsGetter) (*builtin.REST, *builtin.SubresourceREST, error) {
	a := &allocator{
		ips: &pool{name: "cluster IPs", key: "/ranges/serviceips", initial: defaultIPs, parse: parseIPs,
			taken: errors.New("provided IP is already allocated")},
		ports: &pool{name: "node ports", key: "/ranges/servicenodeports", initial: defaultPorts, parse: parsePorts,
			taken: errors.New("provided port is already allocated")},
	}
	r, err := builtin.Resource{
		Plural:     "services",
		Singular:   "service",
		ShortNames: []string{"svc"},
		Categories: []string{"all"},
		New:        func() runtime.Object { return &corev1.Service{} },
		NewList:    func() runtime.Object { return &corev1.ServiceList{} },
		Strategy:   Strategy,
		Attrs:      Attrs,
		Table:      Table,
		Tune: func(s *registry.Store) {
			s.ReturnDeletedObject = true
			s.BeginCreate = a.beginCreate
			s.BeginUpdate = a.beginUpdate
			s.AfterDelete = a.afterDelete
		},
	}.NewREST(optsGetter)
	if err != nil {
		return nil, nil, err
	}
	a.ips.inUse = inUse(r.Store, clusterIPNumbers)
	a.ports.inUse = inUse(r.Store, portNumbers)
	if err := a.open(optsGetter, r.Store); err != nil {
		r.Destroy()
		return nil, nil, err
	}
	return r, r.Subresource(StatusStrategy), nil
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
		// A context without a namespace: the key of all of them.
		key := services.KeyRootFunc(context.Background())
		if err := services.Storage.GetList(ctx, key, store.ListOptions{Predicate: store.Everything, Recursive: true}, list); err != nil {
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
