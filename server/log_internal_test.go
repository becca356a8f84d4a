package server

import (
	"io"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"
)

// TestStuckLog writes to a log that nobody reads: the check fails until somebody does.
func TestStuckLog(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		from, to := io.Pipe()
		watch := watchLog(slog.New(slog.NewTextHandler(to, nil)))
		go watch.logger.With("a", 1).WithGroup("b").Info("one")
		synctest.Wait()
		if err := watch.ready(t.Context()); err != nil {
			t.Errorf("at once: %v", err)
		}
		time.Sleep(stuckAfter + 1)
		if err := watch.ready(t.Context()); err == nil {
			t.Error("a stuck log is ready")
		}
		go io.Copy(io.Discard, from)
		synctest.Wait()
		if err := watch.ready(t.Context()); err != nil {
			t.Errorf("a log that goes on: %v", err)
		}
		to.Close()
	})
}
