package namespace

import (
	"context"
	"log/slog"
	"path"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	authuser "k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/client-go/util/workqueue"

	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/server/builtin"
	"github.com/kx-apiserver/kx/server/controller/work"
	"github.com/kx-apiserver/kx/store/etcd3"
)

// firstLookMost limits how long a server's start waits for etcd.
const firstLookMost = 10 * time.Second

// user is the user for emptying namespaces.
var user = work.ServiceAccount("namespace-controller")

// Controller creates the namespaces that every cluster has, and empties deleted ones.
//
// One goroutine follows all namespaces, and a few work on the ending ones, which wait in queues until they are
// gone or no longer have our finalizer. Namespaces are known by UID: a namespace may be created again under its
// name before the controller notices the end of the first.
//
// mu guards ending, working and term.
type Controller struct {
	namespaces namespaceStorage
	status     rest.Updater
	finalize   rest.Updater
	storages   work.Storages
	elsewhere  work.Storages
	writer     *work.Writer
	complete   func(context.Context) error
	gate       *etcd3.Gate
	log        *slog.Logger

	ctx     context.Context
	cancel  context.CancelFunc
	running sync.WaitGroup

	// fresh queues namespaces before their first attempt, again those that are not empty or have failed, and
	// slow those whose attempt took long.
	fresh       workqueue.TypedDelayingInterface[types.UID]
	again, slow workqueue.TypedRateLimitingInterface[types.UID]
	// beside has a slot for each attempt that the next one does not wait for.
	beside chan struct{}
	counts *work.Counts

	mu     sync.Mutex
	ending map[types.UID]*endingNamespace
	// working counts the namespaces that are being worked on.
	working int
	// term ends when this process stops emptying namespaces. It is nil while another process does.
	term context.Context
}

type namespaceStorage interface {
	rest.Getter
	rest.Lister
	rest.Creater
	rest.Watcher
}

// New returns nil if the server has no namespaces. elsewhere (optional) returns resources of other servers.
// complete returns an error if resources exist, or may exist, that neither has. Before Run, the controller only
// creates namespaces, and does not empty deleted ones.
func New(kit *work.Kit, elsewhere work.Storages, complete func(context.Context) error) *Controller {
	c := &Controller{
		storages: kit.Storages, elsewhere: elsewhere, complete: complete, gate: kit.Gate, log: kit.Log,
		ending: map[types.UID]*endingNamespace{},
		writer: kit.Writer("namespace-controller", "namespace-controller"),
		beside: make(chan struct{}, mostBeside), counts: kit.Metrics.Counts("namespace-controller"),
	}
	installed := kit.Storages()
	resource := func(name string) rest.Storage { return installed[corev1.SchemeGroupVersion.WithResource(name)] }
	var ok [3]bool
	c.namespaces, ok[0] = resource("namespaces").(namespaceStorage)
	c.status, ok[1] = resource("namespaces/status").(rest.Updater)
	c.finalize, ok[2] = resource("namespaces/finalize").(rest.Updater)
	if ok != [3]bool{true, true, true} {
		return nil
	}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	c.fresh = workqueue.NewTypedDelayingQueue[types.UID]()
	c.again, c.slow = workqueue.NewTypedRateLimitingQueue(newPauses()), workqueue.NewTypedRateLimitingQueue(newPauses())
	return c
}

// Start returns when the namespaces that every cluster has exist, or when ctx ends.
func (c *Controller) Start(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, firstLookMost)
	defer cancel()
	revision, err := c.look(ctx)
	if err != nil {
		c.log.Warn("cannot look at the namespaces: trying again, and until then none is made and none is emptied", "error", err)
	}
	c.begin(revision)
}

// Run empties deleted namespaces until ctx ends.
func (c *Controller) Run(ctx context.Context) {
	c.mu.Lock()
	c.term = ctx
	for uid := range c.ending {
		c.fresh.AddAfter(uid, settle)
	}
	c.mu.Unlock()
	select {
	case <-ctx.Done():
	case <-c.ctx.Done():
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.term = nil
}

// State returns the numbers of waiting, working and failing namespaces.
func (c *Controller) State() (s work.State) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, e := range c.ending {
		switch {
		case e.working:
			s.Working++
		default:
			s.Waiting++
		}
		if e.failure != "" {
			s.Failing++
			s.Error = e.failure
		}
	}
	return s
}

// begin follows namespaces from a revision on, and works on ending ones.
func (c *Controller) begin(revision string) {
	c.running.Go(func() { c.follow(revision) })
	for range mostAtOnce {
		c.running.Go(func() { c.work(c.fresh, quickAttempt) })
		c.running.Go(func() { c.work(c.again, quickAttempt) })
		c.running.Go(func() { c.work(c.slow, longestAttempt) })
	}
}

// Stop ends the controller and waits for it.
func (c *Controller) Stop() {
	c.cancel()
	c.fresh.ShutDown()
	c.again.ShutDown()
	c.slow.ShutDown()
	c.running.Wait()
}

// follow watches from revision on, and lists again when a watch ends. An empty revision means that the list failed.
func (c *Controller) follow(revision string) {
	var pause work.Backoff
	for {
		if revision != "" && c.watch(revision) {
			pause = work.Backoff{}
		}
		if !pause.Wait(c.ctx) {
			return
		}
		var err error
		if revision, err = c.look(c.ctx); err != nil && c.ctx.Err() == nil {
			c.log.Warn("cannot look at the namespaces: trying again", "error", err)
		}
	}
}

// look lists namespaces: it queues ending ones and creates missing ones. Those that can't be read stay as they
// are. It returns the list's revision, or "".
func (c *Controller) look(ctx context.Context) (revision string, err error) {
	ctx = c.gate.Decide(ctx)
	obj, unreadable, err := builtin.ListReadable(c.request(ctx, user, "list", ""), c.namespaces, &metainternalversion.ListOptions{})
	if err != nil {
		return "", err
	}
	list, err := builtin.As[*corev1.NamespaceList](obj)
	if err != nil {
		return "", err
	}
	there := map[string]bool{}
	for _, u := range unreadable {
		there[path.Base(u.Key)] = true
		c.log.Error("a namespace cannot be read: it stays as it is", "error", u)
	}
	for i := range list.Items {
		there[list.Items[i].Name] = true
		c.see(&list.Items[i])
	}
	if err := c.makeMissing(ctx, there); err != nil {
		return "", err
	}
	return list.ResourceVersion, nil
}

// watch handles all changes after a revision until the watch ends. saw reports whether there were any.
func (c *Controller) watch(revision string) (saw bool) {
	w, err := c.namespaces.Watch(c.request(c.ctx, user, "watch", ""), &metainternalversion.ListOptions{ResourceVersion: revision})
	if err != nil {
		c.log.Warn("cannot watch namespaces: trying again", "error", err)
		return false
	}
	defer w.Stop()
	for event := range w.ResultChan() {
		ns, ok := event.Object.(*corev1.Namespace)
		if !ok {
			c.log.Info("a watch of namespaces ended: looking again", "error", apierrors.FromObject(event.Object))
			return saw
		}
		saw = true
		if event.Type != watch.Deleted {
			c.see(ns)
			continue
		}
		c.forget(ns.UID)
		if err := c.makeAgain(c.ctx, ns.Name); err != nil {
			c.log.Warn("cannot make a namespace that every cluster has", "namespace", ns.Name, "error", err)
			return saw
		}
	}
	return saw
}

// request returns the context of a request for namespaces.
func (c *Controller) request(ctx context.Context, who authuser.Info, verb, subresource string) context.Context {
	return work.WithRequest(ctx, who, &request.RequestInfo{
		IsResourceRequest: true, Verb: verb, APIVersion: "v1", Resource: "namespaces", Subresource: subresource,
	})
}

func (c *Controller) get(ctx context.Context, name string) (*corev1.Namespace, error) {
	obj, err := c.namespaces.Get(c.request(ctx, user, "get", ""), name, &metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	return builtin.As[*corev1.Namespace](obj)
}
