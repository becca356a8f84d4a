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
	// pollEvery is how often the server is asked.
	pollEvery = time.Second
	// pollLimit is how long an answer may take.
	pollLimit = 10 * time.Second
)

// answer is what the server said last.
type answer struct {
	caches *metav1.Table
	// one is the chosen cache, with its watches; nil if it is not known.
	one *v1alpha1.Cache
	err error
}

// poller asks the server again and again, on a goroutine of its own, as long as the screen is seen.
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

// choose says which cache is asked for with its watches, at once if it is another.
func (p *poller) choose(name string) {
	p.mu.Lock()
	same := p.want == name
	p.want = name
	p.mu.Unlock()
	if !same {
		p.now()
	}
}

// now asks at once.
func (p *poller) now() {
	select {
	case p.kick <- struct{}{}:
	default:
	}
}

// take is what came since the last time, or nil.
func (p *poller) take() *answer {
	p.mu.Lock()
	defer p.mu.Unlock()
	a := p.latest
	p.latest = nil
	return a
}
