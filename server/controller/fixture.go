package controller

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/server/builtin"
	"github.com/kx-apiserver/kx/server/controller/feed"
	"github.com/kx-apiserver/kx/server/controller/work"
	"github.com/kx-apiserver/kx/store/backend"
)

// rootCA keeps the config map kube-root-ca.crt in every namespace, with the authority that verifies this
// server. The authority may be renewed while the server runs. [fixtureKeeper] describes all fixtures.
var rootCA = controller{
	name: RootCA, short: "root-ca-cert-publisher", does: "tell every namespace whom to trust", account: "root-ca-cert-publisher",
	follows: []schema.GroupVersionResource{namespaces,
		configMaps}, workers: fixturesAtOnce, make: func(kit *work.Kit, self controller) follower {
		a := authorityFixture{kit}
		c := keepFixtures(kit, self, fixture{name: authorityName, make: a.make, intact: a.intact, mend: a.mend})
		c.renewals = kit.Renewals()
		return c
	},
}

// serviceAccounts keeps the service account default in every namespace. Pods use it unless they name another.
// Its content does not matter.
var serviceAccounts = controller{
	name: ServiceAccounts, short: "serviceaccount", does: "give every namespace a service account", account: "service-account-controller",
	follows: []schema.GroupVersionResource{namespaces,
		accounts}, workers: fixturesAtOnce, make: func(kit *work.Kit, self controller) follower {
		return keepFixtures(kit, self, fixture{
			name:   "default",
			make:   func() runtime.Object { return &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "default"}} },
			intact: func(string, []byte) bool { return true }, mend: func(runtime.Object) (runtime.Object, error) { return nil, nil },
		})
	},
}

// fixturesAtOnce limits the namespaces that are worked on at a time. It covers those of a fresh server, so that
// etcd syncs its disk once for them.
const fixturesAtOnce = 8

// fixture is an object that every namespace has.
type fixture struct {
	name string
	make func() runtime.Object
	// intact reports that a stored value is correct. If it can't tell, the object is read through the storage.
	intact func(key string, value []byte) bool
	// mend returns a corrected copy of have, nil if have is correct.
	mend func(have runtime.Object) (runtime.Object, error)
}

// fixtureKeeper keeps one object in every namespace that is not ending.
//
// The namespace must exist and not be ending, both when the object is created and when it is checked again
// afterwards: so no namespace leaves an object behind. Correct objects cost nothing at a start: only namespaces
// that lack something are read. If a client changes an object again and again, the keeper corrects it less and
// less often: servers with different authorities on one etcd do not keep each other busy. It deletes nothing
// but an object that it created in a namespace that began to end meanwhile.
//
// mu guards mended. Only the feed's goroutine uses all and there.
type fixtureKeeper struct {
	*work.Loop[string]
	fixture
	resource schema.GroupVersionResource
	storage  work.Storage
	writer   *work.Writer
	spaces   *work.Objects[*corev1.Namespace]
	suffix   string // ends the keys of the objects
	// renewals (optional) signals that all objects have to change.
	renewals *work.Renewals

	// all lists the namespaces of the present look, and there those that have the object.
	all   []string
	there map[string]bool

	mu sync.Mutex
	// mended holds the namespaces whose object another writer has changed.
	mended map[string]recentChanges
}

// recentChanges counts the recent changes of an object, with the time of the last.
type recentChanges struct {
	times int
	last  time.Time
}

// keepFixtures creates a keeper of an object of the second resource that the controller follows.
func keepFixtures(kit *work.Kit, self controller, f fixture) *fixtureKeeper {
	writer := self.writer(kit)
	c := &fixtureKeeper{
		fixture: f, resource: self.follows[1], storage: kit.Storage, writer: writer,
		spaces: work.ObjectsOf[*corev1.Namespace](kit, writer, namespaces), suffix: "/" + f.name, mended: map[string]recentChanges{},
	}
	c.Loop = loopOf(kit, self, c.keep)
	return c
}

// Run works until ctx ends, and returns when all goroutines have ended.
func (c *fixtureKeeper) Run(ctx context.Context) {
	var running sync.WaitGroup
	defer running.Wait()
	if c.renewals != nil {
		running.Go(func() { c.renewals.Run(ctx, c.queueAll) })
	}
	c.Loop.Run(ctx)
}

// Begin begins a look at all keys.
func (c *fixtureKeeper) Begin() { c.all, c.there = nil, map[string]bool{} }

// End queues the namespaces that were put since Begin without the object.
func (c *fixtureKeeper) End(int64) {
	for _, namespace := range c.all {
		if !c.there[namespace] {
			c.Add(namespace, 0)
		}
	}
	c.all, c.there = nil, nil
}

// Put takes the value of a key at a revision.
func (c *fixtureKeeper) Put(p feed.Pair) {
	if name, ok := strings.CutPrefix(p.Key, namespacesPrefix); ok {
		switch {
		case p.Value == nil:
			c.forget(name)
		case p.Changed:
			c.Add(name, p.Revision)
		default:
			c.all = append(c.all, name)
		}
		return
	}
	if !strings.HasSuffix(p.Key, c.suffix) {
		return
	}
	namespace, name := p.Name(c.resource.GroupResource())
	if name != c.name {
		return
	}
	intact := p.Value != nil && c.intact(p.Key, p.Value)
	switch {
	case p.Changed && !intact:
		c.AddAfter(namespace, p.Revision, c.pause(namespace))
	case !p.Changed && intact:
		c.there[namespace] = true
	}
}

var namespacesPrefix = backend.ResourcePrefix(namespaces.GroupResource()) + "/"

const (
	// mendedAtOnce limits the corrections without delay. mendedLater is the first delay after these, and
	// mendedLatest the longest.
	mendedAtOnce = 5
	mendedLater  = time.Second
	mendedLatest = 5 * time.Minute
	// After mendedFor without a change, the count starts anew.
	mendedFor = 2 * mendedLatest
)

// pause returns the delay before another writer's change of an object is corrected.
func (c *fixtureKeeper) pause(namespace string) time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	m := c.mended[namespace]
	if time.Since(m.last) > mendedFor {
		m = recentChanges{}
	}
	c.mended[namespace] = recentChanges{times: m.times + 1, last: time.Now()}
	return pauseAfter(m.times)
}

func pauseAfter(times int) time.Duration {
	if times < mendedAtOnce {
		return 0
	}
	pause := mendedLater
	for range times - mendedAtOnce {
		if pause *= 2; pause >= mendedLatest {
			return mendedLatest
		}
	}
	return pause
}

func (c *fixtureKeeper) forget(namespace string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.mended, namespace)
}

// keep creates or corrects the object in a namespace.
func (c *fixtureKeeper) keep(ctx context.Context, namespace string, cause int64) error {
	lives, err := c.lives(ctx, namespace)
	if err != nil || !lives {
		return err
	}
	storage, ok := c.storage(c.resource).(rest.Getter)
	if !ok {
		return nil // it is not served here
	}
	have, err := storage.Get(c.writer.Reads(ctx, "get", c.resource, namespace, c.name), c.name, &metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return c.create(ctx, namespace, cause)
	}
	if err != nil {
		return fmt.Errorf("read %s of the namespace %s: %w", c.name, namespace, err)
	}
	want, err := c.mend(have)
	if err != nil || want == nil {
		return err
	}
	return c.update(ctx, namespace, want, cause)
}

// lives reports whether a namespace exists and is not ending.
func (c *fixtureKeeper) lives(ctx context.Context, name string) (bool, error) {
	namespace, found, err := c.spaces.Get(ctx, name, name)
	if err != nil {
		return false, fmt.Errorf("read the namespace %s: %w", name, err)
	}
	return found && namespace.DeletionTimestamp == nil && namespace.Status.Phase != corev1.NamespaceTerminating, nil
}

var everyNamespace = trace.Because("every-namespace", "every namespace has one", "每个命名空间都有一个")

func (c *fixtureKeeper) create(ctx context.Context, namespace string, cause int64) (err error) {
	storage, ok := c.storage(c.resource).(rest.Creater)
	if !ok {
		return nil
	}
	writing, end := c.begin(ctx, "create", namespace, cause, everyNamespace)
	made, err := c.writer.Create(writing, storage, c.name, c.make())
	end(&err)
	if err != nil {
		return work.UnlessOvertaken(err)
	}
	// A namespace that began to end before the creation may already be considered empty.
	if lives, err := c.lives(ctx, namespace); err != nil || lives {
		return err
	}
	m, err := meta.Accessor(made)
	if err != nil {
		return err
	}
	return c.remove(ctx, namespace, m.GetUID(), cause)
}

var putBack = trace.Because("put-back",
	"every namespace has it, and like this",
	"每个命名空间都有它，而且就是这样的")

func (c *fixtureKeeper) update(ctx context.Context, namespace string, want runtime.Object, cause int64) (err error) {
	storage, ok := c.storage(c.resource).(rest.Updater)
	if !ok {
		return nil
	}
	ctx, end := c.begin(ctx, "update", namespace, cause, putBack)
	_, err = c.writer.Update(ctx, storage, c.name, rest.DefaultUpdatedObjectInfo(want))
	end(&err)
	return work.UnlessOvertaken(err)
}

var endedMeanwhile = trace.Because("ended-meanwhile",
	"its namespace has begun to end meanwhile",
	"其间它的命名空间已开始被删除")

func (c *fixtureKeeper) remove(ctx context.Context, namespace string, uid types.UID, cause int64) (err error) {
	storage, ok := c.storage(c.resource).(rest.GracefulDeleter)
	if !ok {
		return nil
	}
	ctx, end := c.begin(ctx, "delete", namespace, cause, endedMeanwhile)
	err = c.writer.Delete(ctx, storage, c.name, &metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}})
	end(&err)
	return work.UnlessOvertaken(err)
}

func (c *fixtureKeeper) begin(ctx context.Context, verb, namespace string, cause int64, why trace.Reason) (context.Context, func(*error)) {
	return c.writer.Begin(ctx, work.Write{
		Verb: verb, Resource: c.resource, Namespace: namespace, Name: c.name, Cause: cause, Why: func(step *trace.Step) { step.Why(why) },
		Quiet: cause == 0, // a look found it missing
	})
}

// queueAll queues all namespaces that can be read.
func (c *fixtureKeeper) queueAll(ctx context.Context) error {
	all, err := c.spaces.Readable(ctx, "")
	for _, namespace := range all {
		c.Add(namespace.Name, 0)
	}
	return err
}

const (
	authorityName           = "kube-root-ca.crt"
	authorityKey            = "ca.crt"
	authorityDescriptionKey = "kubernetes.io/description"
	// authorityDescription is kube-controller-manager's text.
	authorityDescription = "Contains a CA bundle that can be used to verify the kube-apiserver when using internal " +
		"endpoints such as the internal service IP or kubernetes.default.svc. " +
		"No other usage is guaranteed across distributions of Kubernetes clusters."
)

// authorityFixture is the config map with the authority that pods trust.
type authorityFixture struct{ kit *work.Kit }

// data returns the correct content in place of have.
func (a authorityFixture) data(have map[string]string) map[string]string {
	return map[string]string{authorityKey: string(a.kit.Trust([]byte(have[authorityKey])))}
}

func (a authorityFixture) make() runtime.Object {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: authorityName, Annotations: map[string]string{authorityDescriptionKey: authorityDescription}},
		Data:       a.data(nil),
	}
}

func (a authorityFixture) intact(key string, value []byte) bool {
	cm := &corev1.ConfigMap{}
	return a.kit.Unmarshal(key, value, cm) == nil && a.same(cm)
}

func (a authorityFixture) same(cm *corev1.ConfigMap) bool {
	return maps.Equal(cm.Data, a.data(cm.Data)) && cm.Annotations[authorityDescriptionKey] != ""
}

func (a authorityFixture) mend(have runtime.Object) (runtime.Object, error) {
	cm, err := builtin.As[*corev1.ConfigMap](have)
	if err != nil || a.same(cm) {
		return nil, err
	}
	cm = cm.DeepCopy()
	cm.Data = a.data(cm.Data)
	metav1.SetMetaDataAnnotation(&cm.ObjectMeta, authorityDescriptionKey, authorityDescription)
	return cm, nil
}
