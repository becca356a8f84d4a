package etcd3_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/kx-apiserver/kx/store"
	"github.com/kx-apiserver/kx/store/etcd3"
)

// gated opens a store with a gate of its own.
func gated(t testing.TB) (closer, *etcd3.Gate) {
	t.Helper()
	gate := &etcd3.Gate{}
	s, _, _ := shared(t, func(o *etcd3.Options) { o.Gate = gate })
	return s, gate
}

func shut(t testing.TB, gate *etcd3.Gate) (open func()) {
	t.Helper()
	open, err := gate.Shut(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return open
}

// all returns the objects of a store, by name, with their revisions.
func all(t testing.TB, s store.Interface) map[string]string {
	t.Helper()
	list, revisions := &corev1.ConfigMapList{}, map[string]string{}
	if err := s.GetList(t.Context(), "/configmaps/", everything, list); err != nil {
		t.Fatal(err)
	}
	for i := range list.Items {
		revisions[list.Items[i].Name] = list.Items[i].ResourceVersion
	}
	return revisions
}

// TestGate: while writers of several objects go on and on, nothing is written from the moment that the gate is shut until
// it opens, and all writers go on afterwards.
func TestGate(t *testing.T) {
	t.Parallel()
	s, gate := gated(t)
	ctx, stop := context.WithCancel(t.Context())
	var writers sync.WaitGroup
	defer writers.Wait()
	defer stop()
	wrote := make([]chan struct{}, 4)
	for n := range wrote {
		wrote[n] = make(chan struct{})
		name := fmt.Sprintf("w%d", n)
		writers.Go(func() {
			for i := 0; ; i++ {
				var err error
				switch i % 3 {
				case 0:
					err = s.Create(ctx, key(name), configMap(name, "0"), &corev1.ConfigMap{}, 0)
				case 1:
					err = s.GuaranteedUpdate(ctx, key(name), &corev1.ConfigMap{}, setData(fmt.Sprint(i)), store.UpdateOptions{})
				default:
					err = s.Delete(ctx, key(name), &corev1.ConfigMap{}, store.ValidateAllObjectFunc, store.DeleteOptions{})
				}
				if ctx.Err() != nil {
					return
				}
				if err != nil {
					t.Errorf("write %d of %s: %v", i, name, err)
					return
				}
				select {
				case wrote[n] <- struct{}{}:
				default:
				}
			}
		})
	}
	for range 20 {
		for _, one := range wrote {
			<-one
		}
		open := shut(t, gate)
		first := all(t, s)
		for range 5 {
			if now := all(t, s); fmt.Sprint(now) != fmt.Sprint(first) {
				t.Errorf("the gate is shut: %v, and then %v", first, now)
			}
		}
		open()
	}
}

// TestGateWaits: what waits at the gate is judged by what is there when it opens.
func TestGateWaits(t *testing.T) {
	t.Parallel()
	s, gate := gated(t)
	made := create(t, s, "a", "old")
	open := shut(t, gate)

	short, end := context.WithCancel(t.Context())
	given := make(chan error)
	go func() { given <- s.Create(short, key("none"), configMap("none", ""), &corev1.ConfigMap{}, 0) }()
	end()
	if err := <-given; !errors.Is(err, context.Canceled) {
		t.Errorf("a writer that gave up: %v", err)
	}
	if _, err := gate.Shut(short); !errors.Is(err, context.Canceled) {
		t.Errorf("a second one that shuts it, and gives up: %v", err)
	}

	decided := gate.Decide(t.Context())
	late, old := make(chan error), make(chan error)
	go func() { late <- s.Create(decided, key("decided"), configMap("decided", ""), &corev1.ConfigMap{}, 0) }()
	go func() { old <- s.Create(t.Context(), key("client"), configMap("client", ""), &corev1.ConfigMap{}, 0) }()
	open()
	if err := <-late; !errors.Is(err, store.ErrRewound) {
		t.Errorf("a decision from before: %v", err)
	}
	if err := <-old; err != nil {
		t.Errorf("a client: %v", err)
	}
	update := func(ctx context.Context) error {
		return s.GuaranteedUpdate(ctx, key("a"), &corev1.ConfigMap{}, setData("new"), store.UpdateOptions{})
	}
	if err := update(decided); !errors.Is(err, store.ErrRewound) {
		t.Errorf("an update of a decision from before: %v", err)
	}
	err := s.Delete(decided, key("a"), &corev1.ConfigMap{}, store.ValidateAllObjectFunc, store.DeleteOptions{})
	if !errors.Is(err, store.ErrRewound) {
		t.Errorf("a deletion of a decision from before: %v", err)
	}
	if now := all(t, s); now["a"] != made.ResourceVersion || len(now) != 2 {
		t.Errorf("%v", now)
	}
	if err := update(gate.Decide(decided)); err != nil {
		t.Errorf("it decides again: %v", err)
	}
}
