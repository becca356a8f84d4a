package main

import (
	"context"
	"fmt"
	"os"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
)

// TestKillWhileANamespaceEnds has two servers on one etcd that empty the same namespace, and kills first one and then the other in
// the middle: the next one ends it, and leaves the other namespace as it is.
func TestKillWhileANamespaceEnds(t *testing.T) {
	t.Parallel()
	const objects, writers = 800, 16
	dir, err := os.MkdirTemp("", "kx") // short, as the name of etcd's socket has to be
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	a := serve(t, "--data-dir", dir)
	b := serve(t, "--data-dir", t.TempDir(), "--etcd-servers", "unix://"+dir+"/etcd.sock")
	client := b.client(t)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for _, name := range []string{"ending", "other"} {
		if _, err := client.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	var creating sync.WaitGroup
	for i := range writers {
		creating.Go(func() {
			for k := i; k < objects; k += writers {
				if _, err := client.CoreV1().ConfigMaps("ending").Create(ctx, configMap(fmt.Sprint("o-", k)), metav1.CreateOptions{}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	creating.Wait()
	if _, err := client.CoreV1().ConfigMaps("other").Create(ctx, configMap("o"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	maps := a.client(t).CoreV1().ConfigMaps("ending")
	list, err := maps.List(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	w, err := maps.Watch(ctx, metav1.ListOptions{ResourceVersion: list.ResourceVersion})
	if err != nil {
		t.Fatal(err)
	}
	if err := client.CoreV1().Namespaces().Delete(ctx, "ending", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	deleted := 0
	until := func(n int) {
		for deleted < n {
			event, ok := <-w.ResultChan()
			if !ok {
				t.Fatalf("the watch ended after %d deletions", deleted)
			}
			if event.Type == watch.Deleted {
				deleted++
			}
		}
	}
	until(objects / 10)
	_ = b.Process.Kill()
	until(objects / 4)
	_ = a.Process.Kill()
	_ = a.wait()
	w.Stop()
	client = serve(t, "--data-dir", dir).client(t)
	list, err = client.CoreV1().ConfigMaps("ending").List(ctx, metav1.ListOptions{})
	if err != nil || len(list.Items) == 0 {
		t.Logf("the servers were killed too late to leave anything: %v", err)
	}
	for {
		_, err := client.CoreV1().Namespaces().Get(ctx, "ending", metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]int{"ending": 0, "other": 1} {
		if list, err = client.CoreV1().ConfigMaps(name).List(ctx, metav1.ListOptions{}); err != nil || len(list.Items) != want {
			t.Errorf("%s has %d objects: %v", name, len(list.Items), err)
		}
	}
}
