package apiservice

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/apiserver/pkg/endpoints/request"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	"k8s.io/kube-aggregator/pkg/apis/apiregistration/v1/helper"

	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/server/builtin"
	"github.com/kx-apiserver/kx/server/controller/work"
	"github.com/kx-apiserver/kx/server/discovery"
)

const (
	// managedLabel marks an API service that a server manages: from the server's start on, or always.
	managedLabel    = "kube-aggregator.kubernetes.io/automanaged"
	managedFromHere = "onstart"
	managedAlways   = "true"

	// every is the pause between checks while no API service changes: the services that they name may have changed.
	every = 30 * time.Second
)

var (
	apiServicesResource = apiregistrationv1.SchemeGroupVersion.WithResource("apiservices")
	definitionsResource = apiextensionsv1.SchemeGroupVersion.WithResource("customresourcedefinitions")
	servicesResource    = corev1.SchemeGroupVersion.WithResource("services")
)

// Controller keeps an API service for each version of a group that this server has, and reports in the condition Available of
// the others that their service is missing.
type Controller struct {
	services work.Owned[*apiregistrationv1.APIService]
	status   rest.Updater
	storages work.Storages
	log      *slog.Logger

	// started is set once the API services that are managed from the start on are in order. atStart has the names of those that
	// existed before.
	started bool
	atStart map[string]bool
}

// New returns nil if the server has no API services.
func New(storages work.Storages, log *slog.Logger) *Controller {
	installed := storages()
	services, ok := installed[apiServicesResource].(work.OwnedStorage)
	if !ok {
		return nil
	}
	status, ok := installed[apiServicesResource.GroupVersion().WithResource("apiservices/status")].(rest.Updater)
	if !ok {
		return nil
	}
	return &Controller{
		services: work.Owned[*apiregistrationv1.APIService]{Storage: services, Resource: apiServicesResource},
		status:   status, storages: storages, log: log,
	}
}

// Run brings the API services in order, at once and after each change, until ctx ends.
func (c *Controller) Run(ctx context.Context) {
	changes := make(chan struct{}, 1)
	var following sync.WaitGroup
	defer following.Wait()
	for _, resource := range []schema.GroupVersionResource{apiServicesResource, definitionsResource} {
		following.Go(func() { c.follow(ctx, resource, changes) })
	}
	for {
		if err := c.sync(ctx); err != nil && ctx.Err() == nil {
			c.log.Warn("cannot keep the API services: trying again", "error", err)
		}
		timer := time.NewTimer(every)
		select {
		case <-changes:
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return
		}
		timer.Stop()
		// Changes come in bursts: one check covers all of them.
		var pause work.Backoff
		pause.Wait(ctx)
	}
}

// follow sends a signal for each change of a resource. When a watch ends it starts another, with a signal for what it may have
// missed.
func (c *Controller) follow(ctx context.Context, resource schema.GroupVersionResource, changes chan<- struct{}) {
	tell := func() {
		select {
		case changes <- struct{}{}:
		default: // somebody has told, and nobody has looked yet
		}
	}
	storage, ok := c.storages()[resource].(interface {
		rest.Lister
		rest.Watcher
	})
	if !ok {
		return
	}
	var pause work.Backoff
	for {
		if w := c.watch(ctx, storage, resource); w != nil {
			tell()
			for event := range w.ResultChan() {
				if event.Type != watch.Bookmark {
					pause = work.Backoff{}
					tell()
				}
			}
			w.Stop()
		}
		if !pause.Wait(ctx) {
			return
		}
	}
}

// watch watches a resource from now on; nil if it can't.
func (c *Controller) watch(ctx context.Context, storage interface {
	rest.Lister
	rest.Watcher
}, resource schema.GroupVersionResource) watch.Interface {
	list, err := storage.List(c.request(ctx, "list", resource), &metainternalversion.ListOptions{Limit: 1})
	if err != nil {
		return nil
	}
	m, err := meta.ListAccessor(list)
	if err != nil {
		return nil
	}
	w, err := storage.Watch(c.request(ctx, "watch", resource), &metainternalversion.ListOptions{ResourceVersion: m.GetResourceVersion()})
	if err != nil {
		return nil
	}
	return w
}

func (c *Controller) request(ctx context.Context, verb string, resource schema.GroupVersionResource) context.Context {
	return work.Owned[*apiregistrationv1.APIService]{Resource: resource}.Request(ctx, verb)
}

// sync makes the API services what they should be.
func (c *Controller) sync(ctx context.Context) error {
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
	wanted, err := c.wanted(ctx)
	if err != nil {
		return err
	}
	var failed []error
	for name, want := range wanted {
		failed = append(failed, c.put(ctx, want, there[name]))
	}
	for name, have := range there {
		if wanted[name] == nil && c.mayChange(have) {
			failed = append(failed, c.remove(ctx, have))
			continue
		}
		failed = append(failed, c.judge(ctx, have))
	}
	err = errors.Join(failed...)
	c.started = c.started || err == nil
	return err
}

// mayChange says whether servers always manage an API service, not only from their start on.
func (c *Controller) mayChange(have *apiregistrationv1.APIService) bool {
	switch have.Labels[managedLabel] {
	case managedAlways:
		return true
	case managedFromHere:
		return !c.started && c.atStart[have.Name]
	}
	return false
}

// put creates an API service that is missing, and corrects one that is different. have is nil if there is none.
func (c *Controller) put(ctx context.Context, want, have *apiregistrationv1.APIService) error {
	if want.Labels[managedLabel] == managedFromHere && c.started {
		return nil
	}
	var err error
	switch {
	case have == nil:
		_, err = c.services.Storage.Create(c.request(ctx, "create", apiServicesResource), want, rest.ValidateAllObjectFunc, &metav1.CreateOptions{})
	case !c.mayChange(have) || apiequality.Semantic.DeepEqual(have.Spec, want.Spec):
		return nil
	default:
		next := have.DeepCopy()
		next.Spec = want.Spec
		_, _, err = c.services.Storage.Update(c.request(ctx, "update", apiServicesResource), next.Name, rest.DefaultUpdatedObjectInfo(next),
			rest.ValidateAllObjectFunc, rest.ValidateAllObjectUpdateFunc, false, &metav1.UpdateOptions{})
	}
	return work.UnlessOvertaken(err)
}

func (c *Controller) remove(ctx context.Context, have *apiregistrationv1.APIService) error {
	_, _, err := c.services.Storage.Delete(c.request(ctx, "delete", apiServicesResource), have.Name, rest.ValidateAllObjectFunc,
		&metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &have.UID}})
	return work.UnlessOvertaken(err)
}

// judge sets the condition Available to false if the service of an API service is missing. It does not connect to a service
// that exists.
func (c *Controller) judge(ctx context.Context, have *apiregistrationv1.APIService) error {
	ref := have.Spec.Service
	services, ok := c.storages()[servicesResource].(rest.Getter)
	if ref == nil || !ok {
		return nil
	}
	get := work.As(ctx, work.APIServer, &request.RequestInfo{IsResourceRequest: true, Verb: "get", APIVersion: "v1", Resource: "services", Namespace: ref.Namespace, Name: ref.Name})
	if _, err := services.Get(get, ref.Name, &metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		return err
	}
	next := have.DeepCopy()
	helper.SetAPIServiceCondition(next, apiregistrationv1.APIServiceCondition{
		Type: apiregistrationv1.Available, Status: apiregistrationv1.ConditionFalse, LastTransitionTime: metav1.Now(),
		Reason: "ServiceNotFound", Message: fmt.Sprintf("service/%s in %q is not present", ref.Name, ref.Namespace),
	})
	if apiequality.Semantic.DeepEqual(have.Status, next.Status) {
		return nil
	}
	_, _, err := c.status.Update(c.request(ctx, "update", apiServicesResource), next.Name, rest.DefaultUpdatedObjectInfo(next),
		rest.ValidateAllObjectFunc, rest.ValidateAllObjectUpdateFunc, false, &metav1.UpdateOptions{})
	return work.UnlessOvertaken(err)
}

// wanted returns an API service for each version that this server has, by name.
func (c *Controller) wanted(ctx context.Context) (map[string]*apiregistrationv1.APIService, error) {
	wanted := map[string]*apiregistrationv1.APIService{}
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
	definitions, ok := installed[definitionsResource].(rest.Lister)
	if !ok {
		return wanted, nil
	}
	list, err := definitions.List(c.request(ctx, "list", definitionsResource), &metainternalversion.ListOptions{})
	if err != nil {
		return nil, err
	}
	return wanted, meta.EachListItem(list, func(obj runtime.Object) error {
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
