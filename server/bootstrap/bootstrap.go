package bootstrap

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kx-apiserver/kx/store"
)

// Config holds what the tasks need.
type Config struct {
	// Handler serves the API.
	Handler http.Handler
	// Serves reports whether the server has a resource.
	Serves func(schema.GroupVersionResource) bool
	// Address is the server's address for clients inside a cluster. With an invalid one the server is no
	// endpoint of the service.
	Address netip.AddrPort
	// ServiceIPs is the range of cluster IPs that the server creates. The service of the API has its first address.
	ServiceIPs netip.Prefix
	// Leases stores an object for the address of each server.
	Leases store.Interface
	// ClientCAs returns the authorities of accepted client certificates, in PEM.
	ClientCAs func() []byte
	// RolesKnown (optional) waits until the authorizer knows the created roles.
	RolesKnown func(context.Context) error
	// Proxy (optional) names users in request headers. Extension API servers must trust it, too.
	Proxy *Proxy
	Log   *slog.Logger
}

// The names of the tasks are those of the corresponding hooks of the Kubernetes API server.
const (
	Authentication  = "start-cluster-authentication-info-controller"
	PriorityClasses = "scheduling/bootstrap-system-priority-classes"
	Service         = "bootstrap-controller"
	ServiceCIDR     = "start-kubernetes-service-cidr-controller"
	Roles           = "rbac/bootstrap-roles"
)

// task keeps some of the objects correct. One goroutine uses all but its name and tried.
type task struct {
	name string
	// tried is true after the first attempt.
	tried atomic.Bool
	// every is the pause before the next check; with 0, one success is enough.
	every time.Duration
	// do makes an attempt. It may call goOn when a part is done: that restarts the attempt's time limit.
	do func(ctx context.Context, goOn func()) error
	// most is that time limit, if it is more than attemptMost.
	most time.Duration

	next time.Time
	// failures counts the failed attempts since the last success.
	failures int
}

// Tasks performs the tasks while Run runs.
type Tasks struct {
	config Config
	client *client
	tasks  []*task
	// large lists the longer tasks: they start when the others have been tried, and hold up none of them.
	large []*task
	// leased is true after this server has renewed its lease. Only Run uses it.
	leased bool
}

const (
	// leaseTime is the time after which a server that does not renew its lease stops being an endpoint. It
	// renews it every reconcileEvery.
	leaseTime      = 15 * time.Second
	reconcileEvery = 10 * time.Second
	// lookEvery is the pause between checks of objects that only other clients change.
	lookEvery = time.Minute
	// retryAfter is the first pause after a failure. The next ones are longer. attemptMost limits each part of an
	// attempt. The attempt at some hundred roles and bindings has rolesMost for each of them: the server is ready only
	// after it, and must have all of them, even with a slow disk and while other servers create them at the same time.
	retryAfter  = time.Second
	attemptMost = 5 * time.Second
	rolesMost   = 30 * time.Second
)

// New creates the tasks, in the order of their attempts.
func New(c Config) *Tasks {
	t := &Tasks{config: c, client: newClient(c.Handler)}
	t.tasks = []*task{
		{name: ServiceCIDR, every: lookEvery, do: t.serviceCIDR},
		{name: Service, every: reconcileEvery, do: t.service},
		{name: PriorityClasses, do: t.priorityClasses},
		{name: Authentication, every: lookEvery, do: t.authentication},
	}
	// The roles are the most objects. They run last and separately, so that no task waits for them, not even
	// this server's lease.
	t.large = []*task{{name: Roles, do: t.roles, most: rolesMost}}
	return t
}

// Tried reports whether the first attempt of a task is over.
func (t *Tasks) Tried(name string) bool {
	for _, task := range slices.Concat(t.tasks, t.large) {
		if task.name == name {
			return task.tried.Load()
		}
	}
	return false
}

// Run performs the tasks until ctx ends, and then removes this server from the endpoints.
func (t *Tasks) Run(ctx context.Context) {
	next := t.round(ctx, t.tasks, true)
	var large sync.WaitGroup
	large.Go(func() { t.keep(ctx, t.large, t.round(ctx, t.large, true)) })
	t.keep(ctx, t.tasks, next)
	t.leave(context.WithoutCancel(ctx))
	large.Wait()
}

// keep performs tasks when they are due, the first of them at next, until ctx ends.
func (t *Tasks) keep(ctx context.Context, tasks []*task, next time.Time) {
	for {
		timer := time.NewTimer(time.Until(next))
		select {
		case <-timer.C:
			next = t.round(ctx, tasks, false)
		case <-ctx.Done():
			timer.Stop()
			return
		}
	}
}

// round tries the tasks that are due, and returns the time of the next one.
func (t *Tasks) round(ctx context.Context, tasks []*task, first bool) time.Time {
	soonest := time.Now().Add(lookEvery)
	for _, task := range tasks {
		if !task.next.After(time.Now()) && (first || task.failures > 0 || task.every > 0) {
			t.try(ctx, task)
		}
		if first {
			task.tried.Store(true)
		}
		if (task.failures > 0 || task.every > 0) && task.next.Before(soonest) {
			soonest = task.next
		}
	}
	return soonest
}

// try makes one attempt. It logs a failure once, and again only after a success.
func (t *Tasks) try(ctx context.Context, task *task) {
	most := max(attemptMost, task.most)
	err := attempt(ctx, most, task.do)
	if err != nil && task.failures == 0 && ctx.Err() == nil {
		t.config.Log.Warn("cannot make what every cluster has: trying again", "task", task.name, "error", err)
	}
	if err == nil {
		task.failures = 0
		task.next = time.Now().Add(task.every)
		return
	}
	task.next = time.Now().Add(task.pause())
	task.failures++
}

// attempt calls do with a context that ends when do has not called goOn for the time most.
func attempt(ctx context.Context, most time.Duration, do func(ctx context.Context, goOn func()) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	late := time.AfterFunc(most, func() { cancel(context.DeadlineExceeded) })
	defer late.Stop()
	err := do(ctx, func() { late.Reset(most) })
	if err != nil && context.Cause(ctx) == context.DeadlineExceeded {
		err = fmt.Errorf("nothing came of it for %s: %w", most, err)
	}
	return err
}

// pause returns the pause after a failure. It is never longer than between checks, so that a lease does not
// expire.
func (t *task) pause() time.Duration {
	longest := t.every
	if longest == 0 {
		longest = lookEvery
	}
	return min(retryAfter<<min(t.failures, 6), longest)
}

// ensure creates an object, unless it exists.
func (t *Tasks) ensure(ctx context.Context, collection, name string, obj any) error {
	err := t.client.get(ctx, collection+"/"+name, &struct{}{})
	if !apierrors.IsNotFound(err) {
		return err
	}
	if err := t.client.create(ctx, collection, obj); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("make %s: %w", name, err)
	}
	return nil
}
