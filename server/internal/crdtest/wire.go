package crdtest

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kx-apiserver/kx/server/internal/wiretest"
)

// Wire does a command of the transcripts in server/crd/testdata/wire:
//
//	ask              a request as in server/internal/wiretest, and its answer
//	wait             NAME TYPE=STATUS: until the definition has that condition, or TYPE=STATUS/REASON
//	wait             NAME gone: until the definition is
//	wait             PATH served, PATH gone: until it can be read, or can't
//	wait             PATH closed, and an object: until it is forbidden to create that there
func Wire(t testing.TB, c *wiretest.Client, d *datadriven.TestData) string {
	t.Helper()
	switch d.Cmd {
	case "ask":
		return c.Ask(t, d.Input)
	case "wait":
		line, body, _ := strings.Cut(strings.TrimSpace(d.Input), "\n")
		name, what, _ := strings.Cut(line, " ")
		switch {
		case !strings.HasPrefix(name, "/"):
			Wait(t, c, name, what)
		case what == "served":
			waitStatus(t, c, http.MethodGet, name, "", http.StatusOK)
		case what == "gone":
			waitStatus(t, c, http.MethodGet, name, "", http.StatusNotFound)
		case what == "closed":
			waitStatus(t, c, http.MethodPost, name+"?dryRun=All", body, http.StatusForbidden)
		default:
			d.Fatalf(t, "nobody knows how to wait until something is %s", what)
		}
		return ""
	}
	d.Fatalf(t, "unknown command %s", d.Cmd)
	return ""
}

// patience bounds a wait in case something hangs.
const patience = 3 * time.Minute

// waitStatus asks until the answer has a status: upstream serves and closes a definition some time after its condition
// says so.
func waitStatus(t testing.TB, c *wiretest.Client, method, path, body string, want int) {
	t.Helper()
	for began := time.Now(); time.Since(began) < patience; time.Sleep(5 * time.Millisecond) {
		req, err := http.NewRequestWithContext(t.Context(), method, c.URL+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		res, err := c.Admin.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		if res.StatusCode == want {
			return
		}
	}
	t.Fatalf("%s %s does not become %d", method, path, want)
}

// Wait waits until a definition has a condition, such as Established=True, or is gone.
func Wait(t testing.TB, c *wiretest.Client, name, what string) {
	t.Helper()
	kind, status, _ := strings.Cut(what, "=")
	query := url.Values{"fieldSelector": {"metadata.name=" + name}, "watch": {"true"}, "timeoutSeconds": {"30"},
		"sendInitialEvents": {"true"}, "resourceVersionMatch": {"NotOlderThan"}, "allowWatchBookmarks": {"true"}}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, c.URL+Collection+"?"+query.Encode(), nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := c.Admin.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	present := false
	for events := json.NewDecoder(res.Body); ; {
		var event struct {
			Type   watch.EventType
			Object apiextensionsv1.CustomResourceDefinition
		}
		if err := events.Decode(&event); err != nil {
			t.Fatalf("wait for %s of %s: %v", what, name, err)
		}
		switch event.Type {
		case watch.Added, watch.Modified:
			present = true
			for _, c := range event.Object.Status.Conditions {
				if string(c.Type) == kind && (string(c.Status) == status || string(c.Status)+"/"+c.Reason == status) {
					return
				}
			}
		case watch.Deleted, watch.Bookmark:
			if what == "gone" && (!present || event.Type == watch.Deleted) {
				return
			}
		default:
			t.Fatalf("wait for %s of %s: %s", what, name, event.Type)
		}
	}
}
