package kxtest_test

import (
	"context"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/kx-apiserver/kx/server/kxtest"
)

// reconcile runs a controller of widgets until the end of the test: write is called for each widget that comes or
// changes, and its errors are not its end.
func reconcile(t *testing.T, config *rest.Config, write func(context.Context, dynamic.ResourceInterface, *unstructured.Unstructured)) {
	t.Helper()
	config.UserAgent = "widget-manager"
	client, err := dynamic.NewForConfig(config)
	must(t, err)
	all := client.Resource(widgets).Namespace("default")
	ctx, stop := context.WithCancel(context.Background())
	events, err := all.Watch(ctx, metav1.ListOptions{})
	must(t, err)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for event := range events.ResultChan() {
			if event.Type == watch.Added || event.Type == watch.Modified {
				write(ctx, all, event.Object.(*unstructured.Unstructured))
			}
		}
	}()
	t.Cleanup(func() {
		stop()
		<-ended
	})
}

// ready sets the status of a widget.
func ready(widget *unstructured.Unstructured) *unstructured.Unstructured {
	_ = unstructured.SetNestedField(widget.Object, true, "status", "ready") // no other type stands there
	return widget
}

// TestSettles: a controller whose world is as it wants it writes no more, also if it has to look once more.
func TestSettles(t *testing.T) {
	t.Parallel()
	s := kxtest.Start(t, kxtest.CRDs("testdata/crd"), kxtest.Objects("testdata/objects"))
	reconcile(t, s.As("testdata/rbac/role.yaml"), func(ctx context.Context, all dynamic.ResourceInterface, widget *unstructured.Unstructured) {
		if is, _, _ := unstructured.NestedBool(widget.Object, "status", "ready"); !is {
			_, _ = all.UpdateStatus(ctx, ready(widget), metav1.UpdateOptions{}) // after a conflict, an event comes
		}
	})
	s.MustSee(t, "agent:widget-manager verb:update sub:status code:200")
	s.MustSettle(t, "agent:widget-manager", func() {
		annotate(t, s.User("alice", "system:masters"), "touched")
		s.MustSee(t, "user:alice verb:patch delivered:widget-manager")
	})
	s.MustStayWithin(t, "agent:widget-manager", kxtest.Budget{"update widgets/status": 1, "* *": 2})
}

// TestDoesNotSettle: a controller that writes whenever it looks is found. If its writes change nothing, they end, and
// come back when it looks once more.
func TestDoesNotSettle(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		write func(widget *unstructured.Unstructured)
		sees  string
		want  []string
	}{
		"the clock in an annotation": {
			func(widget *unstructured.Unstructured) {
				widget.SetAnnotations(map[string]string{"at": time.Now().String()})
			},
			"verb:update agent:widget-manager",
			[]string{`"agent:widget-manager" does not settle: 30 writes of one object:`, "PUT /apis/example.com/v1/namespaces/default/widgets/first 200 by "},
		},
		"the same again": {
			func(widget *unstructured.Unstructured) { widget.SetLabels(map[string]string{"managed": "yes"}) },
			"verb:update agent:widget-manager reason:nothing-changed",
			[]string{`"agent:widget-manager" had settled, and wrote again after function 2:`, "PUT /apis/example.com/v1/namespaces/default/widgets/first 200 by "},
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := kxtest.Start(t, kxtest.CRDs("testdata/crd"), kxtest.Objects("testdata/objects"))
			reconcile(t, s.As("testdata/rbac/role.yaml"), func(ctx context.Context, all dynamic.ResourceInterface, widget *unstructured.Unstructured) {
				test.write(widget)
				_, _ = all.Update(ctx, widget, metav1.UpdateOptions{}) // after a conflict, an event comes
			})
			s.MustSee(t, test.sees)
			said := failing(t, func(t testing.TB) {
				s.MustSettle(t, "agent:widget-manager", func() {}, func() {
					annotate(t, s.User("alice", "system:masters"), "touched")
					s.MustSee(t, "user:alice verb:patch delivered:widget-manager")
				})
			})
			for _, want := range test.want {
				if !strings.Contains(said, want) {
					t.Errorf("%q lacks %q", said, want)
				}
			}
		})
	}
}
