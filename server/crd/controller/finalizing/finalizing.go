package finalizing

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"
	"time"

	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/server/crd/controller/work"
	"github.com/kx-apiserver/kx/server/crd/lister"
)

// ListerCollectionDeleter lists and deletes a definition's objects in the storage version, so that a deletion
// needs no conversion.
type ListerCollectionDeleter interface {
	rest.Lister
	rest.CollectionDeleter
}

// CRClientGetter returns the storage of a definition's objects. It is called at each attempt, and its result is
// not kept.
type CRClientGetter interface {
	GetCustomResourceListerCollectionDeleter(crd *apiextensionsv1.CustomResourceDefinition) (ListerCollectionDeleter, error)
}

const (
	// settle is the time from seeing a definition terminating until an empty list of its objects counts.
	settle = 100 * time.Millisecond
	// patience is the time after which the condition reports remaining objects.
	patience = time.Minute

	shortestPause = 20 * time.Millisecond
	longestPause  = 5 * time.Second
	// mostAtOnce limits the definitions that are emptied at a time. Each of the others costs a waiting
	// goroutine.
	mostAtOnce = 4
)

// Controller empties definitions that are being deleted, each on a goroutine of its own until its finalizer is removed.
type Controller struct {
	lister  *lister.Lister
	status  work.Status
	objects CRClientGetter
	log     *slog.Logger

	queue   *work.Queue
	slots   chan struct{}
	running sync.WaitGroup

	// mu guards ending, the current deletions. They are UIDs, since a new definition may take the name before
	// the deletion ends.
	mu     sync.Mutex
	ending map[types.UID]bool
}

// New creates a controller. It receives changes once the lister runs.
func New(l *lister.Lister, status work.Status, objects CRClientGetter, log *slog.Logger) *Controller {
	const what = "delete the objects of a CustomResourceDefinition"
	c := &Controller{
		lister: l, status: status, objects: objects, log: log,
		queue: work.NewQueue(what, log), slots: make(chan struct{}, mostAtOnce), ending: map[types.UID]bool{},
	}
	l.Subscribe(func(_, now *work.Definition) {
		if isEnding(now) {
			c.queue.Add(now.Name)
		}
	})
	return c
}

func isEnding(d *work.Definition) bool {
	return d != nil && d.DeletionTimestamp != nil && apihelpers.CRDHasFinalizer(d, apiextensionsv1.CustomResourceCleanupFinalizer)
}

// Run works until ctx ends.
func (c *Controller) Run(ctx context.Context) {
	defer c.running.Wait()
	c.queue.Run(ctx, func(ctx context.Context, names []string) work.Failures {
		for _, name := range names {
			if d := c.lister.Get(name); isEnding(d) {
				c.begin(ctx, name, d.UID)
			}
		}
		return nil
	})
}

// begin starts a goroutine for a definition unless it has one.
func (c *Controller) begin(ctx context.Context, name string, uid types.UID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ending[uid] {
		return
	}
	c.ending[uid] = true
	c.running.Go(func() {
		c.end(ctx, name, uid)
		c.mu.Lock()
		delete(c.ending, uid)
		c.mu.Unlock()
	})
}

// end empties a definition and removes its finalizer, in as many attempts as it takes.
func (c *Controller) end(ctx context.Context, name string, uid types.UID) {
	since := time.Now()
	for pause := shortestPause; ctx.Err() == nil; pause = min(2*pause, longestPause) {
		done, err := c.attempt(ctx, name, uid, since)
		if done {
			return
		}
		if err != nil && !errors.Is(err, work.ErrChanged) && ctx.Err() == nil {
			c.log.Warn("cannot delete the objects of a CustomResourceDefinition that is being deleted: trying again",
				"definition", name, "error", err)
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
		}
	}
}

// attempt makes one attempt when a slot is free. It recovers from a panic, which would end the process.
func (c *Controller) attempt(ctx context.Context, name string, uid types.UID, since time.Time) (done bool, err error) {
	select {
	case c.slots <- struct{}{}:
	case <-ctx.Done():
		return false, ctx.Err()
	}
	defer func() { <-c.slots }()
	defer func() {
		if reason := recover(); reason != nil {
			done, err = false, fmt.Errorf("panic: %v\n%s", reason, debug.Stack())
		}
	}()
	d := c.lister.Get(name)
	if !isEnding(d) || d.UID != uid {
		return true, nil
	}
	return c.empty(ctx, d, since)
}

// empty deletes the present objects, writes the condition, and removes the finalizer if no object is left.
func (c *Controller) empty(ctx context.Context, d *work.Definition, since time.Time) (done bool, err error) {
	if !isBegun(d) {
		if d, err = c.say(ctx, d, inProgress); err != nil {
			return false, err
		}
	}
	if overlapping[groupResource{d.Spec.Group, d.Spec.Names.Plural}] {
		return c.letGo(ctx, d, overlappingBuiltIn)
	}
	wasEstablished := apihelpers.IsCRDConditionTrue(d, apiextensionsv1.Established)
	objects, err := c.objects.GetCustomResourceListerCollectionDeleter(d)
	switch {
	case err == nil:
	case !wasEstablished:
		return c.letGo(ctx, d, neverEstablished)
	default:
		err = fmt.Errorf("unable to find a custom resource client for %s.%s: %w", d.Status.AcceptedNames.Plural, d.Spec.Group, err)
		return false, c.fail(ctx, d, failed("could not list instances: %v", err), err)
	}
	left, failure, err := c.sweep(ctx, d, objects)
	switch {
	case err != nil:
		return false, c.fail(ctx, d, failure, err)
	case left && time.Since(since) > patience:
		_, err = c.say(ctx, d, remaining)
		return false, err
	case left:
		_, err = c.say(ctx, d, inProgress)
		return false, err
	case time.Since(since) < settle:
		return false, nil
	case !wasEstablished:
		return c.letGo(ctx, d, neverEstablished)
	}
	return c.letGo(ctx, d, completed)
}
