package crdtest

import (
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kx-apiserver/kx/server/wiretest"
)

// Wire does a command of the transcripts in server/crd/testdata/wire:
//
//	ask              a request as in server/wiretest, and its answer
//	wait             NAME TYPE=STATUS: until the definition has that condition
//	wait             NAME gone: until the definition is
func Wire(t testing.TB, c *wiretest.Client, d *datadriven.TestData) string {
	t.Helper()
	switch d.Cmd {
	case "ask":
		return c.Ask(t, d.Input)
	case "wait":
		name, what, _ := strings.Cut(strings.TrimSpace(d.Input), " ")
		Wait(t, c, name, what)
		return ""
	}
	d.Fatalf(t, "unknown command %s", d.Cmd)
	return ""
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
				if string(c.Type) == kind && string(c.Status) == status {
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
