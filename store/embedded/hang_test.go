package embedded_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/kx-apiserver/kx/store/datadir"
	"github.com/kx-apiserver/kx/store/embedded"
)

// TestStartWithoutLeaderIsGivenUp starts an etcd that never leads, since a second member was added to it that nobody runs.
// When the start is given up, all of it ends and the directory is free.
func TestStartWithoutLeaderIsGivenUp(t *testing.T) {
	// Not t.TempDir, whose path can be longer than a socket's may be.
	dir, err := os.MkdirTemp("", "kx")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	config := embedded.Config{Dir: dir, Ephemeral: true, Socket: filepath.Join(dir, embedded.SocketName)}
	first := start(t, config)
	if _, err := client(t, first).MemberAdd(t.Context(), []string{"http://localhost:1"}); err != nil {
		t.Fatal(err)
	}
	first.Close()
	ctx, cancel := context.WithCancelCause(t.Context())
	again, err := embedded.Begin(ctx, config)
	if err != nil {
		t.Fatal(err)
	}
	cancel(errors.New("told to stop"))
	ended := make(chan error, 1)
	go func() { ended <- again.Ready(ctx) }()
	select {
	case err := <-ended:
		if err == nil || !strings.Contains(err.Error(), "told to stop") {
			t.Errorf("got %v", err)
		}
	case <-time.After(3 * time.Minute):
		t.Fatal("it hangs")
	}
	if _, err := datadir.ReadDatabase(datadir.DatabasePath(dir)); err != nil {
		t.Errorf("the database: %v", err)
	}
}
