package lease

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/klog/v2"

	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/server/builtin"
	"github.com/kx-apiserver/kx/server/controller/work"
	"github.com/kx-apiserver/kx/store"
)

const (
	// Name is the name of the Lease, in kube-system.
	Name = "kx-controllers"

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
	storages work.Storages
	identity string
	log      *slog.Logger
	// seen is the last known Lease. Only the election's goroutine uses it.
	seen *coordinationv1.Lease

	mu     sync.Mutex
	holder string
	// failure is the error of the last read of the Lease, nil if it succeeded.
	failure error
}

// New creates an Elector for a process. identity must be unique among the processes.
func New(storages work.Storages, identity string, log *slog.Logger) *Elector {
	return &Elector{storages: storages, identity: identity, log: log}
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
			"lease", e.Describe(), "error", err)
	}
	e.failure = err
}

// Run calls do whenever this process holds the Lease, until ctx ends, and returns when the last call has ended.
func (e *Elector) Run(ctx context.Context, do func(ctx context.Context)) {
	ctx = klog.NewContext(ctx, klog.Logger{}) // it says nothing
	var pause work.Backoff
	for ctx.Err() == nil {
		if err := e.term(ctx, do); err != nil {
			e.log.Warn("cannot ask for the Lease of the controllers: trying again", "error", err)
		}
		pause.Wait(ctx)
	}
}

// term waits for the Lease, and runs do until the Lease is lost.
func (e *Elector) term(ctx context.Context, do func(ctx context.Context)) error {
	held, over := make(chan context.Context), make(chan struct{})
	elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
		Lock: e, LeaseDuration: holds, RenewDeadline: renewsFor, RetryPeriod: retries, ReleaseOnCancel: true, Name: Name,
		Callbacks: leaderelection.LeaderCallbacks{
			OnStartedLeading: func(ctx context.Context) {
				select {
				case held <- ctx:
				case <-ctx.Done():
				}
			},
			OnStoppedLeading: func() {},
			OnNewLeader:      e.see,
		},
	})
	if err != nil {
		return err
	}
	go func() {
		defer close(over)
		elector.Run(ctx)
	}()
	select {
	case ctx := <-held:
		e.log.Info("this process holds the Lease of the controllers: they run here", "lease", e.Describe())
		do(ctx)
		<-over
		e.see("")
	case <-over:
	}
	return nil
}

// see records the holder of the Lease.
func (e *Elector) see(holder string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.holder = holder
}

// Identity returns the identity of this process, and Describe the name of the Lease.
func (e *Elector) Identity() string { return e.identity }
func (e *Elector) Describe() string { return metav1.NamespaceSystem + "/" + Name }

// RecordEvent creates no event: the Lease itself names its holder.
func (e *Elector) RecordEvent(string) {}

var _ resourcelock.Interface = &Elector{}

// storage is the storage of Leases.
type storage interface {
	rest.Getter
	rest.Creater
	rest.Updater
}

func (e *Elector) storage() (storage, error) {
	s, ok := e.storages()[leases].(storage)
	if !ok {
		return nil, apierrors.NewNotFound(Resource, Name)
	}
	return s, nil
}

func (e *Elector) request(ctx context.Context, verb string) context.Context {
	return store.Aside(work.As(ctx, work.APIServer, &request.RequestInfo{
		IsResourceRequest: true, Verb: verb, APIGroup: leases.Group, APIVersion: leases.Version, Resource: leases.Resource,
		Namespace: metav1.NamespaceSystem, Name: Name,
	}))
}

// Get returns the Lease in the election library's form.
func (e *Elector) Get(ctx context.Context) (*resourcelock.LeaderElectionRecord, []byte, error) {
	s, err := e.storage()
	if err != nil {
		return nil, nil, err
	}
	obj, err := s.Get(e.request(ctx, "get"), Name, &metav1.GetOptions{})
	if ctx.Err() == nil {
		e.read(err)
	}
	if err != nil {
		return nil, nil, err
	}
	lease, err := builtin.As[*coordinationv1.Lease](obj)
	if err != nil {
		return nil, nil, err
	}
	e.seen = lease
	record := resourcelock.LeaseSpecToLeaderElectionRecord(&lease.Spec)
	bytes, err := json.Marshal(record)
	return record, bytes, err
}

// Create creates the Lease.
func (e *Elector) Create(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	s, err := e.storage()
	if err != nil {
		return err
	}
	lease := &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceSystem, Name: Name},
		Spec:       resourcelock.LeaderElectionRecordToLeaseSpec(&record),
	}
	obj, err := s.Create(e.request(ctx, "create"), lease, rest.ValidateAllObjectFunc, &metav1.CreateOptions{})
	if err != nil {
		return err
	}
	e.seen, err = builtin.As[*coordinationv1.Lease](obj)
	return err
}

// Update takes the Lease, renews it or gives it back, unless another process has changed it since it was read.
func (e *Elector) Update(ctx context.Context, record resourcelock.LeaderElectionRecord) error {
	s, err := e.storage()
	if err != nil {
		return err
	}
	next := func(_ context.Context, _, old runtime.Object) (runtime.Object, error) {
		lease, err := builtin.As[*coordinationv1.Lease](old.DeepCopyObject())
		if err != nil {
			return nil, err
		}
		if e.seen == nil || lease.UID != e.seen.UID || lease.ResourceVersion != e.seen.ResourceVersion {
			return nil, apierrors.NewConflict(Resource, Name, errors.New("another process has changed it"))
		}
		lease.Spec = resourcelock.LeaderElectionRecordToLeaseSpec(&record)
		return lease, nil
	}
	obj, _, err := s.Update(e.request(ctx, "update"), Name, rest.DefaultUpdatedObjectInfo(nil, next),
		rest.ValidateAllObjectFunc, rest.ValidateAllObjectUpdateFunc, false, &metav1.UpdateOptions{})
	if err != nil {
		return err
	}
	e.seen, err = builtin.As[*coordinationv1.Lease](obj)
	return err
}
