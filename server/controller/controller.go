package controller

import (
	"context"
	"log/slog"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/kx-apiserver/kx/core/rest"
)

// Storages are those that are installed now.
type Storages func() map[schema.GroupVersionResource]rest.Storage

// Start starts the controllers of what the server has, and returns when what a server must have at its start is there.
// ctx bounds that alone: stop ends the controllers, and returns when they have ended.
func Start(ctx context.Context, storages Storages, log *slog.Logger) (stop func()) {
	namespaces := newNamespaces(storages, log)
	if namespaces == nil {
		return func() {}
	}
	namespaces.start(ctx)
	return namespaces.stop
}

var (
	apiServer = &user.DefaultInfo{Name: user.APIServerUser, Groups: []string{user.SystemPrivilegedGroup}}

	namespaceController = serviceAccount("namespace-controller")
)

// serviceAccount is the user that a controller is.
func serviceAccount(name string) user.Info {
	const namespace = "kube-system"
	return serviceaccount.UserInfo(namespace, name, "")
}

// as is the context of a request that a controller makes.
func as(ctx context.Context, who user.Info, info *request.RequestInfo) context.Context {
	ctx = request.WithUser(ctx, who)
	ctx = request.WithNamespace(ctx, info.Namespace)
	return request.WithRequestInfo(ctx, info)
}

// backoff is how long to wait before the next attempt.
type backoff struct {
	next time.Duration
}

const (
	shortestPause = 100 * time.Millisecond
	longestPause  = 10 * time.Second
)

// wait waits, longer each time, and says whether there is anything left to wait for: ctx has not ended.
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
