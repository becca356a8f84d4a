package control

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/tui/api"
)

// TestTell cleans the answer to a command, as a session cleans its journeys.
func TestTell(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusCreated)
		_, _ = io.WriteString(w, `{"metadata":{"name":"a-1"},"status":{"held":[{"step":-1}],
			"steps":[{"id":"x","parent":7,"subject":"\u001b[2J"}]}}`)
	}))
	defer server.Close()
	client, err := api.New(&rest.Config{Host: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	c := New(client, func() {}, func() {})
	j, err := c.Tell(t.Context(), "a-1", v1alpha1.JourneyCommandSpec{Action: v1alpha1.ActionInto})
	if err != nil {
		t.Fatal(err)
	}
	if s := &j.Status; len(s.Held) != 0 || s.Steps[0].Parent != -1 || s.Steps[0].Subject != "\uFFFD[2J" {
		t.Errorf("%+v", s)
	}
}
