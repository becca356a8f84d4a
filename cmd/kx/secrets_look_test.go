//go:build unix

package main

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
)

// look reads all that the server keeps and shows, by the ways that there are.
func (p *process) look(t *testing.T, c *client) map[string]string {
	t.Helper()
	get := func(paths ...string) string {
		var all strings.Builder
		for _, path := range paths {
			code, answer := c.do("GET", path, "", nil)
			if code != http.StatusOK {
				t.Errorf("GET %s: %d %s", path, code, answer)
			}
			all.Write(answer)
		}
		return all.String()
	}
	kx := func(args ...string) string {
		cmd := kx(t, args...)
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Errorf("kx %v: %v %s", args, err, out)
		}
		return string(out)
	}
	capture := filepath.Join(t.TempDir(), "all.kxtrace")
	seen := map[string]string{
		"journeys":                p.journeys(t, c),
		"journeys as a table":     kx("--kubeconfig", p.kubeconfig, "get", "journeys", "-o", "wide"),
		"caches":                  get(kxRoot+"caches", kxRoot+"caches/secrets", kxRoot+"caches/secrets/check"),
		"a cached object":         get(kxRoot+"caches/secrets/object?namespace=default&name=warned", kxRoot+"caches/configmaps/object?namespace=default&name=warned"),
		"keys":                    p.keys(t, c),
		"moments and breakpoints": get(kxRoot+"moments", kxRoot+"breakpoints", kxRoot+"faults"),
		"the metrics":             get("/metrics"),
		"what the server logged":  p.stderr.String(),
	}
	kx("--kubeconfig", p.kubeconfig, "trace", "save", capture)
	seen["a capture"] = kx("trace", "show", "--file", capture, "-o", "json")
	for _, form := range []string{"md", "html", "svg"} {
		seen["an export as "+form] = kx("trace", "export", "--file", capture, "", "-o", form)
	}
	var shown strings.Builder
	for line := range strings.Lines(seen["journeys"]) {
		var j v1alpha1.Journey
		if json.Unmarshal([]byte(line), &j) == nil && j.Name != "" && strings.HasSuffix(j.Spec.Name, "s") && j.Spec.Verb == "patch" {
			shown.WriteString(kx("trace", "show", "--file", capture, j.Name, "-o", "yaml"))
			shown.WriteString(kx("trace", "show", "--file", capture, j.Name))
			break
		}
	}
	seen["a capture shown"] = seen["a capture"] + shown.String()
	return seen
}

// journeys are the journeys as a list, and each whole, one a line.
func (p *process) journeys(t *testing.T, c *client) string {
	t.Helper()
	_, answer := c.do("GET", kxRoot+"journeys", "", nil)
	var list v1alpha1.JourneyList
	if err := json.Unmarshal(answer, &list); err != nil || len(list.Items) < 100 {
		t.Fatalf("%d journeys, %v", len(list.Items), err)
	}
	all := string(answer) + "\n"
	for i := range list.Items {
		_, one := c.do("GET", kxRoot+"journeys/"+list.Items[i].Name, "", nil)
		all += strings.TrimSpace(string(one)) + "\n"
	}
	return all
}

// keys are the keys of Secrets and config maps with their values and what those were before.
func (p *process) keys(t *testing.T, c *client) string {
	t.Helper()
	var all strings.Builder
	for _, prefix := range []string{"/registry/secrets/default/", "/registry/configmaps/default/"} {
		_, answer := c.do("GET", kxRoot+"keys?prefix="+prefix, "", nil)
		var list v1alpha1.KeyList
		if err := json.Unmarshal(answer, &list); err != nil || len(list.Items) == 0 {
			t.Fatalf("%d keys below %s, %v: %s", len(list.Items), prefix, err, answer)
		}
		all.Write(answer)
		for i := range list.Items {
			for _, sub := range []string{"", "/history"} {
				_, answer := c.do("GET", kxRoot+"keys/"+list.Items[i].Name+sub, "", nil)
				all.Write(answer)
			}
		}
	}
	return all.String()
}

// tap follows journeys as they happen.
type tap struct {
	end  context.CancelFunc
	done chan struct{}
	text strings.Builder
}

func (p *process) tap(t *testing.T) *tap {
	t.Helper()
	ctx, end := context.WithCancel(t.Context())
	tp := &tap{end: end, done: make(chan struct{})}
	c := p.corpusClient(t)
	req, err := http.NewRequestWithContext(ctx, "GET", p.url+kxRoot+"journeys?watch=1", nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := c.http.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(tp.done)
		defer res.Body.Close()
		_, _ = io.Copy(&tp.text, res.Body)
	}()
	return tp
}

func (tp *tap) stop() string {
	tp.end()
	<-tp.done
	return tp.text.String()
}

// screens are the frames of the screen while it goes through the steps of two journeys, and shows all that is known of each.
func (p *process) screens(t *testing.T) string {
	t.Helper()
	const tabs, steps = 8, 48 // at least as many as there are
	var frames strings.Builder
	s := playScreen(t, p.kubeconfig, filepath.Join(t.TempDir(), "state"))
	defer s.leave()
	s.see("follow on")
	for _, resource := range []string{"secrets", "configmaps"} {
		s.press("/", "ctrl+u", "name:held resource:"+resource, "enter")
		s.see("matching 1", "/"+resource+"/default/held", "createHandler")
		s.press(strings.Repeat("p", steps)) // a write is opened at its end
		for range steps {
			s.press("n")
			for range tabs {
				s.press("]")
				frames.WriteString(ansi.Strip(s.model.View()))
			}
		}
	}
	return frames.String()
}
