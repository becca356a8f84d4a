package garbage

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync"

	"github.com/kx-apiserver/kx/server/controller/work"
	"github.com/kx-apiserver/kx/store/admin"
)

// mostAtOnce limits the objects that are worked on at a time. etcd syncs its disk once for concurrent writes.
const mostAtOnce = 16

// Controller is the garbage collector.
type Controller struct {
	storages work.Storages
	etcd     *admin.Live
	decoder  *admin.Decoder
	// prefix is the common prefix of all keys, with a slash at its end.
	prefix string
	writer *work.Writer
	log    *slog.Logger
	// loop works on all tasks except those on slow resources (slow) and events (telling).
	loop, slow, telling *work.Loop[task]
	targets             targets
	absent              absent
	slowness            slowness
	events              events

	// mu guards the fields below.
	mu    sync.Mutex
	index *index
	round uint32
	// revision is the revision of the present change.
	revision int64
	// unserved holds the objects with owners of kinds that are not served.
	unserved map[id]bool
	// unreadable holds the keys whose values can't be read, and blind the tasks that failed because of such a
	// value.
	unreadable map[string]bool
	blind      map[task]bool
	// untold holds, by object, the owners in other namespaces whose event has not been tried yet.
	untold map[id]map[id]bool
}

// mostUntold limits the objects that wait until their events have been tried. If there are more, events can't
// keep up, and objects are collected before their events.
const mostUntold = 100

// task is a task about the object with a UID. other is the UID of the owner that it concerns, if any.
type task struct {
	what       taskKind
	uid, other id
}

type taskKind uint8

const (
	// collect deletes an object if it is garbage, and drops its references to owners that are gone.
	collect taskKind = iota
	// release drops the references to an object that is being deleted, and orphans its dependents.
	release
	// tell creates the event about a reference into another namespace.
	tell
)

// New creates a controller. It does nothing until it runs.
func New(kit *work.Kit) *Controller {
	c := &Controller{
		storages: kit.Storages, etcd: kit.Etcd, decoder: kit.Decoder, log: kit.Log,
		prefix: strings.TrimSuffix(kit.Decoder.Prefix, "/") + "/",
		writer: kit.Writer(component, "generic-garbage-collector"),
		index:  newIndex(), unserved: map[id]bool{}, unreadable: map[string]bool{}, blind: map[task]bool{}, untold: map[id]map[id]bool{},
	}
	c.loop = work.NewLoop(component, mostAtOnce, kit, c.tryBriefly)
	c.slow = work.NewLoop(component+"-slow", slowAtOnce, kit, c.trySlowTask)
	c.telling = work.NewLoop(component+"-events", 1, kit, c.try)
	c.index.wake = func(n *node) { c.add(task{collect, n.uid, id{}}) }
	c.index.release = func(n *node) { c.add(task{release, n.uid, id{}}) }
	c.index.invalid = c.invalid
	return c
}

// add queues a task with the present change as its cause. The caller holds mu.
func (c *Controller) add(t task) { c.loop.Add(t, c.revision) }

// invalid queues the event about a reference into another namespace. The caller holds mu.
func (c *Controller) invalid(n *node, owner id) {
	if c.untold[n.uid] == nil {
		c.untold[n.uid] = map[id]bool{}
	}
	c.untold[n.uid][owner] = true
	c.telling.Add(task{tell, n.uid, owner}, c.revision)
}

// finishTask queues an object for collection when all events about it have been tried: the events read the object.
// The caller holds mu.
func (c *Controller) finishTask(t task, cause int64) {
	owners, waits := c.untold[t.uid]
	delete(owners, t.other)
	if waits && len(owners) == 0 {
		delete(c.untold, t.uid)
		c.loop.Add(task{collect, t.uid, id{}}, cause)
	}
}

// Run works until ctx ends, and returns when all goroutines have ended.
func (c *Controller) Run(ctx context.Context) {
	var running sync.WaitGroup
	for _, l := range c.loops() {
		running.Go(func() { l.Run(ctx) })
	}
	running.Wait()
}

func (c *Controller) loops() []*work.Loop[task] { return []*work.Loop[task]{c.loop, c.slow, c.telling} }

// State returns the sum of its loops' states.
func (c *Controller) State() (sum work.State) {
	for _, l := range c.loops() {
		s := l.State()
		sum.Waiting, sum.Working, sum.Failing = sum.Waiting+s.Waiting, sum.Working+s.Working, sum.Failing+s.Failing
		if sum.Error == "" {
			sum.Error = s.Error
		}
	}
	return sum
}

// try performs a task, with a revision as its cause.
func (c *Controller) try(ctx context.Context, t task, cause int64) (err error) {
	switch t.what {
	case release:
		err = c.release(ctx, t.uid, cause)
	case tell:
		err = c.tell(ctx, t.uid, t.other, cause)
	default:
		err = c.collect(ctx, t.uid, cause)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if t.what == tell {
		c.finishTask(t, cause)
	}
	switch {
	case err == nil:
		delete(c.unserved, t.uid)
		delete(c.blind, t)
	case errors.Is(err, errUnserved):
		c.unserved[t.uid] = true
	case errors.Is(err, errUnreadable):
		c.blind[t] = true
	}
	if errors.Is(err, errUnserved) || errors.Is(err, errChanged) {
		return errors.Join(work.ErrLater, err)
	}
	return err
}
