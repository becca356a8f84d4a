//go:build unix

package main

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/kx-apiserver/kx/core/escape/escapetest"
	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/store/embedded"
)

// TestHostileOutput has hostile texts in requests, in a stored object and in a key of etcd, and looks for them in what
// kx's own commands print and its screens show.
func TestHostileOutput(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := serve(t, "--data-dir", dir)
	c := p.corpusClient(t)
	hostile := escapetest.All()
	value, err := json.Marshal(hostile)
	if err != nil {
		t.Fatal(err)
	}
	const maps = "/api/v1/namespaces/default/configmaps"
	object := `{"metadata":{"name":"held","annotations":{"a":` + string(value) + `}},"data":{"k":` + string(value) + `}}`
	if code, answer := c.do("POST", maps, object, http.Header{"Content-Type": {asJSON}}); code != 201 {
		t.Fatalf("%d %s", code, answer)
	}
	agent := http.Header{"User-Agent": {strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return '_'
		}
		return r
	}, hostile)}}
	c.do("GET", maps+"/"+url.PathEscape(hostile), "", agent)
	key := "/registry/configmaps/default/" + hostile
	putKey(t, dir, key, `{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":`+string(value)+`,"namespace":"default"},"data":{"k":`+string(value)+`}}`)

	capture := filepath.Join(dir, "all.kxtrace")
	server := func(args ...string) []string { return append(args, "--data-dir", dir) }
	commands := [][]string{
		{"get", "journeys", "-o", "wide", "--kubeconfig", p.kubeconfig},
		{"trace", "save", capture, "--kubeconfig", p.kubeconfig},
		{"trace", "show", "--file", capture},
		{"trace", "show", "--file", capture, "-o", "json"},
		{"trace", "show", "--file", capture, "-o", "yaml"},
		{"trace", "show", p.journeyNamed(t, c, "held"), "--kubeconfig", p.kubeconfig},
		{"trace", "export", "", "--file", capture},
		{"trace", "export", "", "--file", capture, "-o", "html"},
		{"trace", "export", "", "--file", capture, "-o", "svg"},
		{"trace", "blame", p.journeyNamed(t, c, "held"), "data.k", "--kubeconfig", p.kubeconfig},
		{"etcd", "doctor", "--data-dir", dir},
		{"etcd", "top", "--data-dir", dir},
		{"cache", "get", "configmaps", "--kubeconfig", p.kubeconfig},
		{"cache", "check", "configmaps", "--kubeconfig", p.kubeconfig},
		{"cache", "get", "configmaps", "default/held", "--kubeconfig", p.kubeconfig},
		{"get", hostile, "--kubeconfig", p.kubeconfig},
	}
	for _, format := range []string{"table", "json", "yaml"} {
		for _, what := range [][]string{{"ls", "/registry/configmaps"}, {"get", key}, {"get", "/registry/configmaps/default/held"}, {"history", key}, {"find", "--namespace", "default"}} {
			commands = append(commands, server(append(append([]string{"etcd"}, what...), "-o", format)...))
		}
	}
	commands = append(commands, server("etcd", "history", "--diff", key), server("etcd", "diff", "2", "7", "/registry/configmaps"))
	for _, args := range commands {
		out, err := kx(t, args...).CombinedOutput()
		var exit *exec.ExitError
		failed := err != nil && !(errors.As(err, &exit) && exit.ExitCode() == exitFound)
		if failed != (args[1] == hostile) { // no resource is called so
			t.Errorf("kx %q: %v %s", args, err, out)
		}
		if raw := escapetest.Find(string(out), "\n\t"); raw != "" || len(out) == 0 {
			t.Errorf("kx %q prints %s", args, raw)
		}
	}
	if saved, err := os.ReadFile(capture); err != nil || escapetest.Find(string(saved), "\n") != "" || !strings.Contains(string(saved), "u009b") {
		t.Errorf("the capture has %s, %v", escapetest.Find(string(saved), "\n"), err)
	}
	if raw := escapetest.Find(p.hostileScreens(t), "\n"); raw != "" {
		t.Errorf("a screen shows %s", raw)
	}
}

func putKey(t *testing.T, dir, key, value string) {
	t.Helper()
	c, err := clientv3.New(clientv3.Config{Endpoints: []string{"unix://" + filepath.Join(dir, embedded.SocketName)}, Logger: zap.NewNop()})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	if _, err := c.Put(t.Context(), key, value); err != nil {
		t.Fatal(err)
	}
}

// journeyNamed is the journey that created an object.
func (p *process) journeyNamed(t *testing.T, c *client, name string) string {
	t.Helper()
	_, answer := c.do("GET", kxRoot+"journeys?filter="+url.QueryEscape("verb:create name:"+name), "", nil)
	var list v1alpha1.JourneyList
	if err := json.Unmarshal(answer, &list); err != nil || len(list.Items) != 1 {
		t.Fatalf("%v: %s", err, answer)
	}
	return list.Items[0].Name
}

// hostileScreens are frames of the screens that show what others wrote.
func (p *process) hostileScreens(t *testing.T) string {
	t.Helper()
	var frames strings.Builder
	s := play(t, p.kubeconfig, filepath.Join(t.TempDir(), "state"))
	defer s.leave()
	look := func(text string) {
		s.see(text)
		frames.WriteString(ansi.Strip(s.model.View()))
	}
	look("follow on")
	s.press("/", "ctrl+u", "name:held", "enter")
	look("/configmaps/default/held")
	s.press("enter", "g")
	for range 30 {
		s.press("n")
		for range 8 {
			s.press("]")
			frames.WriteString(ansi.Strip(s.model.View()))
		}
	}
	s.press("/", "ctrl+u", "code:404", "enter")
	look("404")
	return frames.String()
}
