package bootstrap

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kx-apiserver/kx/store"
)

// Config is what the tasks need.
type Config struct {
	// Handler serves the API.
	Handler http.Handler
	// Serves says whether the server has a resource.
	Serves func(schema.GroupVersionResource) bool
	// Address is where clients inside a cluster reach this server. With an invalid one it is no endpoint of the
	// service.
	Address netip.AddrPort
	// Leases has an object for each address at which a server is.
	Leases store.Interface
	// ClientCAs returns the authorities whose client certificates are accepted, in PEM.
	ClientCAs func() []byte
	// RolesKnown (optional) waits until the authorizer knows the roles that were made.
	RolesKnown func(context.Context) error
	// Proxy (optional) says in headers who asks, which extension API servers must know, too.
	Proxy *Proxy
	Log   *slog.Logger
}

// The names of the tasks are those of the hooks of the Kubernetes API server that do the same.
const (
	Authentication  = "start-cluster-authentication-info-controller"
	PriorityClasses = "scheduling/bootstrap-system-priority-classes"
	Service         = "bootstrap-controller"
	ServiceCIDR     = "start-kubernetes-service-cidr-controller"
	Roles           = "rbac/bootstrap-roles"
)

// task keeps some of the objects as they must be.
type task struct {
	name string
	// every is the pause before the next check; 0 means that one success is enough.
	every time.Duration
	// do makes an attempt. It may call goOn when a part of it is done: that begins its time anew.
	do func(ctx context.Context, goOn func()) error
	// most is how long that time is, if it is more than attemptMost.
	most time.Duration

	next time.Time
	// failures is how many attempts have failed since one that did not.
	failures int
}

// Tasks do their work while Run runs.
type Tasks struct {
	config Config
	client *client
	tasks  []*task
	// large are those that take longer: they begin when the others have been tried, and hold up none of them.
	large []*task
	// tried is called with the name of each task after its first attempt.
	tried func(name string)
}

const (
	// leaseTime is how long a server that does not renew its lease is an endpoint, and reconcileEvery how often it
	// does.
	leaseTime      = 15 * time.Second
	reconcileEvery = 10 * time.Second
	// lookEvery is the pause between checks of objects that only others change.
	lookEvery = time.Minute
	// retryAfter is the first pause before a failed task is tried again. The next ones are longer. attemptMost is how
	// long one attempt may take. That at some hundred roles and bindings has rolesMost for each of them: the server is
	// ready after it, with all of them also where the disk is slow and others make them at the same time.
	retryAfter  = time.Second
	attemptMost = 5 * time.Second
	rolesMost   = 30 * time.Second
)

// New makes the tasks, which are tried in this order. tried is called after the first attempt of each.
func New(c Config, tried func(name string)) *Tasks {
	t := &Tasks{config: c, client: newClient(c.Handler), tried: tried}
	t.tasks = []*task{
		{name: ServiceCIDR, every: lookEvery, do: t.serviceCIDR},
		{name: Service, every: reconcileEvery, do: t.service},
		{name: PriorityClasses, do: t.priorityClasses},
		{name: Authentication, every: lookEvery, do: t.authentication},
	}
	// The most objects, so the others come first, and none waits for them: not the lease of this server either.
	t.large = []*task{{name: Roles, do: t.roles, most: rolesMost}}
	return t
}

// Run does the tasks until ctx ends, and then takes this server out of the endpoints.
func (t *Tasks) Run(ctx context.Context) {
	next := t.round(ctx, t.tasks, true)
	var large sync.WaitGroup
	large.Go(func() { t.keep(ctx, t.large, t.round(ctx, t.large, true)) })
	t.keep(ctx, t.tasks, next)
	t.leave(context.WithoutCancel(ctx))
	large.Wait()
}

// keep does tasks when they are due, the first of them next, until ctx ends.
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

// round tries what is due of some tasks, and returns when something is due next.
func (t *Tasks) round(ctx context.Context, tasks []*task, first bool) time.Time {
	soonest := time.Now().Add(lookEvery)
	for _, task := range tasks {
		if !task.next.After(time.Now()) && (first || task.failures > 0 || task.every > 0) {
			t.try(ctx, task)
		}
		if first {
			t.tried(task.name)
		}
		if (task.failures > 0 || task.every > 0) && task.next.Before(soonest) {
			soonest = task.next
		}
	}
	return soonest
}

// try makes one attempt. It logs a failure once, and again only after a success.
func (t *Tasks) try(ctx context.Context, task *task) {
	attempt, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	most := max(attemptMost, task.most)
	late := time.AfterFunc(most, func() { cancel(context.DeadlineExceeded) })
	defer late.Stop()
	err := task.do(attempt, func() { late.Reset(most) })
	if err != nil && context.Cause(attempt) == context.DeadlineExceeded {
		err = fmt.Errorf("nothing came of it for %s: %w", most, err)
	}
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

// pause is how long to wait after a failure: never longer than between checks, so that a lease does not end.
func (t *task) pause() time.Duration {
	longest := t.every
	if longest == 0 {
		longest = lookEvery
	}
	return min(retryAfter<<min(t.failures, 6), longest)
}

// ensure creates an object, unless it is there.
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
