package exchange

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/kx-apiserver/kx/tui/api"
)

// TestCatalogRefused says what a server answers that does not tell what it has, or is no API server.
func TestCatalogRefused(t *testing.T) {
	answer := ""
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Kx-Trace") != "off" {
			t.Errorf("%s leaves a journey", r.URL)
		}
		if answer == "" {
			w.WriteHeader(http.StatusForbidden)
		}
		fmt.Fprint(w, answer)
	}))
	defer s.Close()
	c, err := api.New(&rest.Config{Host: s.URL})
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ answer, want string }{{"", "403"}, {`{"kind":"APIVersions"}`, "APIGroupDiscoveryList"}, {"no JSON", "invalid character"}} {
		answer = test.answer
		if _, err := Resources(t.Context(), c); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%q: %v", test.answer, err)
		}
	}
	if _, err := Schemas(t.Context(), c, "apps", "v1"); err == nil {
		t.Error("that is no document")
	}
	if _, err := ObjectNames(t.Context(), c, "/api/v1/pods"); err == nil {
		t.Error("that is no list")
	}
	answer = `{"items":[{"metadata":{"name":"a"}},{"metadata":{"name":"b"}}]}`
	if names, err := ObjectNames(t.Context(), c, "/api/v1/pods"); err != nil || strings.Join(names, " ") != "a b" {
		t.Errorf("%v %v", names, err)
	}
	if doc, err := Schemas(t.Context(), c, "", "v1"); err != nil || doc == nil {
		t.Errorf("%v", err)
	}
}
