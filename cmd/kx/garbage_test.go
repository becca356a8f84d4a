package main

import (
	"context"
	"flag"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"

	"github.com/kx-apiserver/kx/store/embedded/embedtest"
)

var cascadeSize = flag.Int("cascade", 250, "dependents of each of the four owners whose cascades TestKillWhileCollecting interrupts")

// every is that every so many-th dependent has an owner more, which stays.
const every = 100

// TestKillWhileCollecting kills a server in the middle of a cascade. The next one, or another one on the same etcd, ends it: what is
// left is what it would have been, and nothing else was deleted.
func TestKillWhileCollecting(t *testing.T) {
	const background, foreground = metav1.DeletePropagationBackground, metav1.DeletePropagationForeground
	for _, policy := range []metav1.DeletionPropagation{background, foreground} {
		t.Run(fmt.Sprint("alone/", policy), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			p := serve(t, "--data-dir", dir)
			killDuringCascade(t, p, p.client(t), *cascadeSize, policy, func() *process { return serve(t, "--data-dir", dir) })
		})
		t.Run(fmt.Sprint("two on one etcd/", policy), func(t *testing.T) {
			t.Parallel()
			servers := "--etcd-servers=" + strings.Join(embedtest.StartCluster(t).Endpoints(), ",")
			p, other := serve(t, "--data-dir", t.TempDir(), servers), serve(t, "--data-dir", t.TempDir(), servers)
			killDuringCascade(t, p, other.client(t), *cascadeSize, policy, func() *process { return other })
		})
	}
}

// killDuringCascade deletes an owner by a client, and kills a server when a tenth of its dependents is gone. next is the server that goes on.
func killDuringCascade(t *testing.T, p *process, c *kubernetes.Clientset, dependents int, policy metav1.DeletionPropagation, next func() *process) {
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	maps := c.CoreV1().ConfigMaps("default")
	owner, want := family(ctx, t, c, dependents)
	list, err := maps.List(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	w, err := maps.Watch(ctx, metav1.ListOptions{ResourceVersion: list.ResourceVersion})
	if err != nil {
		t.Fatal(err)
	}
	if err := maps.Delete(ctx, owner, metav1.DeleteOptions{PropagationPolicy: &policy}); err != nil {
		t.Fatal(err)
	}
	for deleted := 0; deleted < dependents/10; {
		if event := <-w.ResultChan(); event.Type == watch.Deleted {
			deleted++
		}
	}
	w.Stop()
	_ = p.Process.Kill()
	_ = p.wait()
	maps = next().client(t).CoreV1().ConfigMaps("default")
	if list, err = maps.List(ctx, metav1.ListOptions{}); err != nil {
		t.Fatal(err)
	}
	t.Logf("when it was killed, %d of %d were left", len(list.Items), dependents)
	left := map[string]int{}
	for _, cm := range list.Items {
		left[cm.Name] = len(cm.OwnerReferences)
	}
	if w, err = maps.Watch(ctx, metav1.ListOptions{ResourceVersion: list.ResourceVersion}); err != nil {
		t.Fatal(err)
	}
	defer w.Stop()
	for !same(left, want) {
		event, ok := <-w.ResultChan()
		if !ok {
			t.Fatalf("left are %v, and not %v", left, want)
		}
		cm, ok := event.Object.(*corev1.ConfigMap)
		if !ok {
			t.Fatal(event.Object)
		}
		if left[cm.Name] = len(cm.OwnerReferences); event.Type == watch.Deleted {
			delete(left, cm.Name)
		}
		if _, stays := want[cm.Name]; stays && event.Type == watch.Deleted {
			t.Fatalf("%s was deleted", cm.Name)
		}
	}
}

func same(a, b map[string]int) bool {
	for name, owners := range b {
		if have, ok := a[name]; !ok || have != owners {
			return false
		}
	}
	return len(a) == len(b)
}

// family makes an owner with its dependents, and returns what is to be left without it: names, and how many owners they have.
func family(ctx context.Context, t *testing.T, c *kubernetes.Clientset, dependents int) (owner string, left map[string]int) {
	t.Helper()
	const writers = 16
	maps := c.CoreV1().ConfigMaps("default")
	references := map[string]metav1.OwnerReference{}
	for _, name := range []string{"owner", "other"} {
		made, err := maps.Create(ctx, configMap(name), metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		references[name] = metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: name, UID: made.UID, BlockOwnerDeletion: new(true)}
	}
	left = map[string]int{"other": 0}
	var creating sync.WaitGroup
	for i := range writers {
		creating.Go(func() {
			for k := i; k < dependents; k += writers {
				cm := configMap(fmt.Sprint("child-", k))
				cm.OwnerReferences = []metav1.OwnerReference{references["owner"]}
				if k%every == 0 {
					cm.OwnerReferences = append(cm.OwnerReferences, references["other"])
				}
				if _, err := maps.Create(ctx, cm, metav1.CreateOptions{}); err != nil {
					t.Error(err)
				}
			}
		})
	}
	creating.Wait()
	for k := 0; k < dependents; k += every {
		left[fmt.Sprint("child-", k)] = 1
	}
	return "owner", left
}
