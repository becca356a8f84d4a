package namespace

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/version"

	"github.com/kx-apiserver/kx/core/object"
	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/server/builtin"
	"github.com/kx-apiserver/kx/server/controller/work"
)

// collection is a namespaced resource that supports deletecollection.
type collection struct {
	resource schema.GroupVersionResource
	storage  collectionStorage
}

type collectionStorage interface {
	rest.Scoper
	rest.Lister
	rest.CollectionDeleter
}

var pods = corev1.SchemeGroupVersion.WithResource("pods")

// collections returns the collections among storages, one for each resource, in its preferred version. Pods come first.
func collections(storages map[schema.GroupVersionResource]rest.Storage) []collection {
	best := map[schema.GroupResource]collection{}
	for resource, storage := range storages {
		s, ok := storage.(collectionStorage)
		if !ok || !s.NamespaceScoped() || strings.Contains(resource.Resource, "/") {
			continue
		}
		known, ok := best[resource.GroupResource()]
		if !ok || version.CompareKubeAwareVersionStrings(resource.Version, known.resource.Version) > 0 {
			best[resource.GroupResource()] = collection{resource, s}
		}
	}
	return slices.SortedFunc(maps.Values(best), func(a, b collection) int {
		return cmp.Or(podsFirst(a, b), cmp.Compare(a.resource.Group, b.resource.Group),
			cmp.Compare(a.resource.Resource, b.resource.Resource))
	})
}

func podsFirst(a, b collection) int {
	switch {
	case a.resource == pods:
		return -1
	case b.resource == pods:
		return 1
	}
	return 0
}

// mostCollections limits the collections of a namespace that are deleted at a time. etcd syncs its disk once
// for concurrent writes. Each deletes several of its objects at once.
const mostCollections = 8

// content describes the remaining content of a namespace, and the reasons. mu guards all fields.
type content struct {
	mu sync.Mutex
	// left holds the resources of which something remains, or may remain.
	left map[schema.GroupResource]bool
	// objects counts the remaining objects of each resource, and finalizers the objects with each finalizer.
	objects    map[schema.GroupResource]int
	finalizers map[string]int
	failures   []error
	// unknown is set if there may be resources that were not examined.
	unknown error
}

// isGone reports whether it is certain that nothing remains.
func (c *content) isGone() bool {
	return len(c.objects) == 0 && len(c.failures) == 0 && c.unknown == nil
}

// bad returns the conditions that are true, with their messages.
func (c *content) bad() map[corev1.NamespaceConditionType]string {
	bad := map[corev1.NamespaceConditionType]string{}
	say := func(kind corev1.NamespaceConditionType, parts []string, format string, args ...any) {
		if len(parts) > 0 {
			// Sorted, so that the same state has the same message.
			slices.Sort(parts)
			bad[kind] = fmt.Sprintf(format, args...) + strings.Join(parts, ", ")
		}
	}
	if c.unknown != nil {
		bad[corev1.NamespaceDeletionDiscoveryFailure] = c.unknown.Error()
	}
	var failures, objects, finalizers []string
	for _, err := range c.failures {
		failures = append(failures, err.Error())
	}
	for resource, n := range c.objects {
		objects = append(objects, fmt.Sprintf("%s.%s has %d resource instances", resource.Resource, resource.Group, n))
	}
	for finalizer, n := range c.finalizers {
		finalizers = append(finalizers, fmt.Sprintf("%s in %d resource instances", finalizer, n))
	}
	say(corev1.NamespaceDeletionContentFailure, failures, "Failed to delete all resource types, %d remaining: ", len(failures))
	say(corev1.NamespaceContentRemaining, objects, "Some resources are remaining: ")
	say(corev1.NamespaceFinalizersRemaining, finalizers, "Some content in the namespace has finalizers remaining: ")
	return bad
}

// deleteContent deletes the objects in a namespace and reports what remains. If one collection fails, the
// others are still deleted. only limits the resources; nil means all.
func deleteContent(ctx context.Context, ns *corev1.Namespace, storages map[schema.GroupVersionResource]rest.Storage, writer *work.Writer,
	guard rest.ValidateObjectFunc, only map[schema.GroupResource]bool) *content {
	remains := &content{left: map[schema.GroupResource]bool{}, objects: map[schema.GroupResource]int{}, finalizers: map[string]int{}}
	all := collections(storages)
	if only != nil {
		all = slices.DeleteFunc(all, func(c collection) bool { return !only[c.resource.GroupResource()] })
	}
	if len(all) > 0 && all[0].resource == pods {
		all[0].empty(ctx, ns, writer, guard, remains)
		all = all[1:]
	}
	if !remains.isGone() {
		return remains
	}
	var group errgroup.Group
	group.SetLimit(mostCollections)
	for _, c := range all {
		group.Go(func() error {
			c.empty(ctx, ns, writer, guard, remains)
			return nil
		})
	}
	_ = group.Wait()
	return remains
}

// empty deletes the collection, and adds its remaining objects to remains. It recovers from a panic, which
// would end the process.
func (c collection) empty(ctx context.Context, ns *corev1.Namespace, writer *work.Writer, guard rest.ValidateObjectFunc, remains *content) {
	objects, finalizers := 0, map[string]int{}
	err := func() (err error) {
		defer func() {
			if reason := recover(); reason != nil {
				err = fmt.Errorf("panic: %v\n%s", reason, debug.Stack())
			}
		}()
		objects, err = c.delete(ctx, ns, writer, guard, finalizers)
		return err
	}()
	if objects == 0 && err == nil {
		return
	}
	remains.mu.Lock()
	defer remains.mu.Unlock()
	remains.left[c.resource.GroupResource()] = true
	if objects > 0 {
		remains.objects[c.resource.GroupResource()] = objects
	}
	for finalizer, n := range finalizers {
		remains.finalizers[finalizer] += n
	}
	if err != nil {
		remains.failures = append(remains.failures, err)
	}
}

// delete deletes the collection, counts its remaining objects, and adds their finalizers.
func (c collection) delete(ctx context.Context, ns *corev1.Namespace, writer *work.Writer, guard rest.ValidateObjectFunc,
	finalizers map[string]int) (objects int, err error) {
	found, err := c.deleteAll(ctx, ns, writer, guard)
	if err != nil || found == nil {
		return 0, err
	}
	left, err := rest.EncodedList(c.storage)(writer.Reads(ctx, "list", c.resource, ns.Name, ""), &metainternalversion.ListOptions{})
	if err != nil {
		return 0, err
	}
	err = object.Each(ctx, left, func(obj runtime.Object) error {
		m, err := meta.Accessor(obj)
		if err != nil {
			return err
		}
		objects++
		for _, finalizer := range m.GetFinalizers() {
			finalizers[finalizer]++
		}
		return nil
	})
	if objects == 0 || len(finalizers) > 0 || err != nil || c.resource == pods && mayStillStop(ctx, found, ns.DeletionTimestamp.Time) {
		return objects, err
	}
	return objects, fmt.Errorf("unexpected items still remain in namespace: %s for gvr: %v", ns.Name, c.resource)
}

var namespaceEnds = trace.Because("namespace-ends",
	"the namespace {name:quote} is being deleted, and what is in it goes first",
	"命名空间 {name:quote} 正在删除，先删除其中的对象")

// deleteAll deletes the collection, and returns its objects, nil if it had none.
func (c collection) deleteAll(ctx context.Context, ns *corev1.Namespace, writer *work.Writer,
	guard rest.ValidateObjectFunc) (found runtime.Object, err error) {
	void := false
	ctx, end := writer.Begin(ctx, work.Write{
		Verb: "deletecollection", Resource: c.resource, Namespace: ns.Name, Cause: revisionOf(ns), Void: &void,
		Why: func(step *trace.Step) { step.WhyText(namespaceEnds, ns.Name) },
	})
	defer end(&err)
	options := &metav1.DeleteOptions{PropagationPolicy: new(metav1.DeletePropagationBackground)}
	admit, err := writer.DeleteValidation(ctx, "", options)
	if err != nil {
		return nil, err
	}
	guarded := func(ctx context.Context, obj runtime.Object) error {
		if err := guard(ctx, obj); err != nil {
			return err
		}
		return admit(ctx, obj)
	}
	found, err = c.storage.DeleteCollection(ctx, guarded, options, &metainternalversion.ListOptions{})
	if err != nil {
		return nil, err
	}
	any, err := hasItems(ctx, found)
	if void = err == nil && !any; void || err != nil {
		return nil, err
	}
	return found, nil
}

// hasItems reports whether a list has items.
func hasItems(ctx context.Context, list runtime.Object) (bool, error) {
	if items, ok := list.(*object.List); ok {
		return items.Items.Any(ctx)
	}
	return meta.LenList(list) > 0, nil
}

// mayStillStop reports whether a list has pods whose grace period, counted from the deletion of their
// namespace, has not passed. Only pods have one. It returns false for pods that can't be read.
func mayStillStop(ctx context.Context, found runtime.Object, since time.Time) bool {
	var longest int64
	err := object.Each(ctx, found, func(item runtime.Object) error {
		pod, err := builtin.As[*corev1.Pod](item)
		if err != nil || pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
			return err
		}
		if seconds := pod.Spec.TerminationGracePeriodSeconds; seconds != nil {
			longest = max(longest, *seconds)
		}
		return nil
	})
	return err == nil && time.Since(since) < time.Duration(longest)*time.Second
}

// errNotEnding stops the deletion of a namespace's content because the namespace is gone.
var errNotEnding = errors.New("the namespace that was being deleted is gone")
