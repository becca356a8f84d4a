package filter

import (
	"context"
	"net/http"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/kx-apiserver/kx/core/steps"
	"github.com/kx-apiserver/kx/core/trace"
)

// Drain counts requests, so that a server can stop when they are done. It signals long-running ones that the server is
// about to stop. mu guards closed and pending.
type Drain struct {
	mu      sync.Mutex
	closed  bool
	pending int
	empty   chan struct{} // closed once closed and nothing is pending
	signal  shutdownSignal
}

// NewDrain returns a Drain that accepts requests.
func NewDrain() *Drain {
	return &Drain{empty: make(chan struct{}), signal: make(shutdownSignal)}
}

// shutdownSignal notifies watches, through their context, that the server stops.
type shutdownSignal chan struct{}

func (s shutdownSignal) ShuttingDown() <-chan struct{} { return s }

// Close refuses further requests and ends watches. It may be called once.
func (d *Drain) Close() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = true
	close(d.signal)
	if d.pending == 0 {
		close(d.empty)
	}
}

// Wait waits, after Close, until the last request is done.
func (d *Drain) Wait(ctx context.Context) error {
	select {
	case <-d.empty:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (d *Drain) enter() bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return false
	}
	d.pending++
	return true
}

func (d *Drain) leave() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.pending--
	if d.closed && d.pending == 0 {
		close(d.empty)
	}
}

var (
	servedWhileStopping = trace.Because("served-while-stopping",
		"the server is stopping, but the path does not name a resource",
		"服务正在停机，但路径中没有资源")
	serverStopping = trace.Because("server-stopping", "the server is stopping", "服务正在停机")
)

// WithWaitGroup counts the request in and out, and refuses it if the server is stopping. Health checks are answered to
// the end, since load balancers learn from them that the server stops.
func WithWaitGroup(next Handler, c *Config) Handler {
	return func(ctx context.Context, w http.ResponseWriter, r *http.Request) {
		ctx, step := trace.Start(ctx, steps.FilterWaitGroup, "")
		if !c.Drain.enter() {
			if info, ok := request.RequestInfoFrom(ctx); ok && !info.IsResourceRequest {
				step.Why(servedWhileStopping)
				step.End(nil)
				next(ctx, w, r)
				return
			}
			err := apierrors.NewServiceUnavailable("apiserver is shutting down")
			step.Why(serverStopping)
			step.End(nil)
			w.Header().Set("Retry-After", "1")
			w.Header().Set("Connection", "close")
			c.fail(ctx, w, r, err)
			return
		}
		defer c.Drain.leave()
		step.End(nil)
		next(request.WithServerShutdownSignal(ctx, c.Drain.signal), w, r)
	}
}
