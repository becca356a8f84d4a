package controller_test

import (
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
	"k8s.io/klog/v2"

	"github.com/kx-apiserver/kx/server/controller"
	"github.com/kx-apiserver/kx/server/internal/controllertest"
	"github.com/kx-apiserver/kx/server/options"
)

var (
	// ordinary runs all controllers.
	ordinary = controllertest.Shared{Options: withAll}
	// bare runs no controller that puts objects into each namespace: a namespace has what its test makes.
	bare = controllertest.Shared{Options: withoutFixtures}
)

// withAll are the options of a server with all controllers, that makes no objects by itself.
func withAll() *options.Options {
	o := options.New()
	o.InitialObjects = false
	return o
}

// withoutFixtures leaves out the controllers that put objects into each namespace.
func withoutFixtures() *options.Options {
	o := withAll()
	o.Controllers = controller.Selection{"*", "-" + controller.ServiceAccounts, "-" + controller.RootCA}
	return o
}

// atOnce is how many tests run at a time, whatever the number of processors: most of them wait for a controller's pauses.
const atOnce = "8"

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

// many is how many objects a test of a large number makes: few, or the number in KX_MANY.
func many(few int) int {
	if n, err := strconv.Atoi(os.Getenv("KX_MANY")); err == nil {
		return n
	}
	return few
}

// eventually polls a condition that no event announces.
func eventually(t *testing.T, what string, yes func() bool) {
	t.Helper()
	for deadline := time.Now().Add(controllertest.Patience); !yes(); {
		if time.Now().After(deadline) {
			t.Fatalf("it did not come to pass that %s", what)
		}
		<-time.After(10 * time.Millisecond)
	}
}

// createNamespace makes a namespace, with a name of its own if the name ends in a dash.
func createNamespace(t *testing.T, c kubernetes.Interface, name string) *corev1.Namespace {
	t.Helper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}
	if strings.HasSuffix(name, "-") {
		ns.ObjectMeta = metav1.ObjectMeta{GenerateName: name}
	}
	return must[*corev1.Namespace](t)(c.CoreV1().Namespaces().Create(t.Context(), ns, metav1.CreateOptions{}))
}

// Finalizers that no controller removes.
const (
	finalizer, finalizer2 = "example.com/wait", "example.com/wait2"
	held                  = "example.com/held"
)

// allocator manages the IPAddresses of services.
const allocator = "ipallocator.k8s.io"

var definitions = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}

// must returns a value, or fails the test if there is an error.
func must[T any](t *testing.T) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}
