package server

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http/httptest"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/kx-apiserver/kx/server/health"
	"github.com/kx-apiserver/kx/store/cacher"
	"github.com/kx-apiserver/kx/store/embedded/embedtest"
	"github.com/kx-apiserver/kx/store/etcd3"
)

// TestNotFilled asks a server that fills all caches, and whose etcd can't be read why it is not ready.
func TestNotFilled(t *testing.T) {
	client := embedtest.New(t).Client()
	compactor := etcd3.StartCompactor(client, 0, nil, nil)
	t.Cleanup(compactor.Stop)
	newObject := func() runtime.Object { return &unstructured.Unstructured{Object: map[string]any{}} }
	resource := schema.GroupResource{Group: "example.com", Resource: "pandas"}
	storage, err := etcd3.New(etcd3.Options{
		Client: etcd3.NewClient(client), Compactor: compactor, Codec: unstructured.UnstructuredJSONScheme, NewFunc: newObject,
		Prefix: "/registry", ResourcePrefix: "/pandas/", GroupResource: resource,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(storage.Close)
	if err := client.Close(); err != nil && !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	c, err := cacher.NewCacherFromConfig(cacher.Config{
		Storage: storage, ResourcePrefix: "/pandas", GroupResource: resource, NewFunc: newObject, Prefill: true,
		GetAttrsFunc: func(runtime.Object) (labels.Set, fields.Set, error) { return nil, nil, nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Stop)

	f := &prefill{caches: &cacher.Caches{}}
	remove := f.caches.Add(c)
	check := health.Check{Name: "storage-readiness", Run: func(context.Context) error { return f.check(func() error { return nil }) }}
	endpoint := health.NewEndpoint("/readyz", slog.New(slog.DiscardHandler), nil, check)
	ask := func() string {
		r := httptest.NewRequest("GET", "/readyz?verbose", nil)
		admin := &user.DefaultInfo{Name: "admin", Groups: []string{user.AllAuthenticated}}
		w := httptest.NewRecorder()
		endpoint.ServeHTTP(w, r.WithContext(request.WithUser(r.Context(), admin)))
		body, _ := io.ReadAll(w.Body)
		return string(body)
	}
	const want = "[-]storage-readiness failed: watch caches that are not filled: pandas.example.com (uninitialized)\n"
	if got := ask(); !strings.HasPrefix(got, want) {
		t.Errorf("%s", got)
	}
	over := make(chan struct{})
	go func() {
		defer close(over)
		f.run(t.Context(), func(context.Context) {})
	}()
	// A cache that ends holds up nobody.
	remove()
	c.Stop()
	<-over
	if got := ask(); !strings.HasPrefix(got, "[+]storage-readiness ok\n") {
		t.Errorf("%s", got)
	}
}

func TestListed(t *testing.T) {
	if got := joinNames([]string{"a", "b"}); got != "a, b" {
		t.Error(got)
	}
	if got := joinNames(strings.Split(strings.Repeat("x ", mostListed+2)+"x", " ")); !strings.HasSuffix(got, ", x and 3 more") {
		t.Error(got)
	}
}
