package server_test

import (
	"log/slog"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/kx-apiserver/kx/server/options"
)

// TestStopsAtOnce starts servers that make their initial objects, and stops them while their controllers still work on these.
// None of them writes to an etcd that is closed.
func TestStopsAtOnce(t *testing.T) {
	before, text := len(libraries.String()), &log{}
	to := slog.New(slog.NewTextHandler(text, &slog.HandlerOptions{Level: slog.LevelWarn}))
	var started, stopped errgroup.Group
	for range 20 {
		started.Go(func() error {
			_, stop, err := launchLogging(to, nil, func(o *options.Options) { o.InitialObjects = true })
			if err == nil {
				stopped.Go(stop)
			}
			return err
		})
	}
	must(t, started.Wait())
	must(t, stopped.Wait())
	for line := range strings.Lines(text.String() + libraries.String()[before:]) {
		if !strings.Contains(line, `msg="etcd: `) { // etcd warns of a busy machine
			t.Error(line)
		}
	}
}
