package work

import (
	"context"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/kx-apiserver/kx/core/rest"
)

// Storages returns the currently installed storages.
type Storages func() map[schema.GroupVersionResource]rest.Storage

// Storage returns the storage of a built-in resource, nil if that is not served.
type Storage func(schema.GroupVersionResource) rest.Storage

// APIServer is the user for the server's own requests.
var APIServer user.Info = &user.DefaultInfo{Name: user.APIServerUser, Groups: []string{user.SystemPrivilegedGroup}}

// ServiceAccount returns the user of a controller's service account.
func ServiceAccount(name string) user.Info {
	return serviceaccount.UserInfo(metav1.NamespaceSystem, name, "")
}

// WithRequest returns the context of a controller's request.
func WithRequest(ctx context.Context, who user.Info, info *request.RequestInfo) context.Context {
	ctx = request.WithUser(ctx, who)
	ctx = request.WithNamespace(ctx, info.Namespace)
	return request.WithRequestInfo(ctx, info)
}

// Backoff computes the pause before the next attempt.
type Backoff struct {
	// Next is the next pause, at least ShortestPause.
	Next time.Duration
}

// The limits of pauses between attempts.
const (
	ShortestPause = 100 * time.Millisecond
	LongestPause  = 10 * time.Second
)

// Wait waits, longer each time. It returns false if ctx has ended.
func (b *Backoff) Wait(ctx context.Context) bool {
	b.Next = max(b.Next, ShortestPause)
	now := b.Next
	b.Next = min(2*b.Next, LongestPause)
	return Sleep(ctx, now)
}

// Sleep waits. It returns false if ctx ends before the time is over.
func Sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}
