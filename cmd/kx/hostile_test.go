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
	"time"

	tea "github.com/charmbracelet/bubbletea"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/kx-apiserver/kx/core/escape/escapetest"
	"github.com/kx-apiserver/kx/core/filter"
	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/store/embedded"
)

// TestHostileOutput has hostile texts wherever a request, an object, a rule, a watch or a key of etcd can carry them, and looks
// for them in what kx's own commands print and its screens show.
func TestHostileOutput(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	p := serve(t, "--data-dir", dir, "--allow-breakpoints", "--allow-faults")
	c := p.corpusClient(t)
	hostile := escapetest.All()
	value, err := json.Marshal(escapetest.Any())
	if err != nil {
		t.Fatal(err)
	}
	p.putHostile(t, c, dir, string(value))
	created, updated := p.journeyNamed(t, c, "create"), p.journeyNamed(t, c, "update")
	key := "/registry/configmaps/default/" + hostile

	capture := filepath.Join(dir, "all.kxtrace")
	server := func(args ...string) []string { return append(args, "--data-dir", dir) }
	client := func(args ...string) []string { return append(args, "--kubeconfig", p.kubeconfig) }
	commands := [][]string{
		client("get", "journeys", "-o", "wide"),
		client("get", "bp"),
		client("get", "faults"),
		client("trace", "save", capture),
		client("trace", "ls"),
		client("trace", "ls", "-o", "json"),
		client("trace", "--wait", "3", "--timeout", "3m"),
		client("trace", "--wait", "3", "--timeout", "3m", "-o", "json"),
		client("trace", "show", updated),
		client("trace", "show", updated, "--source"),
		client("trace", "show", created, "--story"),
		client("trace", "show", updated, "--story"),
		client("trace", "show", updated, "--story", "--lang", "zh"),
		client("trace", "compare", created, updated),
		client("trace", "blame", updated, "data.k"),
		{"trace", "show", "--file", capture},
		{"trace", "show", "--file", capture, "-o", "json"},
		{"trace", "show", "--file", capture, "-o", "yaml"},
		{"trace", "show", "--file", capture, updated, "--story"},
		{"trace", "compare", "--file", capture, created, updated},
		{"trace", "blame", "--file", capture, updated, "metadata.annotations[a]"},
		{"trace", "export", "", "--file", capture},
		{"trace", "export", "", "--file", capture, "-o", "html"},
		{"trace", "export", "", "--file", capture, "-o", "svg"},
		server("etcd", "doctor"),
		server("etcd", "top"),
		server("etcd", "status"),
		server("etcd", "history", "--diff", key),
		server("etcd", "diff", "2", "7", "/registry/configmaps"),
		client("cache", "ls"),
		client("cache", "get", "configmaps"),
		client("cache", "check", "configmaps"),
		client("cache", "get", "configmaps", "default/held"),
		client("get", hostile),
		client("trace", "show", hostile),
		client("trace", "ls", "name:"+hostile+")"),
		client("cache", "get", hostile),
	}
	refused := len(commands) - 4 // from here on
	for i, args := range commands {
		p.clean(t, args, i >= refused)
	}
	for _, format := range []string{"table", "json", "yaml"} {
		for _, what := range [][]string{{"ls", "/registry/configmaps"}, {"get", key}, {"get", "/registry/configmaps/default/held"}, {"history", key}, {"find", "--namespace", "default"}} {
			p.clean(t, server(append(append([]string{"etcd"}, what...), "-o", format)...), false)
		}
	}
	if saved, err := os.ReadFile(capture); err != nil || escapetest.Find(string(saved), "\n") != "" || !strings.Contains(string(saved), "u009b") {
		t.Errorf("the capture has %s, %v", escapetest.Find(string(saved), "\n"), err)
	}
	p.hostileScreens(t)
}

// clean runs a command and looks at what it prints.
func (p *process) clean(t *testing.T, args []string, refused bool) {
	t.Helper()
	out, err := kx(t, args...).CombinedOutput()
	var exit *exec.ExitError
	failed := err != nil && !(errors.As(err, &exit) && exit.ExitCode() == exitFound)
	if failed != refused {
		t.Errorf("kx %q: %v %s", args, err, out)
	}
	if raw := escapetest.Find(string(out), "\n\t"); raw != "" || len(out) == 0 {
		t.Errorf("kx %q prints %s", args, raw)
	}
}

// putHostile has what is hostile in objects, in requests and their errors, in rules, in a watch and in a key of etcd. value is all of
// it as JSON.
func (p *process) putHostile(t *testing.T, c *client, dir, value string) {
	t.Helper()
	const maps = "/api/v1/namespaces/default/configmaps"
	agent := http.Header{"User-Agent": {escapetest.InHeader()}, "Content-Type": {asJSON}}
	must := func(want int, method, path, body string) {
		t.Helper()
		if code, answer := c.do(method, path, body, agent); code != want {
			t.Fatalf("%s %s: %d %s", method, path, code, answer)
		}
	}
	p.watchHostile(t, c, maps, agent)
	object := func(k string) string {
		return `{"metadata":{"name":"held","annotations":{"a":` + value + `}},"data":{"k":` + k + `}}`
	}
	must(201, "POST", maps, object(value))
	must(200, "PUT", maps+"/held", object(`"`+value[1:]))
	must(200, "PUT", maps+"/held", object(`"another `+value[1:]))
	must(404, "GET", maps+"/"+url.PathEscape(escapetest.All()), "")
	must(422, "POST", maps, `{"metadata":{"name":`+value+`}}`)
	must(422, "POST", "/api/v1/namespaces", `{"metadata":{"name":"b","labels":{"l":`+value+`}}}`)
	must(201, "POST", "/apis/kx.dev/v1alpha1/breakpoints", `{"metadata":{"name":"hostile"},"spec":{"action":"Trace","filter":`+filterOf(value)+`}}`)
	must(201, "POST", "/apis/kx.dev/v1alpha1/faults", `{"metadata":{"name":"hostile"},"spec":{"effect":"Fail","code":409,"message":`+value+`,"filter":"verb:delete name:faulty"}}`)
	must(201, "POST", "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", strings.ReplaceAll(hostileDefinition, "VALUE", value))
	p.served(t, c, "/apis/hostile.example.com/v1/namespaces/default/foes")
	must(201, "POST", "/apis/hostile.example.com/v1/namespaces/default/foes", `{"apiVersion":"hostile.example.com/v1","kind":"Foe","metadata":{"name":"one"},"spec":`+value+`}`)
	must(201, "POST", maps, `{"metadata":{"name":"faulty"}}`)
	must(409, "DELETE", maps+"/faulty", "")
	putKey(t, dir, "/registry/configmaps/default/"+escapetest.All(),
		`{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":`+value+`,"namespace":"default"},"data":{"k":`+value+`}}`)
}

// hostileDefinition describes its fields and columns with VALUE.
const hostileDefinition = `{"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"foes.hostile.example.com"},
"spec":{"group":"hostile.example.com","scope":"Namespaced","names":{"plural":"foes","kind":"Foe"},"versions":[{"name":"v1","served":true,"storage":true,
"additionalPrinterColumns":[{"name":"Spec","type":"string","jsonPath":".spec","description":VALUE}],
"schema":{"openAPIV3Schema":{"type":"object","description":VALUE,"required":["spec"],"properties":{"spec":{"type":"string","description":VALUE}}}}}]}}`

// served waits until a resource is served.
func (p *process) served(t *testing.T, c *client, path string) {
	t.Helper()
	late := time.After(patience)
	for {
		if code, _ := c.do("GET", path, "", nil); code == http.StatusOK {
			return
		}
		select {
		case <-late:
			t.Fatal(path + " is not served")
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// filterOf is a filter that asks for a value, as JSON.
func filterOf(value string) string {
	var text string
	_ = json.Unmarshal([]byte(value), &text)
	data, _ := json.Marshal(filter.Compose("name", text))
	return string(data)
}

// watchHostile has a watcher whose user agent is hostile, until the test ends.
func (p *process) watchHostile(t *testing.T, c *client, path string, header http.Header) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), "GET", c.url+path+"?watch=1&resourceVersion=0", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header = header.Clone()
	res, err := c.http.Do(req)
	if err != nil || res.StatusCode != http.StatusOK {
		t.Fatal(res, err)
	}
	t.Cleanup(func() { _ = res.Body.Close() })
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

// journeyNamed is the last journey with a verb of the object.
func (p *process) journeyNamed(t *testing.T, c *client, verb string) string {
	t.Helper()
	_, answer := c.do("GET", kxRoot+"journeys?filter="+url.QueryEscape("name:held verb:"+verb), "", nil)
	var list v1alpha1.JourneyList
	if err := json.Unmarshal(answer, &list); err != nil || len(list.Items) == 0 {
		t.Fatalf("%v: %s", err, answer)
	}
	return list.Items[len(list.Items)-1].Name
}

// hostileScreens goes through all screens, in which every character but line feeds must be one to be seen. There are no colours, so
// that an escape code is somebody else's.
func (p *process) hostileScreens(t *testing.T) {
	t.Helper()
	s := playIn(t, p.kubeconfig, filepath.Join(t.TempDir(), "state"), "none")
	defer s.leave()
	look := func(keys ...string) {
		t.Helper()
		for _, key := range append([]string{""}, keys...) {
			s.press(key)
			if raw := escapetest.Find(s.model.View(), "\n"); raw != "" {
				t.Fatalf("after %q the screen shows %s", key, raw)
			}
		}
	}
	see := func(keys, text string) {
		t.Helper()
		s.press(strings.Fields(keys)...)
		s.see(text)
		look()
	}
	const sign = "[2J" // of what is hostile, however it is escaped
	paste := func() {
		s.send(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune(escapetest.Any()), Paste: true})
		look()
	}

	s.see("follow on")
	for _, keys := range []string{"/ ctrl+u", ":", "B b"} { // the filter, the palette, a question
		s.press(strings.Fields(keys)...)
		paste()
		look("tab", "enter", "esc", "esc")
	}
	see("1 / ctrl+u code:404 enter", "404")
	see("/ ctrl+u name:held enter", "/configmaps/default/held")
	look("enter", "g")
	for range 30 {
		look("n", "]", "]", "]", "]", "]", "]", "]", "]")
	}
	see("d", sign)
	look("u", "d", "v", "A", "A", "esc")
	see("S", "Story")
	look("n", "n", "n", "esc", "esc")
	see("g m G D", "Steps of both")
	look("n", "n", "u", "tab", "esc", "esc")
	see("B", sign) // rules
	look("j", "k", "tab", "esc", "esc")
	see("2", "Request")
	look("tab", "tab", "tab")
	see("1 r", "[2 Send]")
	see("", sign) // the request with its body, to be sent again
	look("tab", "e", "j", "esc", "tab", "tab", "1")
	see("V", "[3 etcd]")
	see("", sign)          // its key in etcd
	see("", "namespaces/") // among the others
	look("tab", "j", "j", "d", "a", "a", "a", "u", "tab", "k", "k", "k", "f")
	see("held enter", "/registry/configmaps/default/held")
	see("H", "[4 Cache]")
	see("", sign) // the cache, and who watches
	look("tab", "j", "d", "j", "tab")
	see("s", "configmaps")
	look("tab", "j", "j", "v", "esc")
	see("ctrl+l", "Log")
	look("esc")
	s.press("1", "/", "ctrl+u", "resource:foes verb:create", "enter")
	see("", "default/one")
	see("r", "[2 Send]")
	see("", "Foe")
	see("T", sign) // an example, with what the definition says of each field
	look("j", "tab", "j", "j", "5")
	s.press("/")
	s.press("foes", "enter")
	s.see("foes")
	look("enter", "tab", "j", "j", "j", "v", "esc")
}
