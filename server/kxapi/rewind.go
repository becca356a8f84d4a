package kxapi

import (
	"context"
	"errors"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/store/admin"
	"github.com/kx-apiserver/kx/store/etcd3"
)

// Rewinds holds what rewinds need of the server.
type Rewinds struct {
	// Allowed is true on a server that keeps nothing.
	Allowed bool
	// Pin keeps etcd's history from a revision on until the function that it returns is called.
	Pin func(revision int64) (unpin func())
	// Stays reports whether a key is the server's own, which no rewind changes.
	Stays func(key string) bool
	// Gate is passed by each write of the server.
	Gate *etcd3.Gate
	// Learn waits until the server knows the writes up to a revision of each resource. It must not need a write.
	Learn func(ctx context.Context, latest map[schema.GroupResource]int64) error
	// Settle waits until the server has done what follows from these writes, for which it may have to write.
	Settle func(ctx context.Context, latest map[schema.GroupResource]int64) error
}

// settleMost limits the wait for the server to know what a rewind wrote, and the wait for what follows from it.
const settleMost = 10 * time.Second

// RewindREST is the storage of snapshots/rewind. Creating one rewinds; it is not kept.
type RewindREST struct{ snapshots *snapshots }

func (r *RewindREST) New() runtime.Object { return &v1alpha1.Rewind{} }
func (r *RewindREST) Destroy()            {}

// Create brings all objects back to what they were at a snapshot, and returns when the server knows them.
func (r *RewindREST) Create(ctx context.Context, name string, obj runtime.Object, validate rest.ValidateObjectFunc,
	options *metav1.CreateOptions) (runtime.Object, error) {
	made := obj.(*v1alpha1.Rewind).DeepCopy()
	if err := r.snapshots.refuse(name); err != nil {
		return nil, err
	}
	e := r.snapshots.find(name)
	if e == nil {
		return nil, apierrors.NewNotFound(snapshotResource, name)
	}
	if len(options.DryRun) > 0 {
		return nil, apierrors.NewBadRequest("a rewind can't be tried: leave out dryRun")
	}
	if err := validate(ctx, made.DeepCopy()); err != nil {
		return nil, err
	}
	select {
	case r.snapshots.turn <- struct{}{}:
		defer func() { <-r.snapshots.turn }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	start := time.Now()
	done, err := r.rewind(ctx, e)
	if err != nil {
		return nil, err
	}
	if err := within(ctx, r.snapshots.rewinds.Settle, done); err != nil {
		return nil, err
	}
	made.Name, made.CreationTimestamp = name, metav1.NewTime(start)
	made.Status = v1alpha1.RewindStatus{
		Revision: done.Revision, Written: done.Written, Removed: done.Removed, TookMicros: time.Since(start).Microseconds(),
	}
	return made, nil
}

// rewind writes the difference while no write of this server passes the gate. When the gate opens, all that the server
// decides by has the state of the snapshot.
func (r *RewindREST) rewind(ctx context.Context, to *snapshot) (*admin.RewindResult, error) {
	open, err := r.snapshots.rewinds.Gate.Shut(ctx)
	if err != nil {
		return nil, fmt.Errorf("wait for the writes that are under way: %w", err)
	}
	defer open()
	done, err := to.rewinder.Run(ctx)
	if err != nil {
		return nil, rewindError(to.object.Name, err)
	}
	return done, within(ctx, r.snapshots.rewinds.Learn, done)
}

// within calls a function that waits for the server to follow a rewind.
func within(ctx context.Context, wait func(context.Context, map[schema.GroupResource]int64) error, done *admin.RewindResult) error {
	ctx, cancel := context.WithTimeout(ctx, settleMost)
	defer cancel()
	if err := wait(ctx, done.Latest); err != nil {
		return apierrors.NewInternalError(fmt.Errorf("etcd is rewound, but the server does not know it after %s: %w", settleMost, err))
	}
	return nil
}

// rewindError converts the error of a rewind for clients.
func rewindError(name string, err error) error {
	if moving := (*admin.BusyError)(nil); errors.As(err, &moving) {
		return apierrors.NewConflict(snapshotResource, name, moving)
	}
	if errors.Is(err, admin.ErrCompacted) {
		return expired("the snapshot %s can't be rewound to: %v; someone else compacted it: take another snapshot", name, err)
	}
	return keyError(err)
}
