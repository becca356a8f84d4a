package resourcequota

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/server/builtin"
	"github.com/kx-apiserver/kx/server/builtin/core/podspec"
	"github.com/kx-apiserver/kx/server/controller/work"
	"github.com/kx-apiserver/kx/server/quota"
	"github.com/kx-apiserver/kx/store/admin"
	"github.com/kx-apiserver/kx/store/backend"
)

const (
	component  = "resourcequota-controller"
	mostAtOnce = 4
)

// Controller counts the usage of quotas.
type Controller struct {
	// The keys of the loop are namespaces.
	*work.Loop[string]
	storages work.Storages
	etcd     *admin.Live
	decoder  *admin.Decoder
	// prefix is the common prefix of all keys, with a slash at its end.
	prefix string
	writer *work.Writer
	log    *slog.Logger

	// mu guards the fields below.
	mu     sync.Mutex
	spaces map[string]*space
	round  uint32
}

// New creates a controller. It does nothing until it runs.
func New(kit *work.Kit) *Controller {
	c := &Controller{
		storages: kit.Storages, etcd: kit.Etcd, decoder: kit.Decoder, log: kit.Log,
		prefix: strings.TrimSuffix(kit.Decoder.Prefix, "/") + "/",
		writer: kit.Writer(component, component),
		spaces: map[string]*space{},
	}
	c.Loop = work.NewLoop(component, mostAtOnce, kit, c.count)
	return c
}

// count writes the usage of a namespace's objects into the status of all its quotas.
func (c *Controller) count(ctx context.Context, namespace string, cause int64) error {
	storages := c.storages()
	serves := served(storages)
	begun, names := c.begin(namespace, serves)
	var errs []error
	for prefix, k := range begun {
		errs = append(errs, c.read(ctx, namespace, prefix, k))
	}
	c.expire(namespace)
	for _, name := range names {
		err := c.keep(ctx, storages, serves, namespace, name, cause)
		if apierrors.IsNotFound(err) {
			err = nil // its event follows
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// served returns a function that reports whether a resource can be counted: its objects are in namespaces, and
// requests create and delete them.
func served(storages map[schema.GroupVersionResource]rest.Storage) func(schema.GroupResource) bool {
	all := map[schema.GroupResource]bool{}
	for resource, storage := range storages {
		if strings.Contains(resource.Resource, "/") {
			continue
		}
		scoper, ok := storage.(rest.Scoper)
		_, creates := storage.(rest.Creater)
		_, lists := storage.(rest.Lister)
		_, deletes := storage.(rest.GracefulDeleter)
		if ok && creates && lists && deletes && scoper.NamespaceScoped() {
			all[resource.GroupResource()] = true
		}
	}
	return func(resource schema.GroupResource) bool { return all[resource] }
}

// begin adds the kinds that the quotas of a namespace count, and drops the others. It returns the kinds that
// have yet to be read, by their key prefixes, and the names of the quotas.
func (c *Controller) begin(namespace string, serves func(schema.GroupResource) bool) (unread map[string]*kind, names []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.spaces[namespace]
	if s == nil {
		return nil, nil
	}
	kinds := map[string]*kind{}
	unread, s.unserved = map[string]*kind{}, false
	for name, l := range s.quotas {
		names = append(names, name)
		for _, resource := range quota.Resources(l.spec.Hard) {
			if !serves(resource) {
				s.unserved = true
				continue
			}
			prefix := backend.ResourcePrefix(resource)
			k := s.kinds[prefix]
			if k == nil || k.resource != resource {
				k = newKind(resource)
			}
			if kinds[prefix] = k; !k.ready {
				unread[prefix] = k
			}
			s.kinds[prefix] = k
		}
	}
	s.kinds = kinds
	slices.Sort(names)
	return unread, names
}

// read counts all objects of a kind, as of one revision, and then applies the later events that arrived during
// the read.
func (c *Controller) read(ctx context.Context, namespace, prefix string, k *kind) error {
	c.mu.Lock()
	round := c.round
	c.mu.Unlock()
	revision, err := c.etcd.Revision(ctx)
	if err != nil {
		return err
	}
	all := newKind(k.resource)
	below := prefix + "/" + namespace + "/"
	for kv, err := range admin.Subtree(ctx, c.etcd, c.prefix+below, admin.Range{Revision: revision}) {
		if err != nil {
			return fmt.Errorf("count the %s of namespace %s: %w", k.resource, namespace, err)
		}
		key := strings.TrimPrefix(kv.Key, c.prefix)
		if u := c.measure(k.resource, key, kv.Value); u != nil {
			all.set(strings.TrimPrefix(key, below), u, round)
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.round != round {
		return fmt.Errorf("%w: all keys are looked at again", work.ErrLater) // an event may have been missed
	}
	k.objects, k.groups, k.ends, k.at, k.ready = all.objects, all.groups, all.ends, revision, true
	for name, e := range k.early {
		if e.revision > revision {
			k.set(name, e.usage, round)
		}
	}
	k.early = nil
	return nil
}

// expire ends the usage of pods whose time has come, and schedules the next count for the end of the next one.
func (c *Controller) expire(namespace string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s, now := c.spaces[namespace], time.Now()
	if s == nil {
		return
	}
	for _, k := range s.kinds {
		if next := k.expire(now); !next.IsZero() {
			c.AddAfter(namespace, 0, next.Sub(now))
		}
	}
}

// errAsItIs ends an update that has nothing to change.
var errAsItIs = errors.New("nothing is to be changed")

var quotaCounted = trace.Because("quota-counted",
	"the quota's status does not say what the objects of the namespace use of {names:word}",
	"配额的 status 与命名空间中对象的实际用量不符：{names:word}")

// keep writes the status of a quota if it is not correct.
func (c *Controller) keep(
	ctx context.Context, storages map[schema.GroupVersionResource]rest.Storage, serves func(schema.GroupResource) bool, namespace,
	name string, cause int64,
) (err error) {
	resource := corev1.SchemeGroupVersion.WithResource(quotas)
	updater, updates := storages[resource.GroupVersion().WithResource(quotas+"/status")].(rest.Updater)
	if !updates {
		return nil // quotas are not served
	}
	reading := c.writer.Reads(ctx, "get", resource, namespace, name)
	q, err := builtin.Get[*corev1.ResourceQuota](reading, storages[resource], name, &metav1.GetOptions{})
	if err != nil {
		return err
	}
	right, changed := c.right(q, serves)
	if right == nil {
		return nil
	}
	next := func(_ context.Context, _, old runtime.Object) (runtime.Object, error) {
		now, err := builtin.As[*corev1.ResourceQuota](old)
		if err != nil {
			return nil, err
		}
		next := now.DeepCopy()
		right, _ := c.right(now, serves)
		if right == nil || now.UID != q.UID {
			return nil, errAsItIs
		}
		next.Status = *right
		return next, nil
	}
	ctx, end := c.writer.Begin(ctx, work.Write{
		Verb: "update", Resource: resource, Subresource: "status", Namespace: namespace, Name: name, Cause: cause,
		Why: func(step *trace.Step) { step.WhyList(quotaCounted, changed) },
	})
	defer end(&err)
	_, err = c.writer.Update(ctx, updater, name, rest.DefaultUpdatedObjectInfo(nil, next))
	if errors.Is(err, errAsItIs) {
		return nil
	}
	if err == nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		if s := c.spaces[namespace]; s != nil {
			s.written = time.Now()
		}
	}
	return err
}

// right returns the correct status of a quota, and the names that change in it: nil if the status is correct,
// or if the usage is not known yet.
func (c *Controller) right(q *corev1.ResourceQuota,
	serves func(schema.GroupResource) bool) (right *corev1.ResourceQuotaStatus, changed []string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.spaces[q.Namespace]
	if s == nil {
		return nil, nil
	}
	for _, resource := range quota.Resources(q.Spec.Hard) {
		if k := s.kinds[backend.ResourcePrefix(resource)]; serves(resource) && (k == nil || !k.ready) {
			return nil, nil
		}
	}
	used := quota.Sum(&q.Spec, serves, func(resource schema.GroupResource) iter.Seq2[*quota.Usage, int64] {
		return s.kinds[backend.ResourcePrefix(resource)].usages()
	})
	c.spare(s, q, used)
	right = &corev1.ResourceQuotaStatus{Hard: q.Spec.Hard, Used: used}
	for name := range q.Spec.Hard {
		// A name that is not counted at present keeps its value.
		if was, ok := q.Status.Used[name]; ok {
			if _, counted := used[name]; !counted {
				used[name] = was
			}
		}
	}
	for _, lists := range [][2]corev1.ResourceList{{q.Status.Hard, right.Hard}, {q.Status.Used, right.Used}} {
		changed = append(changed, differ(lists[0], lists[1])...)
	}
	slices.Sort(changed)
	if changed = slices.Compact(changed); len(changed) == 0 {
		return nil, nil
	}
	return right, changed
}

// spare keeps what admission has charged a moment ago in a sum: the objects may not exist yet. They are counted
// again later. The caller holds mu.
func (c *Controller) spare(s *space, q *corev1.ResourceQuota, sum corev1.ResourceList) {
	l, now := s.quotas[q.Name], time.Now()
	if l == nil {
		return
	}
	for name, counted := range sum {
		was, ok := q.Status.Used[name]
		if !ok || was.Cmp(counted) <= 0 {
			continue
		}
		if wait := l.leadTime(name, was, now); wait > 0 {
			sum[name] = was
			c.AddAfter(q.Namespace, 0, wait)
		}
	}
}

// differ returns the names whose amounts differ between two lists.
func differ(a, b corev1.ResourceList) (names []string) {
	for _, name := range podspec.ResourceNames(a) {
		had := a[name]
		if has, ok := b[name]; !ok || had.Cmp(has) != 0 {
			names = append(names, string(name))
		}
	}
	for _, name := range podspec.ResourceNames(b) {
		if _, ok := a[name]; !ok {
			names = append(names, string(name))
		}
	}
	return names
}
