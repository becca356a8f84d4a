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

// mostAtOnce is how many objects are worked on at a time: etcd syncs its disk once for writes that come together.
const mostAtOnce = 16

// Controller is the garbage collector.
type Controller struct {
	storages work.Storages
	etcd     *admin.Live
	decoder  *admin.Decoder
	// prefix begins all keys and ends in a slash.
	prefix string
	writer *work.Writer
	log    *slog.Logger
	// loop works on all tasks but those on slow resources and events.
	loop, slow, telling *work.Loop[task]
	targets             targets
	absent              absent
	slowness            slowness
	events              events

	// mu guards what follows.
	mu    sync.Mutex
	index *index
	round uint32
	// revision is that of the change at hand.
	revision int64
	// unserved are the objects with owners of kinds that are not served.
	unserved map[id]bool
	// unreadable are the keys whose values can't be read, and blind the tasks that failed for such a value.
	unreadable map[string]bool
	blind      map[task]bool
	// untold are, by object, the owners in other namespaces about which no event has been tried yet.
	untold map[id]map[id]bool
}

// mostUntold is for how many objects the collector waits until their events have been tried. If there are more, events
// can't keep up, and objects go before them.
const mostUntold = 100

// task is something to do about the object with a UID. Other is the UID of the owner that it is about, if it is about
// one.
type task struct {
	what       what
	uid, other id
}

type what uint8

const (
	// collect deletes an object if it is garbage, and drops references to owners that are gone.
	collect what = iota
	// release drops the references to an object that is being deleted, and orphans its dependents.
	release
	// tell makes the event about a reference into another namespace.
	tell
)

// New makes a controller, which does nothing until it runs.
func New(kit *work.Kit) *Controller {
	c := &Controller{
		storages: kit.Storages, etcd: kit.Etcd, decoder: kit.Decoder, log: kit.Log,
		prefix: strings.TrimSuffix(kit.Decoder.Prefix, "/") + "/",
		writer: kit.Writer(component, "generic-garbage-collector"),
		index:  newIndex(), unserved: map[id]bool{}, unreadable: map[string]bool{}, blind: map[task]bool{}, untold: map[id]map[id]bool{},
	}
	c.loop = work.NewLoop(component, mostAtOnce, kit.Metrics, kit.Log, c.quickly)
	c.slow = work.NewLoop(component+"-slow", slowAtOnce, kit.Metrics, kit.Log, c.slowly)
	c.telling = work.NewLoop(component+"-events", 1, kit.Metrics, kit.Log, c.try)
	c.index.wake = func(n *node) { c.add(task{collect, n.uid, id{}}) }
	c.index.release = func(n *node) { c.add(task{release, n.uid, id{}}) }
	c.index.invalid = c.invalid
	return c
}

// add queues a task because of the change at hand. The caller holds mu.
func (c *Controller) add(t task) { c.loop.Add(t, c.revision) }

// invalid queues the event about a reference into another namespace. The caller holds mu.
func (c *Controller) invalid(n *node, owner id) {
	if c.untold[n.uid] == nil {
		c.untold[n.uid] = map[id]bool{}
	}
	c.untold[n.uid][owner] = true
	c.telling.Add(task{tell, n.uid, owner}, c.revision)
}

// told lets an object be collected when all events about it have been tried: they name the object as it is. The caller
// holds mu.
func (c *Controller) told(t task, cause int64) {
	owners, waits := c.untold[t.uid]
	delete(owners, t.other)
	if waits && len(owners) == 0 {
		delete(c.untold, t.uid)
		c.loop.Add(task{collect, t.uid, id{}}, cause)
	}
}

// Run works until ctx ends, and returns when all has ended.
func (c *Controller) Run(ctx context.Context) {
	var running sync.WaitGroup
	for _, l := range c.loops() {
		running.Go(func() { l.Run(ctx) })
	}
	running.Wait()
}

func (c *Controller) loops() []*work.Loop[task] { return []*work.Loop[task]{c.loop, c.slow, c.telling} }

// State returns what it is about.
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

// try does a task because of a revision.
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
		c.told(t, cause)
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
