package cacher

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/metadata"

	"github.com/kx-apiserver/kx/store"
	"github.com/kx-apiserver/kx/store/cacher/metrics"
)

// Cacher is a storage with a cache in front of it. The cache keeps the present state of one resource and its latest
// events, and answers reads and watches. Writes go to the storage, which tries the cached object first.
//
// It runs three goroutines. The reflector fills the cache, applies changes as they come and hands them to watchers.
// The progress requester asks etcd for its revision while a reader waits for it. The keeper sends bookmarks and drops
// what is old. All of them start with the first read or watch: a cacher without clients has no goroutine and costs
// etcd nothing. A watch has a goroutine only while it is behind.
type Cacher struct {
	Storage

	config  Config
	limits  Limits
	prefix  string // the resource's, with a slash at its end
	trigger string // the field that events are dispatched by, if any
	log     *slog.Logger
	metrics *metrics.Cache

	watchCache *watchCache
	state      stateHolder
	progress   chan struct{} // somebody waits for etcd's revision
	answered   chan struct{} // etcd has told it
	wakeKeeper chan struct{}
	dispatcher dispatcher
	past       past
	revisions  asker
	written    writeLog
	marks      marks
	counts     counts
	epoch      atomic.Int64             // how many histories etcd had; written under the dispatcher's mu
	follows    atomic.Int64             // how many watches of etcd were begun
	late       atomic.Pointer[lateness] // while changes are held back

	// following is the context of the watch on which etcd reports its progress; nil while there is none. asking
	// guards it, and is held during the request, so that no request outlives its watch.
	asking    sync.Mutex
	following context.Context

	// begun says that the goroutines have started. It is set under beginning, under which Stop cancels too.
	beginning sync.Mutex
	begun     atomic.Bool
	check     time.Duration // how often the cache is compared with etcd; 0 is never

	ctx     context.Context
	cancel  context.CancelFunc
	running sync.WaitGroup
	// keys counts the moments at which undecryptable values may have become readable. The reflector reads with the
	// keys of readWith, or newer ones.
	keys     atomic.Int64
	readWith int64
	// leave gives up etcd's watch; nil while there is none.
	leave atomic.Pointer[context.CancelCauseFunc]
}

var (
	_ store.Interface      = &Cacher{}
	_ store.EncodedStorage = &Cacher{}
)

// counts tells reads that the cache answered from those that went to etcd.
type counts struct{ hits, fallbacks atomic.Int64 }

// NewCacherFromConfig makes a cacher. It begins to fill itself with the first read or watch, or at once if the Config
// says so; until it is filled everything is read from the storage. Stop ends it.
func NewCacherFromConfig(config Config) (*Cacher, error) {
	if err := config.validate(); err != nil {
		return nil, err
	}
	check, err := checkPeriod()
	if err != nil {
		return nil, err
	}
	if config.Metrics == nil {
		config.Metrics = metrics.New(nil, nil)
	}
	limits := config.Limits.orDefault()
	c := &Cacher{
		Storage:  config.Storage,
		config:   config,
		limits:   limits,
		prefix:   strings.TrimSuffix(config.ResourcePrefix, "/") + "/",
		log:      config.Log,
		metrics:  config.Metrics.For(config.GroupResource),
		progress: make(chan struct{}, 1),
		answered: make(chan struct{}, 1),
		check:    check,

		wakeKeeper: make(chan struct{}, 1),
	}
	if c.log == nil {
		c.log = slog.New(slog.DiscardHandler)
	}
	for field := range config.Trigger {
		c.trigger = field
	}
	c.watchCache = &watchCache{
		metrics: c.metrics,
		tree:    newTree(),
		history: history{limits: historyLimits{
			window: limits.HistoryWindow, min: limits.HistoryMin, max: limits.HistoryMax, maxBytes: limits.HistoryBytes}},
		wake:      c.requestProgress,
		waitLimit: limits.Wait,
	}
	c.dispatcher.init(c)
	c.past.cacher = c
	c.state.init()
	c.revisions.ask, c.revisions.seen = config.Storage.GetCurrentResourceVersion, c.watchCache.revision.Load
	// The cache's watch and its requests for progress share a stream that no other watch is on, not even another
	// cache's: while one of those catches up, requests would be lost, and an answer that etcd made before this watch
	// was there would be taken for one about it, though it has not sent this watch's changes. The cacher's address
	// names the stream.
	ctx := metadata.AppendToOutgoingContext(context.Background(), "source", fmt.Sprintf("cache-%p", c))
	c.ctx, c.cancel = context.WithCancel(ctx)
	c.watchCache.stopped = c.ctx.Done()
	config.Storage.OnWrite(c.wrote)
	if config.Prefill {
		c.begin()
	}
	return c, nil
}

// begin starts the goroutines, and says whether it was this call that did.
func (c *Cacher) begin() bool {
	if c.begun.Load() {
		return false
	}
	c.beginning.Lock()
	defer c.beginning.Unlock()
	if c.begun.Load() || c.ctx.Err() != nil {
		return false
	}
	c.begun.Store(true)
	c.running.Go(c.reflect)
	c.running.Go(c.requestProgressWhileWaiting)
	c.running.Go(c.keep)
	if c.check > 0 {
		c.running.Go(func() { c.keepChecking(c.check) })
	}
	return true
}

// asked begins to fill the cache for a read, and reports whether that was the first one.
func (c *Cacher) asked(ctx context.Context) bool {
	return !c.begun.Load() && !store.IsAside(ctx) && c.begin()
}

// Stop ends the cacher and all its watches, and waits for that. Further calls do nothing.
func (c *Cacher) Stop() {
	c.beginning.Lock()
	c.cancel()
	c.beginning.Unlock()
	c.dispatcher.close()
	c.past.close()
	c.running.Wait()
	c.metrics.Forget()
}

// ReadinessCheck returns why the cache is not filled, or nil. A cache that its first reader fills makes no reader
// wait, since etcd answers meanwhile: before its first fill it counts as ready.
func (c *Cacher) ReadinessCheck() error {
	switch now := c.state.get(); now.State {
	case Uninitialized, Refilling:
		if now.State == Uninitialized && !c.config.Prefill {
			return nil
		}
		if now.Err != nil {
			return errors.Join(store.ErrStorageNotReady, now.Err)
		}
		return store.ErrStorageNotReady
	}
	return nil
}

// WaitUntilReady asks for the cache and waits until it has been filled. One that is stopped never is.
func (c *Cacher) WaitUntilReady(ctx context.Context) error {
	c.begin()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stop := context.AfterFunc(c.ctx, cancel)
	defer stop()
	return c.state.waitFilled(ctx)
}

// WaitUntilFresh waits until a cache that is filled has seen a revision. Others are filled with what etcd has then.
func (c *Cacher) WaitUntilFresh(ctx context.Context, revision int64) error {
	if c.state.get().State != Fresh {
		return nil
	}
	err := c.watchCache.waitUntilFresh(ctx, revision)
	if errors.Is(err, errStopping) {
		return nil
	}
	return err
}
