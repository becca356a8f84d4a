package crdtest

import (
	"encoding/json"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kx-apiserver/kx/server/wiretest"
)

// Wire does a command of the transcripts in server/crd/testdata/wire:
//
//	ask              a request as in server/wiretest, and its answer
//	wait             NAME TYPE=STATUS: until the definition has that condition, or TYPE=STATUS/REASON
//	wait             NAME gone: until the definition is
//	wait             PATH served: until it can be read
func Wire(t testing.TB, c *wiretest.Client, d *datadriven.TestData) string {
	t.Helper()
	switch d.Cmd {
	case "ask":
		return sortManagers(c.Ask(t, d.Input))
	case "wait":
		name, what, _ := strings.Cut(strings.TrimSpace(d.Input), " ")
		if what == "served" {
			waitServed(t, c, name)
		} else {
			Wait(t, c, name, what)
		}
		return ""
	}
	d.Fatalf(t, "unknown command %s", d.Cmd)
	return ""
}

// managers begins the owners of an object's fields, also of one that an error message quotes.
var managers = regexp.MustCompile(`"managedFields\\*":\[`)

// sortManagers puts the owners of an answer's fields in order: theirs is that of the seconds in which they wrote.
func sortManagers(answer string) string {
	begin := managers.FindStringIndex(answer)
	if begin == nil {
		return answer
	}
	head, rest := answer[:begin[1]], answer[begin[1]:]
	var entries []string
	depth, from := 0, 0
	for i, c := range rest {
		switch {
		case c == '{':
			depth++
		case c == '}':
			if depth--; depth == 0 {
				entries = append(entries, strings.TrimPrefix(rest[from:i+1], ","))
				from = i + 1
			}
		case c == ']' && depth == 0:
			slices.Sort(entries)
			return head + strings.Join(entries, ",") + sortManagers(rest[i:])
		}
	}
	return answer
}

// patience is for the day that something hangs.
const patience = 30 * time.Second

// waitServed asks until there is an answer: upstream serves a definition some time after it has said so.
func waitServed(t testing.TB, c *wiretest.Client, path string) {
	t.Helper()
	for began := time.Now(); time.Since(began) < patience; time.Sleep(5 * time.Millisecond) {
		res, err := c.Admin.Get(c.URL + path)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		if res.StatusCode == http.StatusOK {
			return
		}
	}
	t.Fatalf("%s is not served", path)
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
