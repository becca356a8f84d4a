package cacher_test

import (
	"context"
	"errors"
	"net/http"
	"sync/atomic"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kx-apiserver/kx/store/cacher"
	"github.com/kx-apiserver/kx/store/embedded/embedtest"
	"github.com/kx-apiserver/kx/store/transform"
)

// lock is a transformer whose values can't be read while it is shut.
type lock struct {
	transform.Transformer
	shut atomic.Bool
	// found, if there is one, is called after it was found shut and before the error is told.
	found func()
}

func newLock() *lock {
	l := &lock{Transformer: transform.NewIdentity()}
	l.shut.Store(true)
	return l
}

func (l *lock) TransformFromStorage(ctx context.Context, data []byte, at transform.Context) ([]byte, bool, error) {
	if l.shut.Load() {
		if l.found != nil {
			l.found()
		}
		return nil, false, errors.New("there is no key")
	}
	return l.Transformer.TransformFromStorage(ctx, data, at)
}

// shows says what a watch that begins with the state is told first.
func shows(t *testing.T, r *rig) string {
	w := watchFrom(t, r.cached, "0", nil)
	defer w.Stop()
	e := next(t, w)
	if e.Type == watch.Error {
		if code := e.Object.(*metav1.Status).Code; code != http.StatusInternalServerError {
			t.Fatalf("%+v", e.Object)
		}
		return "unreadable"
	}
	return describe(e)
}

// TestRereadWhileReading: keys come while the cache is being filled, by what could not be read without them.
func TestRereadWhileReading(t *testing.T) {
	client := embedtest.Shared(t).Client()
	t.Cleanup(func() { _ = client.Close() })
	keys, read, goOn := newLock(), make(chan struct{}, 1), make(chan struct{})
	keys.found = func() {
		select {
		case read <- struct{}{}:
			<-goOn
		default:
		}
	}
	r := &rig{prefix: embedtest.Prefix()}
	r.raw = openWith(t, client, r.prefix, keys)
	if err := r.raw.Create(t.Context(), key("ns", "a"), panda("ns", "a", "red"), nil, 0); err != nil {
		t.Fatal(err)
	}
	c, err := cacher.NewCacherFromConfig(r.config())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Stop)
	r.cacher, r.cached = c, c
	ready := make(chan error, 1)
	go func() { ready <- c.WaitUntilReady(t.Context()) }()
	<-read
	keys.shut.Store(false)
	c.Reread()
	close(goOn)
	if err := <-ready; err != nil {
		t.Fatal(err)
	}
	until(t, "the object can be read", func() bool { return shows(t, r) == "ADDED ns/a" })
}

// TestRereadWhileBroken: keys come while nothing can be read at all.
func TestRereadWhileBroken(t *testing.T) {
	client := embedtest.Shared(t).Client()
	t.Cleanup(func() { _ = client.Close() })
	keys := newLock()
	r := &rig{prefix: embedtest.Prefix()}
	r.raw = openWith(t, client, r.prefix, keys)
	if err := r.raw.Create(t.Context(), key("ns", "a"), panda("ns", "a", "red"), nil, 0); err != nil {
		t.Fatal(err)
	}
	faults := newHeld(r.raw)
	r.start(t, func(c *cacher.Config) { c.Storage = faults })
	if got := shows(t, r); got != "unreadable" {
		t.Errorf("without a key: %s", got)
	}
	faults.hold = make(chan struct{})
	faults.fail <- errors.New("lost")
	until(t, "the cache is broken", func() bool { return r.cacher.Inspect().State == cacher.Broken })
	keys.shut.Store(false)
	r.cacher.Reread()
	close(faults.hold)
	until(t, "the object can be read", func() bool { return shows(t, r) == "ADDED ns/a" })
}
