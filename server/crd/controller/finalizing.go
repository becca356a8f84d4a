package controller

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
	"github.com/kx-apiserver/kx/server/crd/lister"
	storage "github.com/kx-apiserver/kx/store"
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

	shortestFinalizingPause = 20 * time.Millisecond
	longestFinalizingPause  = 5 * time.Second
	// mostAtOnce limits the definitions that are emptied at a time. Each of the others costs a waiting
	// goroutine.
	mostAtOnce = 4
)

// finalizing deletes the objects of a definition that is being deleted, and then removes its finalizer.
//
// In come definitions from the lister and, from the [CRClientGetter], the storage of their objects. Out go
// deletions, the condition Terminating, and at the end an update that removes the finalizer
// customresourcecleanup.apiextensions.k8s.io, which ends the definition.
//
//	InstanceDeletionPending     DELETE has marked the definition; its objects can no longer be created
//	InstanceDeletionInProgress  the objects are being deleted, in all namespaces; their finalizers may delay it
//	InstanceDeletionFailed      they can't be read or deleted: tried again
//	InstanceDeletionCheck       some still exist after a minute: tried again
//	InstanceDeletionCompleted, NeverEstablished, OverlappingBuiltInResource
//	                            nothing is left to do, and the definition goes
//
// Upstream checks every 5 seconds whether the objects are gone. kx first checks after some milliseconds, and
// then less and less often.
//
// Another process may have admitted a create before it saw the definition terminating, and that create may
// still be on its way to etcd. So an empty list counts only if the definition was seen terminating some time
// ago, longer than a create takes. Upstream accepts the first empty list.
//
// # Invariants
//
//  1. The finalizer is removed only after a list of all objects, read from storage, was empty.
//  2. Only this definition's objects are deleted: no other can have its name while the finalizer exists, and
//     the UID is checked before each attempt.
//  3. Any number of processes may do this at once. Work that another process has already done is no error.
//  4. A few definitions with many objects do not delay the others.
type finalizing struct {
	lister  *lister.Lister
	status  statusWriter
	objects CRClientGetter
	log     *slog.Logger

	queue   *queue
	slots   chan struct{}
	running sync.WaitGroup

	// mu guards ending, the current deletions. They are UIDs, since a new definition may take the name before
	// the deletion ends.
	mu     sync.Mutex
	ending map[types.UID]bool
}

// newFinalizing creates a controller. It receives changes once the lister runs.
func newFinalizing(l *lister.Lister, status statusWriter, objects CRClientGetter, log *slog.Logger) *finalizing {
	const what = "delete the objects of a CustomResourceDefinition"
	c := &finalizing{
		lister: l, status: status, objects: objects, log: log,
		queue: newQueue(what, status.Gate, log), slots: make(chan struct{}, mostAtOnce), ending: map[types.UID]bool{},
	}
	l.Subscribe(func(_, now *Definition) {
		if isEnding(now) {
			c.queue.Add(now.Name)
		}
	})
	return c
}

func isEnding(d *Definition) bool {
	return d != nil && d.DeletionTimestamp != nil && apihelpers.CRDHasFinalizer(d, apiextensionsv1.CustomResourceCleanupFinalizer)
}

// Run works until ctx ends.
func (c *finalizing) Run(ctx context.Context) {
	defer c.running.Wait()
	c.queue.Run(ctx, func(ctx context.Context, names []string) nameFailures {
		for _, name := range names {
			if d := c.lister.Get(name); isEnding(d) {
				c.begin(ctx, name, d.UID)
			}
		}
		return nil
	})
}

// begin starts a goroutine for a definition unless it has one.
func (c *finalizing) begin(ctx context.Context, name string, uid types.UID) {
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
		// After a rewind it may be there with its old UID, and may have been deleted again before this.
		if d := c.lister.Get(name); isEnding(d) {
			c.queue.Add(name)
		}
	})
}

// end empties a definition and removes its finalizer, in as many attempts as it takes.
func (c *finalizing) end(ctx context.Context, name string, uid types.UID) {
	since := time.Now()
	for pause := shortestFinalizingPause; ctx.Err() == nil; pause = min(2*pause, longestFinalizingPause) {
		done, err := c.attempt(ctx, name, uid, since)
		if done {
			return
		}
		if err != nil && !errors.Is(err, errChanged) && !errors.Is(err, storage.ErrRewound) && ctx.Err() == nil {
			c.log.Warn("cannot delete the objects of a CustomResourceDefinition that is being deleted: trying again",
				"definition", name, "error", err)
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
		}
	}
}

// attempt makes one attempt when a slot is free. It is a decision: its writes fail after a rewind. It recovers from a
// panic, which would end the process.
func (c *finalizing) attempt(ctx context.Context, name string, uid types.UID, since time.Time) (done bool, err error) {
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
	ctx = c.status.Gate.Decide(ctx)
	d := c.lister.Get(name)
	if !isEnding(d) || d.UID != uid {
		return true, nil
	}
	return c.empty(ctx, d, since)
}

// empty deletes the present objects, writes the condition, and removes the finalizer if no object is left.
func (c *finalizing) empty(ctx context.Context, d *Definition, since time.Time) (done bool, err error) {
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
