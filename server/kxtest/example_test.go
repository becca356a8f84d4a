package kxtest_test

import (
	"context"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/retry"

	"github.com/kx-apiserver/kx/server/kxtest"
)

func TestMain(m *testing.M) { kxtest.Main(m, kxtest.CRDs("testdata/crd")) }

var widgets = schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "widgets"}

// markReady is the controller of the example: it writes the status of a widget, and tries again after a conflict.
func markReady(ctx context.Context, config *rest.Config, name string) error {
	config.UserAgent = "widget-manager"
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return err
	}
	all := client.Resource(widgets).Namespace("default")
	backoff := retry.DefaultRetry
	backoff.Steps = 10
	return retry.RetryOnConflict(backoff, func() error {
		widget, err := all.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return err
		}
		if err := unstructured.SetNestedField(widget.Object, true, "status", "ready"); err != nil {
			return err
		}
		_, err = all.UpdateStatus(ctx, widget, metav1.UpdateOptions{})
		return err
	})
}

// TestConflictStorm shows a test of a controller: five of its writes lose the race against another writer, the sixth
// succeeds, and it needs no right that its role does not give.
func TestConflictStorm(t *testing.T) {
	t.Parallel()
	s := kxtest.Start(t, kxtest.CRDs("testdata/crd"), kxtest.Objects("testdata/objects"))
	storm := s.Fault(t, kxtest.Conflict().On("update", "widgets/status").Times(5))

	if err := markReady(context.Background(), s.As("testdata/rbac/role.yaml"), "first"); err != nil {
		t.Fatal(err)
	}

	storm.MustHit(t, 5)
	s.MustSee(t, "verb:update resource:widgets sub:status code:200 agent:widget-manager")
	if n := s.Count(t, "verb:update code:409"); n != 5 {
		t.Errorf("%d conflicts", n)
	}
	s.MustNotSee(t, "code:403 agent:widget-manager")
}
