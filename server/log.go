package server

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"
)

// stuckAfter is the time without progress after which the log counts as stuck.
const stuckAfter = 30 * time.Second

// logWatch knows whether the server's log is stuck, for instance on a pipe that nothing reads. A request that logs
// hangs then, too.
type logWatch struct {
	logger *slog.Logger

	// mu guards the fields below it. It is not held while a record is written.
	mu sync.Mutex
	// writing is the number of records that are being written, and progress the time when the first of them began or
	// when the latest one ended.
	writing  int
	progress time.Time
}

// watchLog returns a watch whose logger writes to log.
func watchLog(log *slog.Logger) *logWatch {
	w := &logWatch{}
	w.logger = slog.New(watchedHandler{log.Handler(), w})
	return w
}

// ready returns an error while the log is stuck.
func (w *logWatch) ready(context.Context) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.writing > 0 && time.Since(w.progress) > stuckAfter {
		return errors.New("the log does not take what is written to it")
	}
	return nil
}

// note counts records: 1 for the beginning of one, -1 for its end.
func (w *logWatch) note(change int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.writing == 0 || change < 0 {
		w.progress = time.Now()
	}
	w.writing += change
}

// watchedHandler tells the watch when it writes.
type watchedHandler struct {
	slog.Handler
	watch *logWatch
}

// Handle writes a record.
func (h watchedHandler) Handle(ctx context.Context, r slog.Record) error {
	h.watch.note(1)
	defer h.watch.note(-1)
	return h.Handler.Handle(ctx, r)
}

// WithAttrs adds attributes to all records.
func (h watchedHandler) WithAttrs(attrs []slog.Attr) slog.Handler {
	return watchedHandler{h.Handler.WithAttrs(attrs), h.watch}
}

// WithGroup opens a group in all records.
func (h watchedHandler) WithGroup(name string) slog.Handler {
	return watchedHandler{h.Handler.WithGroup(name), h.watch}
}
