package proc

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

// SendLogs sends the warnings and errors of libraries to h from now on. Records below warnings are dropped, since a
// server logs its own actions. Its first call must come before any code that logs: klog's logger is set once, and later
// only the handler behind it changes.
func SendLogs(h slog.Handler) {
	latest.Store(&h)
	set()
}

// libraries is klog's handler. It passes records to the latest handler.
type libraries struct {
	// with adds the logger's attributes and groups. It may be nil.
	with func(slog.Handler) slog.Handler
}

func (libraries) handler() slog.Handler { return *latest.Load() }

// Enabled reports true for warnings and errors.
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
