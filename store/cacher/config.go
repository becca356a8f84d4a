package cacher

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/store"
	"github.com/kx-apiserver/kx/store/cacher/metrics"
)

// Storage is what a cacher can stand in front of.
type Storage interface {
	store.Interface
	store.EncodedSource
}

// Config says what a cacher keeps.
type Config struct {
	// Storage is what is cached. It stays the caller's, and must outlive the cacher.
	Storage Storage
	// ResourcePrefix begins all keys of the resource, such as "/configmaps".
	ResourcePrefix string
	// GroupResource is for metrics and messages.
	GroupResource schema.GroupResource
	// NewFunc makes an empty object of the resource.
	NewFunc func() runtime.Object
	// GetAttrsFunc is what selectors may look at.
	GetAttrsFunc store.AttrFunc
	// Trigger names at most one field: a watch that selects one value of it is only shown events with that value.
	Trigger store.IndexerFuncs

	// Prefill has the cache filled at once, and not when somebody reads.
	Prefill bool
	// Fills bounds how many caches are filled at a time: each takes a place in it meanwhile. nil is no bound.
	Fills chan struct{}
	// Control has the faults that disturb the cache; nil has none.
	Control *trace.Control
	// Log is told of failures; nil tells nobody.
	Log *slog.Logger

	// Metrics count what all cachers of a server do; nil is metrics of this cacher alone, which nobody reads.
	Metrics *metrics.Metrics

	// Limits is what may be kept and waited for; zero fields are the defaults.
	Limits Limits
}

// Limits bound a cacher.
type Limits struct {
	// HistoryWindow is how long events are kept, if neither their number nor their size is too large before. The last
	// HistoryMin are kept longer.
	HistoryWindow          time.Duration
	HistoryMin, HistoryMax int
	HistoryBytes           int
	// Wait is how long a read waits for a revision that the cache has not seen.
	Wait time.Duration
	// BookmarkPeriod is how often watchers that want bookmarks get one.
	BookmarkPeriod time.Duration
	// PageSize is how many objects are read at a time when the cache is filled.
	PageSize int64
}

// DefaultLimits are for a server.
var DefaultLimits = Limits{
	HistoryWindow:  75 * time.Second,
	HistoryMin:     100,
	HistoryMax:     100_000,
	HistoryBytes:   32 << 20,
	Wait:           3 * time.Second,
	BookmarkPeriod: time.Minute,
}

func (l Limits) orDefault() Limits {
	d := DefaultLimits
	return Limits{
		HistoryWindow:  or(l.HistoryWindow, d.HistoryWindow),
		HistoryMin:     or(l.HistoryMin, d.HistoryMin),
		HistoryMax:     or(l.HistoryMax, d.HistoryMax),
		HistoryBytes:   or(l.HistoryBytes, d.HistoryBytes),
		Wait:           or(l.Wait, d.Wait),
		BookmarkPeriod: or(l.BookmarkPeriod, d.BookmarkPeriod),
		PageSize:       or(l.PageSize, d.PageSize),
	}
}

func or[T comparable](value, otherwise T) T {
	var zero T
	if value == zero {
		return otherwise
	}
	return value
}

func (c *Config) validate() error {
	var err error
	switch {
	case c.Storage == nil:
		err = errors.New("no storage to cache")
	case c.NewFunc == nil || c.GetAttrsFunc == nil:
		err = errors.New("needs a function that makes an empty object, and one that says what selectors may look at")
	case !strings.HasPrefix(c.ResourcePrefix, "/") || strings.Trim(c.ResourcePrefix, "/") == "":
		err = fmt.Errorf("resourcePrefix %q is not a path below /", c.ResourcePrefix)
	case len(c.Trigger) > 1:
		err = errors.New("more than one trigger")
	}
	if err != nil {
		return fmt.Errorf("cacher of %s: %w", c.GroupResource, err)
	}
	return nil
}
