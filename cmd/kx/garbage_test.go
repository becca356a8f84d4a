package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/store/embedded/embedtest"
)

var cascadeSize = flag.Int("cascade", 250, "dependents of each of the four owners whose cascades TestKillWhileCollecting interrupts")

// every is that every so many-th dependent has an owner more, which stays.
const every = 100

// TestKillWhileCollecting kills servers in the middle of a cascade, at any moment from the deletion of the owner on. The next one, or
// another one on the same etcd, ends it: what is left is what it would have been, and nothing else was deleted.
func TestKillWhileCollecting(t *testing.T) {
	const background, foreground = metav1.DeletePropagationBackground, metav1.DeletePropagationForeground
	for _, policy := range []metav1.DeletionPropagation{background, foreground} {
		t.Run(fmt.Sprint("alone/", policy), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			start := func() *process { return serve(t, "--data-dir", dir) }
			cascade{policy: policy, dependents: *cascadeSize, start: start, kills: 3}.run(t, start())
		})
		t.Run(fmt.Sprint("two on one etcd/", policy), func(t *testing.T) {
			t.Parallel()
			servers := "--etcd-servers=" + strings.Join(embedtest.StartCluster(t).Endpoints(), ",")
			p := serve(t, "--data-dir", t.TempDir(), servers)
			awaitCollector(t, p, v1alpha1.ControllerRunning)
			other := serve(t, "--data-dir", t.TempDir(), servers)
			awaitCollector(t, other, v1alpha1.ControllerElsewhere)
			cascade{policy: policy, dependents: *cascadeSize, start: func() *process { return other }, kills: 1}.run(t, p)
		})
	}
}

// awaitCollector waits until the garbage collector of a server is in a state.
func awaitCollector(t *testing.T, p *process, state string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for c := p.client(t); ; {
		s := &v1alpha1.Structure{}
		raw, err := c.RESTClient().Get().AbsPath("/apis/kx.dev/v1alpha1/structure/controller:garbage-collector-controller").DoRaw(ctx)
		if err == nil {
			err = json.Unmarshal(raw, s)
		}
		if err != nil {
			t.Fatal(err)
		}
		if s.Spec.Controller.State == state {
			return
		}
	}
}

// cascade is the deletion of an owner with dependents, and with kills.
type cascade struct {
	policy     metav1.DeletionPropagation
	dependents int
	kills      int
	// start returns the server that goes on after a kill.
	start func() *process
}

func (c cascade) run(t *testing.T, p *process) {
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute+time.Duration(c.dependents)*50*time.Millisecond)
	defer cancel()
	owner, want := family(ctx, t, p.client(t), c.dependents)
	f := &follower{maps: p.client(t).CoreV1().ConfigMaps("default"), want: want}
	f.list(ctx, t)
	if err := f.maps.Delete(ctx, owner, metav1.DeleteOptions{PropagationPolicy: &c.policy}); err != nil {
		t.Fatal(err)
	}
	for range c.kills {
		at := len(want) + rand.IntN(len(f.left)-len(want)+1)
		f.until(ctx, t, func() bool { return len(f.left) <= at })
		_ = p.Process.Kill()
		_ = p.wait()
		p = c.start()
		f.w.Stop()
		f.maps = p.client(t).CoreV1().ConfigMaps("default")
		f.list(ctx, t)
		t.Logf("killed when %d of %d were left; then there were %d", at, c.dependents, len(f.left))
	}
	f.until(ctx, t, func() bool { return same(f.left, want) })
	f.w.Stop()
}

// follower knows which config maps there are, and how many owners each of them has.
type follower struct {
	maps corev1client.ConfigMapInterface
	w    watch.Interface
	// left are those that there are, and want those that have to stay.
	left, want map[string]int
}

// list looks at what there is now, and follows it from then on.
func (f *follower) list(ctx context.Context, t *testing.T) {
	t.Helper()
	list, err := f.maps.List(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	f.left = map[string]int{}
	for _, cm := range list.Items {
		f.left[cm.Name] = len(cm.OwnerReferences)
	}
	for name := range f.want {
		if _, ok := f.left[name]; !ok {
			t.Fatalf("%s was deleted", name)
		}
	}
	if f.w, err = f.maps.Watch(ctx, metav1.ListOptions{ResourceVersion: list.ResourceVersion}); err != nil {
		t.Fatal(err)
	}
}

func (f *follower) until(ctx context.Context, t *testing.T, yes func() bool) {
	t.Helper()
	for !yes() {
		event, ok := <-f.w.ResultChan()
		if !ok {
			t.Fatalf("left are %v, and not %v: %v", f.left, f.want, ctx.Err())
		}
		cm, ok := event.Object.(*corev1.ConfigMap)
		if !ok {
			t.Fatal(event.Object)
		}
		if f.left[cm.Name] = len(cm.OwnerReferences); event.Type == watch.Deleted {
			delete(f.left, cm.Name)
		}
		if _, stays := f.want[cm.Name]; stays && event.Type == watch.Deleted {
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
