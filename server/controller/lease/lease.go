package lease

import (
	"context"
	"errors"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/server/builtin"
	"github.com/kx-apiserver/kx/server/controller/work"
	"github.com/kx-apiserver/kx/store"
)

const (
	// Name is the name of the Lease, in kube-system.
	Name = "kx-controllers"
	// described is the Lease in logs.
	described = metav1.NamespaceSystem + "/" + Name

	// These are kube-controller-manager's.
	holds     = 15 * time.Second
	renewsFor = 10 * time.Second
	retries   = 2 * time.Second
)

var (
	leases = coordinationv1.SchemeGroupVersion.WithResource("leases")
	// Resource is the resource of Leases.
	Resource = leases.GroupResource()
)

// Elector runs a function in one of several processes. mu guards holder and failure.
type Elector struct {
	find     work.Storage
	identity string
	log      *slog.Logger
	// seen is the last known Lease, nil if it does not exist, and since the time at which its spec was first seen: the
	// clocks of other processes may be wrong. Only the goroutine of Run uses them.
	seen  *coordinationv1.Lease
	since time.Time

	mu     sync.Mutex
	holder string
	// failure is the error of the last read of the Lease, nil if it succeeded.
	failure error
}

// New creates an Elector for a process. identity must be unique among the processes.
func New(find work.Storage, identity string, log *slog.Logger) *Elector {
	return &Elector{find: find, identity: identity, log: log}
}

// Holder returns the last known holder of the Lease, and whether that is this process.
func (e *Elector) Holder() (name string, own bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.holder, e.holder == e.identity
}

// Failure returns the error of the last read of the Lease, nil if it succeeded. With an error, the holder is
// unknown.
func (e *Elector) Failure() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.failure
}

// read records whether the Lease could be read, and logs the first failure.
func (e *Elector) read(err error) {
	if apierrors.IsNotFound(err) {
		err = nil
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if err != nil && e.failure == nil {
		e.log.Warn("cannot read the Lease of the controllers: trying again, and until then they run in no process that asks for it",
			"lease", described, "error", err)
	}
	e.failure = err
}

// Run calls do whenever this process holds the Lease, until ctx ends, and returns when the last call has ended.
func (e *Elector) Run(ctx context.Context, do func(ctx context.Context)) {
	var pause work.Backoff
	for e.acquire(ctx) {
		e.log.Info("this process holds the Lease of the controllers: they run here", "lease", described)
		e.term(ctx, do)
		pause.Wait(ctx)
	}
}

// acquire asks for the Lease until this process holds it. It returns false if ctx ends first.
func (e *Elector) acquire(ctx context.Context) bool {
	for ctx.Err() == nil {
		if e.try(ctx) {
			return true
		}
		work.Sleep(ctx, retries+rand.N(retries*6/5)) // not all processes at the same time
	}
	return false
}

// term runs do until the Lease is lost, and gives the Lease back when do has ended.
func (e *Elector) term(ctx context.Context, do func(ctx context.Context)) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var running sync.WaitGroup
	running.Go(func() { do(ctx) })
	e.renew(ctx)
	stop()
	running.Wait()
	e.release()
	e.see("")
}

// renew renews the Lease until ctx ends, or until all attempts have failed for some time.
func (e *Elector) renew(ctx context.Context) {
	for work.Sleep(ctx, retries) {
		limited, cancel := context.WithTimeout(ctx, renewsFor)
		renewed := e.try(limited)
		for !renewed && work.Sleep(limited, retries) {
			renewed = e.try(limited)
		}
		cancel()
		if !renewed {
			return
		}
	}
}

// see records the holder of the Lease.
func (e *Elector) see(holder string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.holder = holder
}

// seenHolder returns the holder in the last known Lease.
func (e *Elector) seenHolder() string {
	if e.seen == nil || e.seen.Spec.HolderIdentity == nil {
		return ""
	}
	return *e.seen.Spec.HolderIdentity
}

// seenValid reports whether the last known Lease has been renewed lately.
func (e *Elector) seenValid() bool {
	if e.seen == nil || e.seen.Spec.LeaseDurationSeconds == nil {
		return false
	}
	return time.Since(e.since) < time.Duration(*e.seen.Spec.LeaseDurationSeconds)*time.Second
}

// try takes or renews the Lease, and reports whether this process holds it now.
func (e *Elector) try(ctx context.Context) bool {
	if e.seenHolder() == e.identity && e.seenValid() && e.update(ctx, e.leaseSpec()) == nil {
		return true // it need not be read: nobody else has changed it
	}
	switch err := e.get(ctx); {
	case apierrors.IsNotFound(err):
		return e.create(ctx, e.leaseSpec()) == nil
	case err != nil:
		return false
	}
	holder := e.seenHolder()
	e.see(holder)
	if holder != "" && holder != e.identity && e.seenValid() {
		return false
	}
	return e.update(ctx, e.leaseSpec()) == nil
}

// leaseSpec returns the spec of a Lease that this process takes, or renews.
func (e *Elector) leaseSpec() coordinationv1.LeaseSpec {
	now := metav1.NowMicro()
	spec := coordinationv1.LeaseSpec{
		HolderIdentity: &e.identity, LeaseDurationSeconds: new(int32(holds / time.Second)), AcquireTime: &now, RenewTime: &now,
		LeaseTransitions: new(e.transitions()),
	}
	switch {
	case e.seen == nil:
	case e.seenHolder() != e.identity:
		*spec.LeaseTransitions++
	case e.seen.Spec.AcquireTime != nil:
		spec.AcquireTime = e.seen.Spec.AcquireTime
	}
	return spec
}

// transitions returns how often the holder has changed so far.
func (e *Elector) transitions() int32 {
	if e.seen == nil || e.seen.Spec.LeaseTransitions == nil {
		return 0
	}
	return *e.seen.Spec.LeaseTransitions
}

// release gives the Lease back if this process holds it.
func (e *Elector) release() {
	ctx, cancel := context.WithTimeout(context.Background(), renewsFor) // that of the server may have ended
	defer cancel()
	for {
		if err := e.get(ctx); err != nil || e.seenHolder() != e.identity {
			return
		}
		now := metav1.NowMicro()
		err := e.update(ctx, coordinationv1.LeaseSpec{
			HolderIdentity: new(""), LeaseDurationSeconds: new(int32(1)), AcquireTime: &now, RenewTime: &now,
			LeaseTransitions: new(e.transitions()),
		})
		if !apierrors.IsConflict(err) {
			return
		}
	}
}

// storage is the storage of Leases.
type storage interface {
	rest.Getter
	rest.Creater
	rest.Updater
}

func (e *Elector) storage() (storage, error) {
	s, ok := e.find(leases).(storage)
	if !ok {
		return nil, apierrors.NewNotFound(Resource, Name)
	}
	return s, nil
}

func (e *Elector) request(ctx context.Context, verb string) context.Context {
	return store.WithAside(work.WithRequest(ctx, work.APIServer, &request.RequestInfo{
		IsResourceRequest: true, Verb: verb, APIGroup: leases.Group, APIVersion: leases.Version, Resource: leases.Resource,
		Namespace: metav1.NamespaceSystem, Name: Name,
	}))
}

// get reads the Lease.
func (e *Elector) get(ctx context.Context) error {
	s, err := e.storage()
	if err != nil {
		return err
	}
	obj, err := s.Get(e.request(ctx, "get"), Name, &metav1.GetOptions{})
	if ctx.Err() == nil {
		e.read(err)
	}
	if apierrors.IsNotFound(err) {
		e.seen = nil
	}
	if err != nil {
		return err
	}
	return e.keep(obj, false)
}

// keep keeps a Lease as the last known one. renewed is true if this process has just written it.
func (e *Elector) keep(obj runtime.Object, renewed bool) error {
	lease, err := builtin.As[*coordinationv1.Lease](obj)
	if err != nil {
		return err
	}
	if renewed || e.seen == nil || !apiequality.Semantic.DeepEqual(e.seen.Spec, lease.Spec) {
		e.since = time.Now()
	}
	e.seen = lease
	if renewed {
		e.see(e.seenHolder())
	}
	return nil
}

// create creates the Lease.
func (e *Elector) create(ctx context.Context, spec coordinationv1.LeaseSpec) error {
	s, err := e.storage()
	if err != nil {
		return err
	}
	lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceSystem, Name: Name}, Spec: spec}
	obj, err := s.Create(e.request(ctx, "create"), lease, rest.ValidateAllObjectFunc, &metav1.CreateOptions{})
	if err != nil {
		return err
	}
	return e.keep(obj, true)
}

// update changes the Lease, unless another process has changed it since it was read.
func (e *Elector) update(ctx context.Context, spec coordinationv1.LeaseSpec) error {
	s, err := e.storage()
	if err != nil {
		return err
	}
	next := func(_ context.Context, _, old runtime.Object) (runtime.Object, error) {
		lease, err := builtin.As[*coordinationv1.Lease](old.DeepCopyObject())
		if err != nil {
			return nil, err
		}
		if lease.UID != e.seen.UID || lease.ResourceVersion != e.seen.ResourceVersion {
			return nil, apierrors.NewConflict(Resource, Name, errors.New("another process has changed it"))
		}
		lease.Spec = spec
		return lease, nil
	}
	obj, _, err := s.Update(e.request(ctx, "update"), Name, rest.DefaultUpdatedObjectInfo(nil, next),
		rest.UpdateAdmission{}, &metav1.UpdateOptions{})
	if err != nil {
		return err
	}
	return e.keep(obj, true)
}
