package controller_test

import (
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"testing"
	"time"

	"go.uber.org/goleak"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/klog/v2"

	"github.com/kx-apiserver/kx/server/controller"
	"github.com/kx-apiserver/kx/server/internal/controllertest"
	"github.com/kx-apiserver/kx/server/options"
)

var (
	// ordinary has all controllers.
	ordinary controllertest.Shared
	// bare has none that puts objects into each namespace: what is there is what the test made.
	bare = controllertest.Shared{Change: func(o *options.Options) { o.Controllers = withoutFixtures }}
)

var withoutFixtures = controller.Selection{"*", "-" + controller.ServiceAccounts, "-" + controller.RootCA}

// atOnce is how many tests run at a time, whatever the number of processors: most of them wait for controllers, which take their time.
const atOnce = "16"

// TestMain stops the servers that tests share, and looks for what any server left behind.
func TestMain(m *testing.M) {
	klog.SetSlogLogger(slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn})))
	flag.Parse()
	chosen := false
	flag.Visit(func(f *flag.Flag) { chosen = chosen || f.Name == "test.parallel" })
	if !chosen {
		_ = flag.Set("test.parallel", atOnce)
	}
	code := m.Run()
	err := errors.Join(ordinary.Stop(), bare.Stop())
	if code == 0 {
		err = errors.Join(err, goleak.Find())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "after the tests:", err)
		code = 1
	}
	os.Exit(code)
}

// many is how many objects a test of many makes: so many, or KX_MANY.
func many(few int) int {
	if n, err := strconv.Atoi(os.Getenv("KX_MANY")); err == nil {
		return n
	}
	return few
}

// eventually asks again and again, for what no event tells.
func eventually(t *testing.T, what string, yes func() bool) {
	t.Helper()
	for deadline := time.Now().Add(controllertest.Patience); !yes(); {
		if time.Now().After(deadline) {
			t.Fatalf("it did not come to pass that %s", what)
		}
		<-time.After(10 * time.Millisecond)
	}
}

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
