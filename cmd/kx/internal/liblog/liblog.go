// Package liblog decides where the logs of libraries go.
//
// In come handlers, one after the other. Out goes what a library warns of, to the latest of them: what a server does,
// it says itself.
//
// Invariant: klog's logger is set once, since nothing may log meanwhile. From then on only the handler behind it
// changes.
package liblog

import (
	"context"
	"log/slog"
	"sync"
	"sync/atomic"

	"k8s.io/klog/v2"
)

var (
	latest atomic.Pointer[slog.Handler]
	set    = sync.OnceFunc(func() { klog.SetSlogLogger(slog.New(libraries{})) })
)

// SendTo sends the warnings and errors of libraries to h from now on. It must have been called once before anything
// that logs runs.
func SendTo(h slog.Handler) {
	latest.Store(&h)
	set()
}

// libraries is the handler that klog knows.
type libraries struct {
	// with adds what its logger always says. It may be nil.
	with func(slog.Handler) slog.Handler
}

func (libraries) handler() slog.Handler { return *latest.Load() }

// Enabled lets warnings and errors pass.
func (l libraries) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= slog.LevelWarn && l.handler().Enabled(ctx, level)
}

// Handle sends a record to the latest handler.
func (l libraries) Handle(ctx context.Context, r slog.Record) error {
	h := l.handler()
	if l.with != nil {
		h = l.with(h)
	}
	return h.Handle(ctx, r)
}

// WithAttrs adds attributes to all records.
func (l libraries) WithAttrs(attrs []slog.Attr) slog.Handler {
	return l.and(func(h slog.Handler) slog.Handler { return h.WithAttrs(attrs) })
}

// WithGroup opens a group in all records.
func (l libraries) WithGroup(name string) slog.Handler {
	return l.and(func(h slog.Handler) slog.Handler { return h.WithGroup(name) })
}

func (l libraries) and(more func(slog.Handler) slog.Handler) slog.Handler {
	if before := l.with; before != nil {
		return libraries{func(h slog.Handler) slog.Handler { return more(before(h)) }}
	}
	return libraries{more}
}
