package cache

import (
	"context"
	"net/url"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/tui/api"
	"github.com/kx-apiserver/kx/tui/screen"
)

const (
	cachesPath = api.KX + "/caches"
	// pollEvery is the interval between two polls of the server.
	pollEvery = time.Second
	// pollLimit is the timeout of a poll.
	pollLimit = 10 * time.Second
)

// answer is the server's last answer.
type answer struct {
	caches *metav1.Table
	// one is the chosen cache, with its watches; nil if it is unknown.
	one *v1alpha1.Cache
	err error
}

// poller polls the server on a goroutine of its own, while the screen is shown. mu guards the fields below it.
type poller struct {
	host   screen.Host
	cancel context.CancelFunc
	kick   chan struct{}

	mu     sync.Mutex
	want   string // the chosen cache
	latest *answer
}

func startPoller(life context.Context, host screen.Host, want string) *poller {
	ctx, cancel := context.WithCancel(life)
	p := &poller{host: host, cancel: cancel, kick: make(chan struct{}, 1), want: want}
	go func() {
		defer host.Guard()
		p.run(ctx)
	}()
	return p
}

func (p *poller) run(ctx context.Context) {
	timer := time.NewTimer(pollEvery)
	defer timer.Stop()
	for {
		a := p.ask(ctx)
		if ctx.Err() != nil {
			return
		}
		p.mu.Lock()
		p.latest = a
		p.mu.Unlock()
		p.host.Changed()
		timer.Reset(pollEvery)
		select {
		case <-timer.C:
		case <-p.kick:
		case <-ctx.Done():
			return
		}
	}
}

func (p *poller) ask(ctx context.Context) *answer {
	ctx, cancel := context.WithTimeout(ctx, pollLimit)
	defer cancel()
	list, err := p.host.API().Table(ctx, cachesPath)
	if err != nil {
		return &answer{err: err}
	}
	p.mu.Lock()
	want := p.want
	p.mu.Unlock()
	a := &answer{caches: list}
	if want == "" && len(list.Rows) > 0 {
		want = nameIn(list.Rows[0])
	}
	if want == "" {
		return a
	}
	var one v1alpha1.Cache
	switch err := p.host.API().Get(ctx, cachesPath+"/"+url.PathEscape(want), nil, &one); {
	case err == nil:
		a.one = &one
	case api.Code(err) == 0:
		a.err = err
	}
	return a
}

// choose selects the cache to poll with its watches, and polls at once if it is another.
func (p *poller) choose(name string) {
	p.mu.Lock()
	same := p.want == name
	p.want = name
	p.mu.Unlock()
	if !same {
		p.pollNow()
	}
}

// pollNow polls at once.
func (p *poller) pollNow() {
	select {
	case p.kick <- struct{}{}:
	default:
	}
}

// take returns the answer since the last call, or nil.
func (p *poller) take() *answer {
	p.mu.Lock()
	defer p.mu.Unlock()
	a := p.latest
	p.latest = nil
	return a
}
