package linear

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/tui/session"
)

// interrupter ends a context at the first write after the greeting.
type interrupter struct {
	cancel context.CancelFunc
	writes int
}

func (i *interrupter) Write(p []byte) (int, error) {
	if i.writes++; i.writes == 2 {
		i.cancel()
	}
	return len(p), nil
}

// TestInterrupted interrupts a command while the next one waits.
func TestInterrupted(t *testing.T) {
	for range 200 {
		ctx, cancel := context.WithCancel(t.Context())
		s := session.NewArchive(nil, trace.Catalogue{}, func() {}, func() {})
		err := Run(ctx, strings.NewReader(strings.Repeat("help\n", 9)), &interrupter{cancel: cancel}, Options{Session: s})
		if err != nil && !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
		s.Close()
	}
}
