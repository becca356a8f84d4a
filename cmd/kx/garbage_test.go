package main

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

// TestKillWhileCollecting kills the server in the middle of a cascade: the next one ends it, and deletes nothing else.
func TestKillWhileCollecting(t *testing.T) {
	t.Parallel()
	const dependents, writers = 600, 16
	dir := t.TempDir()
	serving := func() *process { return serve(t, "--data-dir", dir) }
	p := serving()
	maps := p.client(t).CoreV1().ConfigMaps("default")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	owner, err := maps.Create(ctx, configMap("owner"), metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	other, err := maps.Create(ctx, configMap("other"), metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var creating sync.WaitGroup
	for i := range writers {
		creating.Go(func() {
			for k := i; k < dependents; k += writers {
				cm := configMap(fmt.Sprint("child-", k))
				cm.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: "owner", UID: owner.UID}}
				if k%100 == 0 { // shared: it stays, with the owner that it has left
					cm.OwnerReferences = append(cm.OwnerReferences, metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: "other", UID: other.UID})
				}
				if _, err := maps.Create(ctx, cm, metav1.CreateOptions{}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	creating.Wait()
	list, err := maps.List(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	w, err := maps.Watch(ctx, metav1.ListOptions{ResourceVersion: list.ResourceVersion})
	if err != nil {
		t.Fatal(err)
	}
	if err := maps.Delete(ctx, "owner", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	for deleted := 0; deleted < dependents/10; {
		if event := <-w.ResultChan(); event.Type == watch.Deleted {
			deleted++
		}
	}
	_ = p.Process.Kill()
	_ = p.wait()
	maps = serving().client(t).CoreV1().ConfigMaps("default")
	if list, err = maps.List(ctx, metav1.ListOptions{}); err != nil {
		t.Fatal(err)
	}
	left := map[string]int{}
	for _, cm := range list.Items {
		left[cm.Name] = len(cm.OwnerReferences)
	}
	if w, err = maps.Watch(ctx, metav1.ListOptions{ResourceVersion: list.ResourceVersion}); err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	done := func() bool {
		for k := range dependents / 100 {
			if left[fmt.Sprint("child-", 100*k)] != 1 {
				return false
			}
		}
		return len(left) == 1+dependents/100
	}
	for !done() {
		event, ok := <-w.ResultChan()
		if !ok {
			t.Fatalf("left are %v", left)
		}
		cm, ok := event.Object.(*corev1.ConfigMap)
		if !ok {
			t.Fatal(event.Object)
		}
		if left[cm.GetName()] = len(cm.GetOwnerReferences()); event.Type == watch.Deleted {
			delete(left, cm.GetName())
		}
	}
	if _, ok := left["other"]; !ok {
		t.Errorf("left are %v", left)
	}
}
