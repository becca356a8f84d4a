package controller

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/kx-apiserver/kx/core/rest"
)

// Storages returns the storages that are installed at present.
type Storages func() map[schema.GroupVersionResource]rest.Storage

// Start starts the controllers for the installed storages, and returns when the namespaces that every server has exist. ctx bounds
// only that. Without initialObjects, flow schemas, priority levels and APIServices are left to clients. stop ends the controllers
// and waits for them.
func Start(ctx context.Context, storages Storages, initialObjects bool, log *slog.Logger) (stop func()) {
	life, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	if initialObjects {
		if c := newFlowControl(storages, log); c != nil {
			running.Go(func() { c.run(life) })
		}
		if c := newAPIServices(storages, log); c != nil {
			running.Go(func() { c.run(life) })
		}
	}
	stopNamespaces := func() {}
	if namespaces := newNamespaces(storages, log); namespaces != nil {
		namespaces.start(ctx)
		stopNamespaces = namespaces.stop
	}
	return func() {
		cancel()
		stopNamespaces()
		running.Wait()
	}
}

var (
	apiServer = &user.DefaultInfo{Name: user.APIServerUser, Groups: []string{user.SystemPrivilegedGroup}}

	namespaceController = serviceAccount("namespace-controller")
)

// serviceAccount returns the user that a controller acts as.
func serviceAccount(name string) user.Info {
	const namespace = "kube-system"
	return serviceaccount.UserInfo(namespace, name, "")
}

// as returns the context of a request that a controller makes.
func as(ctx context.Context, who user.Info, info *request.RequestInfo) context.Context {
	ctx = request.WithUser(ctx, who)
	ctx = request.WithNamespace(ctx, info.Namespace)
	return request.WithRequestInfo(ctx, info)
}

// backoff computes the pause before the next attempt.
type backoff struct {
	next time.Duration
}

const (
	shortestPause = 100 * time.Millisecond
	longestPause  = 10 * time.Second
)

// wait waits, longer each time. It returns false if ctx has ended.
func (b *backoff) wait(ctx context.Context) bool {
	b.next = max(b.next, shortestPause)
	timer := time.NewTimer(b.next)
	defer timer.Stop()
	b.next = min(2*b.next, longestPause)
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
