package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/kx-apiserver/kx/cmd/kx/internal/kubectl"
	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/core/request"
	"github.com/kx-apiserver/kx/docs"
	"github.com/kx-apiserver/kx/server"
	"github.com/kx-apiserver/kx/server/options"
	"github.com/kx-apiserver/kx/tui/api"
	"github.com/kx-apiserver/kx/tui/screen"
	"github.com/kx-apiserver/kx/tui/screen/screentest"
	"github.com/kx-apiserver/kx/tui/send"
	"github.com/kx-apiserver/kx/tui/send/catalog"
	"github.com/kx-apiserver/kx/tui/send/exchange"
	"github.com/kx-apiserver/kx/tui/send/sameas"
	"github.com/kx-apiserver/kx/tui/send/schema"
)

// sending is a server to send requests to, and what one sends them with.
type sending struct {
	t          *testing.T
	kubeconfig string
	config     *rest.Config
	client     *api.Client
	resources  *request.Resources
}

// newSending starts a server on which requests may be held, with the CronTab of the prompt's tests.
func newSending(t *testing.T) *sending {
	t.Helper()
	home := t.TempDir()
	for name, value := range map[string]string{"HOME": home, "KUBECONFIG": "", "LANG": "C", "KX_JOIN_ONLY": ""} {
		t.Setenv(name, value)
	}
	o := options.New()
	o.DataDir, o.Listen = filepath.Join(home, ".kx"), "127.0.0.1:0"
	o.Allow.Breakpoints, o.Allow.Faults = true, true
	s, err := server.Start(t.Context(), o, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := s.Stop(ctx); err != nil {
			t.Error(err)
		}
	})
	p := &sending{t: t, kubeconfig: s.Kubeconfig}
	if p.config, err = clientcmd.BuildConfigFromFlags("", s.Kubeconfig); err != nil {
		t.Fatal(err)
	}
	p.config.QPS = -1
	if p.client, err = api.New(p.config); err != nil {
		t.Fatal(err)
	}
	p.type0("create", "-f", "testdata/crontabs.yaml")
	p.type0("wait", "--for=condition=Established", "crd", "--all")
	if p.resources, err = catalog.Resources(t.Context(), p.client); err != nil {
		t.Fatal(err)
	}
	return p
}

// type0 types a command that has to work.
func (p *sending) type0(args ...string) answer {
	p.t.Helper()
	a := typeCommand(args...)
	if a.code != 0 {
		p.t.Fatalf("kx %v: %+v", args, a)
	}
	return a
}

// do sends a request and returns the answer.
func (p *sending) do(r request.Request) (code int, body []byte, journey string) {
	p.t.Helper()
	h, err := r.Build(p.resources)
	if err != nil {
		p.t.Fatalf("%s: %v", r.Title(), err)
	}
	res, done, err := exchange.Do(p.t.Context(), p.client, h, exchange.Options{})
	if err != nil {
		p.t.Fatalf("%s: %v", r.Title(), err)
	}
	defer done()
	defer res.Body.Close()
	body, err = io.ReadAll(res.Body)
	if err != nil {
		p.t.Fatal(err)
	}
	return res.StatusCode, body, res.Header.Get(exchange.JourneyHeader)
}

func (p *sending) journey(id string) *v1alpha1.Journey {
	p.t.Helper()
	var j v1alpha1.Journey
	if err := p.client.Get(p.t.Context(), api.KX+"/journeys/"+id, nil, &j); err != nil {
		p.t.Fatal(err)
	}
	return &j
}

// TestTemplates creates an object of every kind that the server has from its template, and then patches and applies the
// templates of those. The schema finds nothing wrong with any of them, and neither does the server.
func TestTemplates(t *testing.T) {
	p := newSending(t)
	made := 0
	for _, r := range p.resources.All() {
		doc, err := catalog.Schemas(t.Context(), p.client, r.Group, r.Version)
		if err != nil {
			t.Fatal(err)
		}
		name := "made-of-a-template"
		if r.Plural == "customresourcedefinitions" {
			name = "crontabs.stable.example.com"
			p.type0("delete", "crd", name)
		}
		base := request.Request{Resource: r.ID(), Name: name}
		if r.Namespaced {
			base.Namespace = "default"
		}
		check := func(r0 request.Request, of schema.Of) {
			t.Helper()
			r0.Body = doc.Template(of)
			if problems := doc.Check(r0.Body, of); len(problems) > 0 {
				t.Errorf("%s: %v in\n%s", r0.Title(), problems, r0.Body)
			}
			if code, body, _ := p.do(r0); code/100 != 2 {
				t.Errorf("%s: %d %s\n%s", r0.Title(), code, body, r0.Body)
			}
			made++
		}
		if r.Can(request.Create, "") {
			create := base
			create.Verb, create.Name = request.Create, ""
			check(create, schema.Of{Kind: r.Kind, Namespace: base.Namespace, Name: name})
		}
		for _, patch := range request.PatchTypes() {
			custom := r.Group == "stable.example.com"
			if !r.Can(request.Patch, "") || custom && patch == request.StrategicPatch {
				continue
			}
			patched := base
			patched.Verb, patched.Patch = request.Patch, patch
			if patch == request.ApplyPatch {
				patched.Query = url.Values{"fieldManager": {"test"}, "force": {"true"}}
			}
			check(patched, schema.Of{Kind: r.Kind, Namespace: base.Namespace, Name: name, Patch: patch})
		}
		for _, sub := range r.Subresources {
			of := schema.Of{Kind: sub.Kind, Namespace: base.Namespace, Name: name}
			switch below := base; {
			case sub.Name == "scale":
				below.Verb, below.Subresource = request.Update, sub.Name
				check(below, of)
			case sub.Name == "token":
				below.Verb, below.Subresource = request.Create, sub.Name
				check(below, of)
			}
		}
	}
	if made < 40 {
		t.Errorf("only %d templates were tried", made)
	}
}

// ways are requests that are sent in every way that there is.
func ways() []request.Request {
	const cm = "v1/configmaps"
	object := "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a # it's \"a\"\n  namespace: default\ndata:\n  k: $HOME `id` \\n\n"
	in := func(verb request.Verb, name string) request.Request {
		return request.Request{Verb: verb, Resource: cm, Namespace: "default", Name: name}
	}
	with := func(r request.Request, f func(*request.Request)) request.Request {
		f(&r)
		return r
	}
	patch := func(t request.PatchType, body string) request.Request {
		return with(in(request.Patch, "a"), func(r *request.Request) { r.Patch, r.Body = t, body })
	}
	return []request.Request{
		with(in(request.Create, ""), func(r *request.Request) {
			r.Body, r.Query = object, url.Values{"dryRun": {"All"}, "fieldManager": {"it's me"}}
		}),
		in(request.Get, "a"), in(request.Get, "none"), in(request.List, ""),
		with(in(request.List, ""), func(r *request.Request) { r.Namespace = "" }),
		with(in(request.List, ""), func(r *request.Request) { r.Query = url.Values{"labelSelector": {"a in (b, c),!d"}} }),
		with(in(request.List, ""), func(r *request.Request) { r.Query = url.Values{"limit": {"1"}, "resourceVersion": {"0"}} }),
		with(in(request.Watch, ""), func(r *request.Request) { r.Query = url.Values{"timeoutSeconds": {"1"}, "resourceVersion": {"0"}} }),
		with(in(request.Update, "a"), func(r *request.Request) { r.Body = object }),
		patch(request.MergePatch, "data: {k: it's, l: 'x y'}\n"),
		patch(request.StrategicPatch, `{"data":{"k":"2"}}`),
		patch(request.JSONPatch, "- op: add\n  path: /data/m\n  value: |\n    two\n    lines\n"),
		with(patch(request.ApplyPatch, object), func(r *request.Request) { r.Query = url.Values{"fieldManager": {"me"}, "force": {"true"}} }),
		{Verb: request.Update, Resource: "apps/v1/deployments", Namespace: "default", Name: "web", Subresource: "scale",
			Body: "apiVersion: autoscaling/v1\nkind: Scale\nmetadata: {name: web, namespace: default}\nspec: {replicas: 2}\n"},
		with(in(request.Delete, "a"), func(r *request.Request) { r.Query = url.Values{"dryRun": {"All"}, "propagationPolicy": {"Orphan"}} }),
		with(in(request.DeleteCollection, ""), func(r *request.Request) { r.Query = url.Values{"dryRun": {"All"}} }),
		{Method: "GET", Path: "/api/v1/namespaces/default?pretty=true"},
	}
}

// TestWays sends requests as the screen does, and then by the commands that are said to do the same, as a shell reads
// them. The journeys are of the same request.
func TestWays(t *testing.T) {
	p := newSending(t)
	p.type0("create", "configmap", "a")
	p.type0("create", "deployment", "web", "--image=nginx")
	certs := p.writeCerts()
	for _, r := range ways() {
		h, err := r.Build(nil)
		if err != nil {
			t.Fatal(err)
		}
		code, _, id := p.do(r)
		want := p.journey(id)
		where := certs
		where.Kubeconfig = p.kubeconfig
		for _, way := range sameas.Ways(&r, &h, where) {
			if way.Text == "" {
				t.Errorf("%s: %s", r.Title(), way.Short())
				continue
			}
			args, stdin := readByShell(t, way)
			var got *v1alpha1.Journey
			switch way.Program {
			case "curl":
				got = p.curl(args, stdin)
				p.realCurl(way, int(want.Status.Code))
			default:
				got = p.kubectl(args, stdin, want, code)
			}
			if got == nil {
				t.Errorf("%s: no journey of\n%s\nis of the same request", r.Title(), way.Text)
				continue
			}
			same := got.Spec.Method == want.Spec.Method && got.Spec.Resource == want.Spec.Resource && got.Spec.Name == want.Spec.Name &&
				got.Spec.Subresource == want.Spec.Subresource && got.Spec.Verb == want.Spec.Verb && got.Status.Code == want.Status.Code
			if way.Program != "kubectl" { // which has its own queries and encodings
				same = same && got.Spec.URI == want.Spec.URI && got.Spec.ContentType == want.Spec.ContentType
			}
			if !same {
				t.Errorf("%s:\n%s\nis %+v %d, want %+v %d", r.Title(), way.Text, got.Spec, got.Status.Code, want.Spec, want.Status.Code)
			}
		}
	}
}

// readByShell lets a shell read a command, with functions in the place of programs, and returns the words and the input that
// the program would have got.
func readByShell(t *testing.T, way sameas.Way) (args []string, stdin string) {
	t.Helper()
	script := fmt.Sprintf("%s() { for a in \"$@\"; do printf '%%s\\0' \"$a\"; done; printf '\\1'; cat; }\n%s\n", way.Program, way.Text)
	out, err := exec.Command("sh", "-c", script).Output()
	if err != nil {
		t.Fatalf("%s: %v", way.Text, err)
	}
	head, stdin, ok := strings.Cut(string(out), "\x01")
	if !ok {
		t.Fatalf("%s: the program was not called", way.Text)
	}
	return strings.Split(strings.TrimSuffix(head, "\x00"), "\x00"), stdin
}

// kubectl runs a command of kubectl's, or kx send, and finds the journey that is like another among those that it made.
func (p *sending) kubectl(args []string, stdin string, like *v1alpha1.Journey, code int) *v1alpha1.Journey {
	p.t.Helper()
	if at := slices.Index(args, "-"); stdin != "" && at > 0 {
		file := filepath.Join(p.t.TempDir(), "stdin.yaml") // kubectl's code reads the process's own stdin
		if err := os.WriteFile(file, []byte(stdin), 0o600); err != nil {
			p.t.Fatal(err)
		}
		args[at] = file
	}
	var out, errOut bytes.Buffer
	exit := run(context.Background(), append(args, "--trace=json"), kubectl.Streams{In: strings.NewReader(stdin), Out: &out, ErrOut: &errOut})
	if (exit != 0) != (code >= 400) {
		p.t.Errorf("%v: exit code %d, %s", args, exit, errOut.String())
	}
	var found *v1alpha1.Journey
	for line := range strings.Lines(errOut.String()) {
		var j v1alpha1.Journey
		if json.Unmarshal([]byte(line), &j) == nil && j.Spec.Verb == like.Spec.Verb && j.Spec.Resource == like.Spec.Resource {
			found = &j
		}
	}
	return found
}

// curl sends what curl would send.
func (p *sending) curl(args []string, stdin string) *v1alpha1.Journey {
	p.t.Helper()
	r := api.Request{Method: http.MethodGet, Header: http.Header{"Kx-Trace": {"objects"}}}
	for i := 0; i < len(args); i++ {
		switch args[i] {
		case "-sS", "-N":
		case "-X":
			i++
			r.Method = args[i]
		case "-H":
			i++
			name, value, _ := strings.Cut(args[i], ": ")
			r.Header[name] = []string{value}
		case "--data-raw":
			i++
			r.Body = []byte(args[i])
		case "--data-binary":
			i++
			r.Body = []byte(stdin)
		case "--cacert", "--cert", "--key":
			i++
		default:
			u, err := url.Parse(args[i])
			if err != nil || u.Scheme != "https" {
				p.t.Fatalf("%v: %v", args, err)
			}
			r.Path = u.RequestURI()
		}
	}
	res, err := p.client.Send(p.t.Context(), r)
	if err != nil {
		p.t.Fatal(err)
	}
	defer res.Body.Close()
	_, _ = io.Copy(io.Discard, res.Body)
	return p.journey(res.Header.Get(exchange.JourneyHeader))
}

// realCurl runs the command as it is, where there is a curl.
func (p *sending) realCurl(way sameas.Way, code int) {
	p.t.Helper()
	if _, err := exec.LookPath("curl"); err != nil {
		return
	}
	head, rest, _ := strings.Cut(way.Text, " ")
	out, err := exec.Command("sh", "-c", head+` -o /dev/null -w '%{http_code}' `+rest).Output()
	if err != nil || string(out) != fmt.Sprint(code) {
		p.t.Errorf("%s: %s, %v, want %d", way.Text, out, err, code)
	}
}

// writeCerts writes the files with which curl reaches the server.
func (p *sending) writeCerts() sameas.Where {
	p.t.Helper()
	dir := p.t.TempDir()
	w := sameas.Where{Server: p.config.Host, CA: filepath.Join(dir, "ca.crt"), Cert: filepath.Join(dir, "admin crt"), Key: filepath.Join(dir, "admin.key")}
	for name, data := range map[string][]byte{w.CA: p.config.CAData, w.Cert: p.config.CertData, w.Key: p.config.KeyData} {
		if err := os.WriteFile(name, data, 0o600); err != nil {
			p.t.Fatal(err)
		}
	}
	return w
}

// TestSendHeld holds a request at its first step, tells it to go on, and takes its answer.
func TestSendHeld(t *testing.T) {
	p := newSending(t)
	file := filepath.Join(t.TempDir(), "r.yaml")
	if err := os.WriteFile(file, []byte("{verb: list, resource: v1/configmaps, namespace: default}"), 0o600); err != nil {
		t.Fatal(err)
	}
	errOut, out := &buffer{}, &buffer{}
	ended := make(chan int, 1)
	go func() {
		ended <- run(context.Background(), []string{"send", "-f", file, "--held"}, kubectl.Streams{In: strings.NewReader(""), Out: out, ErrOut: errOut})
	}()
	held := v1alpha1.Journey{}
	err := p.client.Watch(t.Context(), api.KX+"/journeys", url.Values{"filter": {"phase:held"}}, func(e api.Event) error {
		if e.Type == "BOOKMARK" {
			return nil
		}
		if err := json.Unmarshal(e.Object, &held); err != nil {
			return err
		}
		return io.EOF
	})
	if err != io.EOF || held.Spec.URI != "/api/v1/namespaces/default/configmaps" || len(held.Status.Held) != 1 {
		t.Fatalf("%v: %+v", err, held)
	}
	if out.String() != "" {
		t.Errorf("it was answered: %s", out)
	}
	if err := p.client.Create(t.Context(), api.KX+"/journeys/"+held.Name+"/step", map[string]any{"spec": map[string]any{"action": "continue"}}, nil); err != nil {
		t.Fatal(err)
	}
	if code := <-ended; code != 0 || !strings.Contains(out.String(), `"ConfigMapList"`) || !strings.Contains(errOut.String(), "journey "+held.Name) {
		t.Errorf("exit code %d, %s, %s", code, out, errOut)
	}
	var left v1alpha1.BreakpointList
	if err := p.client.Get(t.Context(), api.KX+"/breakpoints", nil, &left); err != nil || len(left.Items) != 0 {
		t.Errorf("%v: %d breakpoints are left", err, len(left.Items))
	}
}

var yamlBlock = regexp.MustCompile("(?s)```yaml\n(.*?)```")

// TestSendDocs sends the requests that the document shows.
func TestSendDocs(t *testing.T) {
	newTyping(t)
	doc, err := docs.Files.ReadFile("send.md")
	if err != nil {
		t.Fatal(err)
	}
	blocks := yamlBlock.FindAllStringSubmatch(string(doc), -1)
	if len(blocks) == 0 {
		t.Fatal("the document shows no requests")
	}
	for _, b := range blocks {
		requests, err := request.Parse([]byte(b[1]))
		if err != nil {
			t.Fatal(err)
		}
		var out, errOut bytes.Buffer
		code := run(context.Background(), []string{"send", "-f", "-", "-o", "json"}, kubectl.Streams{In: strings.NewReader(b[1]), Out: &out, ErrOut: &errOut})
		if lines := strings.Count(out.String(), "\n"); code != 0 || lines != len(requests) {
			t.Errorf("exit code %d, %d answers to %d requests, %s", code, lines, len(requests), errOut.String())
		}
		for line := range strings.Lines(out.String()) {
			var a sentAnswer
			if err := json.Unmarshal([]byte(line), &a); err != nil || a.Code/100 != 2 || len(a.Body) == 0 || a.TookMicros <= 0 {
				t.Errorf("%v: %s", err, line)
			}
		}
	}
}

// TestSendScreen drives the screen over a real server: a template of CronTab is sent, and then held, stepped and let go.
func TestSendScreen(t *testing.T) {
	p := newSending(t)
	target, err := url.Parse(p.config.Host)
	if err != nil {
		t.Fatal(err)
	}
	transport, err := rest.TransportFor(p.config)
	if err != nil {
		t.Fatal(err)
	}
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }, Transport: transport, FlushInterval: -1,
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) },
		ErrorLog:     slog.NewLogLogger(slog.DiscardHandler, slog.LevelError),
	}
	h := screentest.New(t, proxy)
	s := send.New(h)
	h.Attach(s)
	saw := func(want string) func() bool {
		return func() bool { return strings.Contains(strings.Join(h.Frame(200, 56), "\n"), want) }
	}
	h.Press("/")
	h.Type("ct")
	h.Press("enter")
	if !saw("kind: CronTab")() || !saw("no problem found")() {
		t.Fatalf("there is no template:\n%s", strings.Join(h.Frame(200, 56), "\n"))
	}
	h.Press("r")
	h.Until("the answer is there", saw("201 Created"))
	h.Press("enter")
	id := h.Went[0].(screen.ToRequest).Journey
	if j := p.journey(id); j.Status.Level != "Objects" || j.Spec.Resource != "crontabs" {
		t.Errorf("the journey is %+v, %s", j.Spec, j.Status.Level)
	}
	h.Press("R")
	h.Until("it is held", func() bool { return len(h.Went) == 2 })
	held := h.Went[1].(screen.ToRequest).Journey
	if j := p.journey(held); j.Status.Phase != v1alpha1.JourneyHeld {
		t.Errorf("the journey is %s", j.Status.Phase)
	}
	if err := p.client.Create(t.Context(), api.KX+"/journeys/"+held+"/step", map[string]any{"spec": map[string]any{"action": "continue"}}, nil); err != nil {
		t.Fatal(err)
	}
	h.Until("it was answered", saw("409 Conflict"))
	if j := p.journey(held); !slices.Contains(j.Status.Touched, "Held") {
		t.Errorf("the journey was touched: %v", j.Status.Touched)
	}
}
