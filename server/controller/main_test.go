package controller_test

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kx-apiserver/kx/store/embedded/embedtest"
)

func TestMain(m *testing.M) { embedtest.Main(m) }

// Finalizers that no controller removes.
const (
	finalizer, finalizer2 = "example.com/wait", "example.com/wait2"
	held                  = "example.com/held"
)

// allocator manages the IPAddresses of services.
const allocator = "ipallocator.k8s.io"

var definitions = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}

// must returns a value, or fails the test with the error that came instead.
func must[T any](t *testing.T) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}
