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

// Storage is a storage that a cacher can stand in front of.
type Storage interface {
	store.Interface
	store.EncodedSource
}

// Config configures a Cacher.
type Config struct {
	// Storage is the cached storage. It belongs to the caller, and must outlive the cacher.
	Storage Storage
	// ResourcePrefix begins all keys of the resource, such as "/configmaps".
	ResourcePrefix string
	// GroupResource is for metrics and messages.
	GroupResource schema.GroupResource
	// NewFunc makes an empty object of the resource.
	NewFunc func() runtime.Object
	// GetAttrsFunc returns the labels and fields for selectors.
	GetAttrsFunc store.AttrFunc
	// Trigger names at most one field: a watch that selects one value of it is only shown events with that value.
	Trigger store.IndexerFuncs

	// Prefill fills the cache at once, without waiting for the first read.
	Prefill bool
	// Fills bounds how many caches fill at the same time: each takes a place in it meanwhile. nil is no bound.
	Fills chan struct{}
	// Control has the faults that disturb the cache; nil has none.
	Control *trace.Control
	// Log receives failures; nil drops them.
	Log *slog.Logger

	// Metrics count for all cachers of a server. nil makes metrics of this cacher alone, without a registry.
	Metrics *metrics.Metrics

	// Limits bounds memory and waits; a zero field means its default.
	Limits Limits
}

// Limits bound a cacher.
type Limits struct {
	// Events are kept for HistoryWindow, unless HistoryMax or HistoryBytes is exceeded before. The last HistoryMin
	// are kept longer.
	HistoryWindow          time.Duration
	HistoryMin, HistoryMax int
	HistoryBytes           int
	// Wait limits how long a read waits for a revision that the cache has not seen.
	Wait time.Duration
	// BookmarkPeriod is the interval of bookmarks for watchers that want them.
	BookmarkPeriod time.Duration
	// PageSize is the number of objects in one page while the cache fills.
	PageSize int64
}

// defaultLimits are for a server.
var defaultLimits = Limits{
	HistoryWindow:  75 * time.Second,
	HistoryMin:     100,
	HistoryMax:     100_000,
	HistoryBytes:   32 << 20,
	Wait:           3 * time.Second,
	BookmarkPeriod: time.Minute,
}

func (l Limits) orDefault() Limits {
	d := defaultLimits
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
