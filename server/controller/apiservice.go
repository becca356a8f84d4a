package controller

import (
	"context"
	"errors"
	"path"
	"strings"
	"sync"
	"sync/atomic"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/server/builtin"
	"github.com/kx-apiserver/kx/server/controller/work"
	"github.com/kx-apiserver/kx/server/discovery"
	"github.com/kx-apiserver/kx/store"
)

// keepAPIServices keeps an API service for each version of a group that this server has. It corrects them at
// once, after each change of API services and definitions, and again after a failure, until ctx ends. It returns at
// once if the server does not serve API services. complete is set when nothing was left to do for the first time.
func keepAPIServices(ctx context.Context, kit *work.Kit, complete *atomic.Bool) {
	services, ok := kit.Storage(apiServices).(work.ManagedStorage)
	if !ok {
		complete.Store(true)
		return
	}
	c := &apiServiceKeeper{
		services: work.ManagedResource[*apiregistrationv1.APIService]{Storage: services, Resource: apiServices}, storages: kit.Storages,
	}
	changes := make(chan struct{}, 1)
	var following sync.WaitGroup
	defer following.Wait()
	for _, resource := range []schema.GroupVersionResource{apiServices, definitions} {
		following.Go(func() { work.Changes(ctx, kit.Storages, resource, work.All, changes) })
	}
	var pause work.Backoff
	for {
		err := c.sync(kit.Gate.Decide(ctx))
		if err != nil && !errors.Is(err, store.ErrRewound) && ctx.Err() == nil {
			kit.Log.Warn("cannot keep the API services: trying again", "error", err)
		}
		if c.started {
			complete.Store(true)
		}
		if err == nil {
			pause = work.Backoff{}
			select {
			case <-changes:
			case <-ctx.Done():
				return
			}
		}
		// Changes come in bursts: one check covers all of them. After a failure no change may come, so the check is
		// repeated without one.
		if !pause.Wait(ctx) {
			return
		}
	}
}

const (
	// managedLabel marks an API service that a server manages: from the server's start on, or always.
	managedLabel    = "kube-aggregator.kubernetes.io/automanaged"
	managedFromHere = "onstart"
	managedAlways   = "true"
)

var (
	apiServices = apiregistrationv1.SchemeGroupVersion.WithResource("apiservices")
	definitions = apiextensionsv1.SchemeGroupVersion.WithResource("customresourcedefinitions")
)

// apiServiceKeeper keeps the API services. One goroutine uses it.
type apiServiceKeeper struct {
	services work.ManagedResource[*apiregistrationv1.APIService]
	storages work.Storages

	// started is set once the API services that are managed from the start on are correct. atStart holds the
	// names of those that existed before.
	started bool
	atStart map[string]bool
}

func (c *apiServiceKeeper) request(ctx context.Context, verb string, resource schema.GroupVersionResource) context.Context {
	return work.ManagedResource[*apiregistrationv1.APIService]{Resource: resource}.Request(ctx, verb)
}

// sync creates, corrects and deletes API services, so that they match the served versions.
func (c *apiServiceKeeper) sync(ctx context.Context) error {
	there, err := c.services.List(ctx)
	if err != nil {
		return err
	}
	if c.atStart == nil {
		c.atStart = map[string]bool{}
		for name := range there {
			c.atStart[name] = true
		}
	}
	wanted, unknown, err := c.wantedServices(ctx)
	if err != nil {
		return err
	}
	var failed []error
	for name, want := range wanted {
		failed = append(failed, c.put(ctx, want, there[name]))
	}
	for name, have := range there {
		if wanted[name] == nil && c.mayChange(have) && !unknown[have.Spec.Group] {
			failed = append(failed, c.remove(ctx, have))
		}
	}
	err = errors.Join(failed...)
	c.started = c.started || err == nil
	return err
}

// mayChange reports whether servers always manage an API service, not only from their start on.
func (c *apiServiceKeeper) mayChange(have *apiregistrationv1.APIService) bool {
	switch have.Labels[managedLabel] {
	case managedAlways:
		return true
	case managedFromHere:
		return !c.started && c.atStart[have.Name]
	}
	return false
}

// put creates a missing API service, or corrects one that differs. have is nil if there is none.
func (c *apiServiceKeeper) put(ctx context.Context, want, have *apiregistrationv1.APIService) error {
	if want.Labels[managedLabel] == managedFromHere && c.started {
		return nil
	}
	var err error
	switch {
	case have == nil:
		_, err = c.services.Storage.Create(c.request(ctx, "create", apiServices), want, rest.ValidateAllObjectFunc, &metav1.CreateOptions{})
	case !c.mayChange(have) || apiequality.Semantic.DeepEqual(have.Spec, want.Spec):
		return nil
	default:
		next := have.DeepCopy()
		next.Spec = want.Spec
		_, _, err = c.services.Storage.Update(c.request(ctx, "update", apiServices), next.Name, rest.DefaultUpdatedObjectInfo(next),
			rest.UpdateAdmission{}, &metav1.UpdateOptions{})
	}
	return work.UnlessOvertaken(err)
}

func (c *apiServiceKeeper) remove(ctx context.Context, have *apiregistrationv1.APIService) error {
	_, _, err := c.services.Storage.Delete(c.request(ctx, "delete", apiServices), have.Name, rest.ValidateAllObjectFunc,
		&metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &have.UID}})
	return work.UnlessOvertaken(err)
}

// wantedServices returns an API service for each version that this server has, by name. unknown lists groups with
// definitions that can't be read, which may have more versions.
func (c *apiServiceKeeper) wantedServices(
	ctx context.Context,
) (wanted map[string]*apiregistrationv1.APIService, unknown map[string]bool, err error) {
	wanted, unknown = map[string]*apiregistrationv1.APIService{}, map[string]bool{}
	add := func(version schema.GroupVersion, p discovery.Priority, managed string) {
		name := version.Version + "." + version.Group
		if wanted[name] != nil {
			return
		}
		wanted[name] = &apiregistrationv1.APIService{
			ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{managedLabel: managed}},
			Spec: apiregistrationv1.APIServiceSpec{
				Group: version.Group, Version: version.Version, GroupPriorityMinimum: p.Group, VersionPriority: p.Version,
			},
		}
	}
	installed := c.storages()
	for resource := range installed {
		if p, known := discovery.PriorityOf(resource.GroupVersion()); known {
			add(resource.GroupVersion(), p, managedFromHere)
		}
	}
	lister, ok := installed[definitions].(rest.Lister)
	if !ok {
		return wanted, unknown, nil
	}
	list, unreadable, err := builtin.ListReadable(c.request(ctx, "list", definitions), lister, &metainternalversion.ListOptions{})
	if err != nil {
		return nil, nil, err
	}
	for _, u := range unreadable {
		_, group, _ := strings.Cut(path.Base(u.Key), ".")
		unknown[group] = true
	}
	return wanted, unknown, meta.EachListItem(list, func(obj runtime.Object) error {
		d, err := builtin.As[*apiextensions.CustomResourceDefinition](obj)
		if err != nil {
			return err
		}
		for _, v := range d.Spec.Versions {
			if v.Served {
				add(schema.GroupVersion{Group: d.Spec.Group, Version: v.Name}, discovery.CustomPriority, managedAlways)
			}
		}
		return nil
	})
}
