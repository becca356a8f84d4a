package kxtest_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/kx-apiserver/kx/server/kxtest"
)

// TestSnapshotRefused: a server that others share is not rewound, and a snapshot is one of its server.
func TestSnapshotRefused(t *testing.T) {
	t.Parallel()
	shared := kxtest.Start(t, kxtest.Shared())
	said := failing(t, func(t testing.TB) { shared.Snapshot(t) })
	if !strings.Contains(said, "other tests") {
		t.Errorf("%q", said)
	}
	first, second := kxtest.Start(t), kxtest.Start(t)
	clean := first.Snapshot(t)
	said = failing(t, func(t testing.TB) { second.Rewind(t, clean) })
	if !strings.Contains(said, "Snapshot.Fork") {
		t.Errorf("%q", said)
	}
	failing(t, func(short testing.TB) { clean = first.Snapshot(short) })
	said = failing(t, func(t testing.TB) { first.Rewind(t, clean) })
	if !strings.Contains(said, "not found") {
		t.Errorf("%q", said)
	}
}

// TestFork: a fork has the same objects, definitions and users, at another address. Neither server sees the writes of the
// other.
func TestFork(t *testing.T) {
	t.Parallel()
	s := kxtest.Start(t, kxtest.CRDs("testdata/crd"))
	client := func(s *kxtest.Server) dynamic.ResourceInterface {
		c, err := dynamic.NewForConfig(s.Config())
		must(t, err)
		return c.Resource(widgets).Namespace("default")
	}
	made, err := client(s).Create(within(t), widget("one"), metav1.CreateOptions{})
	must(t, err)
	alice := s.User("alice", "system:masters")
	before := s.Snapshot(t)
	_, err = client(s).Create(within(t), widget("two"), metav1.CreateOptions{})
	must(t, err)

	now, then := s.Fork(t), before.Fork(t)
	if now.Config().Host == s.Config().Host {
		t.Fatalf("both serve at %s", s.Config().Host)
	}
	for name, f := range map[string]*kxtest.Server{"now": now, "then": then} {
		got, err := client(f).Get(within(t), "one", metav1.GetOptions{})
		must(t, err)
		if got.GetUID() != made.GetUID() || got.GetResourceVersion() != made.GetResourceVersion() {
			t.Errorf("%s: %s at %s, want %s at %s", name, got.GetUID(), got.GetResourceVersion(), made.GetUID(), made.GetResourceVersion())
		}
		must(t, client(f).Delete(within(t), "one", metav1.DeleteOptions{}))
	}
	if _, err := client(now).Get(within(t), "two", metav1.GetOptions{}); err != nil {
		t.Error(err)
	}
	if _, err := client(then).Get(within(t), "two", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("it was made after the snapshot: %v", err)
	}
	if _, err := client(s).Get(within(t), "one", metav1.GetOptions{}); err != nil {
		t.Errorf("what happened on a fork reached its origin: %v", err)
	}
	alice = rest.CopyConfig(alice)
	alice.Host = now.Config().Host
	if _, err := clientOf(t, alice).CoreV1().Namespaces().List(within(t), metav1.ListOptions{}); err != nil {
		t.Errorf("a user of the origin: %v", err)
	}
	clean := now.Snapshot(t)
	_, err = client(now).Create(within(t), widget("three"), metav1.CreateOptions{})
	must(t, err)
	now.Rewind(t, clean)
	if _, err := client(now).Get(within(t), "three", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("a fork is rewound too: %v", err)
	}
}

// BenchmarkFork starts a fork of a server with 1,000 objects, from which it is at once ready.
func BenchmarkFork(b *testing.B) {
	s := kxtest.Start(b)
	fill(b, s, 1000)
	snapshot := s.Snapshot(b)
	b.Run("now", func(b *testing.B) {
		for range b.N {
			s.Fork(b)
		}
	})
	b.Run("snapshot", func(b *testing.B) {
		for range b.N {
			snapshot.Fork(b)
		}
	})
	b.Run("rewind", func(b *testing.B) {
		for range b.N {
			s.Rewind(b, snapshot)
		}
	})
}

func widget(name string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.com/v1", "kind": "Widget", "metadata": map[string]any{"name": name},
	}}
}

func fill(t testing.TB, s *kxtest.Server, objects int) {
	t.Helper()
	maps := clientOf(t, s.Config()).CoreV1().ConfigMaps("default")
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Minute)
	defer cancel()
	var made sync.WaitGroup
	slots := make(chan struct{}, 16)
	for n := range objects {
		slots <- struct{}{}
		made.Add(1)
		go func() {
			defer func() { <-slots; made.Done() }()
			m := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("m-%05d", n)}, Data: map[string]string{"body": strings.Repeat("x", 1000)}}
			if _, err := maps.Create(ctx, m, metav1.CreateOptions{}); err != nil {
				t.Error(err)
			}
		}()
	}
	made.Wait()
}
