package tui

import (
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"

	"k8s.io/client-go/rest"
)

// TestUserAgent names the program to the server: what the user sends and watches from here is recorded with it.
func TestUserAgent(t *testing.T) {
	agents := make(chan string, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		agents <- r.UserAgent()
		_, _ = w.Write([]byte("{}"))
	}))
	defer server.Close()
	m := again(t, filepath.Join(t.TempDir(), "tui.json"))
	config := &rest.Config{Host: server.URL}
	m.takeServer(connectedMsg{server: Server{Config: config}})
	if err := m.client.Get(t.Context(), "/", nil, nil); err != nil {
		t.Fatal(err)
	}
	m.client.Close()
	if got := <-agents; got != userAgent || config.UserAgent != "" {
		t.Errorf("%q, and the config was changed to %q", got, config.UserAgent)
	}
}
