package registry

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	goruntime "runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kx-apiserver/kx/core/object"
	"github.com/kx-apiserver/kx/core/rest"
)

func tenPods(t *testing.T, change ...func(*Store)) (*Store, context.Context) {
	e, ctx := newStore(t, newStrategy(), change...), inNamespace(t, "ns")
	for i := range 10 {
		mustCreate(t, ctx, e, pod(fmt.Sprintf("p%d", i), func(p *corev1.Pod) { p.Labels = map[string]string{"odd": fmt.Sprint(i%2 == 1)} }))
	}
	mustCreate(t, inNamespace(t, "other"), e, pod("p0"))
	return e, ctx
}

func names(list runtime.Object) (out []string) {
	if encoded, ok := list.(*object.List); ok {
		var err error
		if list, err = encoded.Object(context.Background()); err != nil {
			panic(err)
		}
	}
	for _, p := range list.(*corev1.PodList).Items {
		out = append(out, p.Name)
	}
	return out
}

func remaining(t *testing.T, ctx context.Context, e *Store) []string {
	t.Helper()
	list, err := e.List(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	return names(list)
}

func TestDeleteCollection(t *testing.T) {
	all := []string{"p0", "p1", "p2", "p3", "p4", "p5", "p6", "p7", "p8", "p9"}
	odd := []string{"p1", "p3", "p5", "p7", "p9"}
	even := []string{"p0", "p2", "p4", "p6", "p8"}
	selectOdd := &metainternalversion.ListOptions{LabelSelector: labels.SelectorFromSet(labels.Set{"odd": "true"})}
	tests := []struct {
		name    string
		options *metav1.DeleteOptions
		list    *metainternalversion.ListOptions
		deleted []string
		left    []string
	}{
		{"all", &metav1.DeleteOptions{}, nil, all, nil},
		{"by label", nil, selectOdd, odd, even},
		{"one page of the client's", nil, &metainternalversion.ListOptions{Limit: 4}, all[:4], all[4:]},
		{"dry run", &metav1.DeleteOptions{DryRun: []string{metav1.DryRunAll}}, nil, all, all},
	}
	for i := range 2 * len(tests) {
		tt, encoded := tests[i/2], i%2 == 1
		t.Run(fmt.Sprintf("%s, encoded %t", tt.name, encoded), func(t *testing.T) {
			e, ctx := tenPods(t)
			if !encoded {
				e.Decorator = func(runtime.Object) {} // which has to look into them
			}
			out, err := e.DeleteCollection(ctx, rest.ValidateAllObjectFunc, tt.options, tt.list)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(names(out), tt.deleted) {
				t.Errorf("deleted %v", names(out))
			}
			if list := out.(metav1.ListInterface); (list.GetContinue() != "") != (tt.list != nil && tt.list.Limit > 0) {
				t.Errorf("continue is %q", list.GetContinue())
			}
			if _, ok := out.(*object.List); ok != encoded {
				t.Errorf("the list is a %T", out)
			}
			if left := remaining(t, ctx, e); !slices.Equal(left, tt.left) {
				t.Errorf("left %v", left)
			}
			if left := remaining(t, inNamespace(t, "other"), e); len(left) != 1 {
				t.Error("the other namespace's pod is gone")
			}
		})
	}
}

// TestDeleteCollectionOfLargeObjects: what was deleted is not held until it is told, and is told nevertheless.
func TestDeleteCollectionOfLargeObjects(t *testing.T) {
	large := map[string]string{"large": strings.Repeat("x", heldBytes/5)}
	for _, options := range []*metainternalversion.ListOptions{nil, {LabelSelector: labels.SelectorFromSet(labels.Set{"large": "yes"})}, {Limit: 8}} {
		e, ctx := newStore(t, newStrategy()), inNamespace(t, "ns")
		for i := range 8 {
			mustCreate(t, ctx, e, pod(fmt.Sprintf("p%d", i), func(p *corev1.Pod) { p.Annotations, p.Labels = large, map[string]string{"large": "yes"} }))
		}
		found, err := e.find(ctx, options)
		if err != nil {
			t.Fatal(err)
		}
		if !found.tooLong || len(found.names) != 8 || found.list.(*object.List).Items != nil {
			t.Errorf("%v: found %d, held %v", options, len(found.names), !found.tooLong)
		}
		list, err := e.DeleteCollection(ctx, rest.ValidateAllObjectFunc, nil, options)
		if err != nil {
			t.Fatal(err)
		}
		mustCreate(t, ctx, e, pod("later"))
		if got := names(list); !slices.Equal(got, []string{"p0", "p1", "p2", "p3", "p4", "p5", "p6", "p7"}) {
			t.Errorf("%v: told of %v", options, got)
		}
		if left := remaining(t, inNamespace(t, "ns"), e); !slices.Equal(left, []string{"later"}) {
			t.Errorf("%v: left %v", options, left)
		}
	}
}

func TestDeleteCollectionKeepsOptionsApart(t *testing.T) {
	e, ctx := newStore(t, newStrategy(), graceful), inNamespace(t, "ns")
	mustCreate(t, ctx, e, pod("a"))
	mustCreate(t, ctx, e, pod("b", onNode("n")))
	mustCreate(t, ctx, e, pod("c"))
	options := &metav1.DeleteOptions{}
	if _, err := e.DeleteCollection(ctx, rest.ValidateAllObjectFunc, options, nil); err != nil {
		t.Fatal(err)
	}
	if left := remaining(t, ctx, e); !slices.Equal(left, []string{"b"}) || options.GracePeriodSeconds != nil {
		t.Errorf("left %v, options %+v", left, options)
	}
}

// All objects change once more when their turn comes, and are deleted as they are then.
func TestDeleteCollectionOfWhatChanges(t *testing.T) {
	e, ctx := tenPods(t)
	var asked, changed atomic.Int64
	validate := func(_ context.Context, obj runtime.Object) error {
		asked.Add(1)
		if next := obj.DeepCopyObject().(*corev1.Pod); next.Labels["changed"] == "" {
			changed.Add(1)
			next.Labels = map[string]string{"changed": "meanwhile"}
			mustPut(t, ctx, e, next)
		}
		return nil
	}
	if _, err := e.DeleteCollection(ctx, validate, nil, nil); err != nil {
		t.Error(err)
	}
	if asked.Load() != 20 || changed.Load() != 10 {
		t.Errorf("asked %d times, of which %d changed it", asked.Load(), changed.Load())
	}
	if left := remaining(t, ctx, e); left != nil {
		t.Errorf("left %v", left)
	}
}

func TestDeleteCollectionWhatIsGoneAlready(t *testing.T) {
	e, ctx := tenPods(t)
	validate := func(_ context.Context, obj runtime.Object) error {
		_, _, err := del(ctx, e, obj.(*corev1.Pod).Name, nil) // somebody else, first
		return err
	}
	if _, err := e.DeleteCollection(ctx, validate, nil, nil); err != nil {
		t.Error(err)
	}
	if left := remaining(t, ctx, e); left != nil {
		t.Errorf("left %v", left)
	}
}

func TestDeleteCollectionFails(t *testing.T) {
	e, ctx := tenPods(t)
	e.options.DeleteCollectionWorkers = 1
	refuse := func(_ context.Context, obj runtime.Object) error {
		switch obj.(*corev1.Pod).Name {
		case "p2":
			return apierrors.NewForbidden(pods, "p2", errors.New("no"))
		case "p5":
			panic("on purpose")
		}
		return nil
	}
	_, err := e.DeleteCollection(ctx, refuse, nil, nil)
	wantStatus(t, err, 403, metav1.StatusReasonForbidden, `pods "p2" is forbidden: no`)
	if left := remaining(t, ctx, e); len(left) != 8 {
		t.Errorf("nothing is begun after the first error, but left is %v", left)
	}
	if _, _, err := del(ctx, e, "p2", nil); err != nil {
		t.Fatal(err)
	}
	_, err = e.DeleteCollection(ctx, refuse, nil, nil)
	if err == nil || err.Error() != "DeleteCollection goroutine panicked: on purpose" {
		t.Errorf("got %v", err)
	}
}

func TestDeleteCollectionIsCancelled(t *testing.T) {
	e, ctx := tenPods(t)
	e.options.DeleteCollectionWorkers = 1
	ctx, cancel := context.WithCancel(ctx)
	_, err := e.DeleteCollection(ctx, func(context.Context, runtime.Object) error { cancel(); return nil }, nil, nil)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	if left := remaining(t, inNamespace(t, "ns"), e); len(left) < 8 {
		t.Errorf("left %v", left)
	}
	if _, err := e.DeleteCollection(ctx, rest.ValidateAllObjectFunc, nil, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

// TestDeleteCollectionPanics: a panic of the list is the request's own, and leaves no worker waiting.
func TestDeleteCollectionPanics(t *testing.T) {
	e, ctx := tenPods(t, func(e *Store) {
		e.Decorator = func(obj runtime.Object) {
			if _, ok := obj.(*corev1.PodList); ok {
				panic("on purpose")
			}
		}
	})
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic got lost")
			}
		}()
		_, _ = e.DeleteCollection(ctx, nil, nil, nil)
	}()
	stacks := make([]byte, 1<<20)
	for deadline := time.Now().Add(3 * time.Minute); ; goruntime.Gosched() {
		if !bytes.Contains(stacks[:goruntime.Stack(stacks, true)], []byte("registry.(*Store).DeleteCollection.func")) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("a worker still waits")
		}
	}
}
