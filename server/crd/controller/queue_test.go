package controller

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
)

// messages collects what is logged.
type messages struct {
	mu   sync.Mutex
	text strings.Builder
}

func (m *messages) Write(p []byte) (int, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.text.Write(p)
}

func (m *messages) String() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.text.String()
}

// run runs a queue until what is done with its batches says that it is over.
func run(t *testing.T, q *queue, batch func(names []string) (f nameFailures, over bool)) {
	t.Helper()
	defer goleak.VerifyNone(t, goleak.IgnoreCurrent())
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	over := false
	q.Run(ctx, func(_ context.Context, names []string) nameFailures {
		f, end := batch(names)
		if end {
			over = true
			cancel()
		}
		return f
	})
	if !over {
		t.Fatal("what was waited for did not come")
	}
}

func TestBatches(t *testing.T) {
	q := newQueue("test", nil, slog.New(slog.DiscardHandler))
	for _, name := range []string{"b", "a", "b", "c"} {
		q.Add(name)
	}
	var batches []string
	run(t, q, func(names []string) (nameFailures, bool) {
		batches = append(batches, strings.Join(names, " "))
		if len(batches) == 1 {
			q.Add("d")
			q.Add("a") // while it is worked on
		}
		return nil, len(batches) == 2
	})
	if !slices.Equal(batches, []string{"b a c", "d a"}) {
		t.Errorf("batches are %q", batches)
	}
}

func TestFailures(t *testing.T) {
	log := &messages{}
	q := newQueue("test", nil, slog.New(slog.NewTextHandler(log, nil)))
	attempts := map[string]int{}
	for _, name := range []string{"broken", "changed", "later", "panics"} {
		q.Add(name)
	}
	run(t, q, func(names []string) (nameFailures, bool) {
		f := eachName(names, 2, func(name string) error {
			switch {
			case name == "changed":
				return fmt.Errorf("write: %w", errChanged)
			case name == "later" && attempts[name] < 3:
				return errLater
			case name == "broken" && attempts[name] < 3:
				return errors.New("no answer")
			case name == "panics" && attempts[name] < 3:
				panic("nil map")
			}
			return nil
		})
		for _, name := range names {
			attempts[name]++
		}
		return f, attempts["broken"] == 4 && attempts["later"] == 4 && attempts["panics"] == 4
	})
	if attempts["changed"] != 1 {
		t.Errorf("what has changed was tried %d times", attempts["changed"])
	}
	if text := log.String(); strings.Count(text, "definition=broken") != 3 || strings.Count(text, "definition=panics") != 3 || strings.Contains(text, "definition=later") {
		t.Errorf("the log says:\n%s", text)
	}
}

// TestPanicOfABatch has a batch that panics as a whole.
func TestPanicOfABatch(t *testing.T) {
	q := newQueue("test", nil, slog.New(slog.DiscardHandler))
	q.Add("a")
	q.Add("b")
	n := 0
	run(t, q, func(names []string) (nameFailures, bool) {
		if n++; n == 1 {
			panic("nil map")
		}
		slices.Sort(names)
		return nil, slices.Equal(names, []string{"a", "b"})
	})
}

// TestOtherNames has a batch that works on more than it was given: what fails of that is tried again too.
func TestOtherNames(t *testing.T) {
	q := newQueue("test", nil, slog.New(slog.DiscardHandler))
	q.Add("a")
	run(t, q, func(names []string) (nameFailures, bool) {
		if names[0] == "a" {
			return nameFailures{"b": errLater}, false
		}
		return nil, names[0] == "b"
	})
}
