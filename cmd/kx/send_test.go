package main

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httputil"
	"net/url"
	"os"
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
	"github.com/kx-apiserver/kx/server/controller"
	"github.com/kx-apiserver/kx/server/options"
	"github.com/kx-apiserver/kx/tui/api"
	"github.com/kx-apiserver/kx/tui/screen"
	"github.com/kx-apiserver/kx/tui/screen/screentest"
	"github.com/kx-apiserver/kx/tui/send"
	"github.com/kx-apiserver/kx/tui/send/exchange"
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
	o.InitialObjects, o.Controllers = false, controller.Selection{"*", "-" + controller.ServiceAccounts, "-" + controller.RootCA}
	o.Admission.Disabled = []string{"ServiceAccount"} // nobody makes accounts
	o.DataDir, o.Listen = filepath.Join(home, ".kx"), "127.0.0.1:0"
	o.Allow.Breakpoints, o.Allow.Faults = options.Always, options.Always
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
	if p.resources, err = exchange.Resources(t.Context(), p.client); err != nil {
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

// ownNames are resources of whose objects no template knows enough: their names or certificates follow from other values,
// they name another object, they need exactly one of two fields or a server that keeps nothing, their schema does not say
// how times are written or what is the least, and there is no sample in that version.
var ownNames = map[string]bool{
	"bindings": true, "events.events.k8s.io": true, "certificatesigningrequests.certificates.k8s.io": true,
	"clustertrustbundles.certificates.k8s.io": true, "ipaddresses.networking.k8s.io": true,
	"podcertificaterequests.certificates.k8s.io": true, "autoscaling/v1/horizontalpodautoscalers": true,
	"apiservices.apiregistration.k8s.io": true, "storageversionmigrations.storagemigration.k8s.io": true,
	"accessreviews.kx.dev": true, "snapshots.kx.dev": true,
}

// TestTemplates creates an object of every kind that the server has from its template, and then patches and applies the
// templates of those. The schema finds nothing wrong with any of them, and neither does the server.
func TestTemplates(t *testing.T) {
	p := newSending(t)
	made := 0
	for _, r := range p.resources.All() {
		if ownNames[r.FullName()] || ownNames[r.ID()] {
			continue
		}
		doc, err := exchange.Schemas(t.Context(), p.client, r.Group, r.Version)
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
		check := func(r0 request.Request, of schema.Description) {
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
			check(create, schema.Description{Kind: r.Kind, Namespace: base.Namespace, Name: name})
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
			check(patched, schema.Description{Kind: r.Kind, Namespace: base.Namespace, Name: name, Patch: patch})
		}
		for _, sub := range r.Subresources {
			of := schema.Description{Kind: sub.Kind, Namespace: base.Namespace, Name: name}
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
	until(t, "the command says what it waits for", func() bool { return strings.Contains(errOut.String(), "journey "+held.Name) })
	if err := p.client.Create(t.Context(), api.KX+"/journeys/"+held.Name+"/step", map[string]any{"spec": map[string]any{"action": "continue"}}, nil); err != nil {
		t.Fatal(err)
	}
	if code := <-ended; code != 0 || !strings.Contains(out.String(), `"ConfigMapList"`) {
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
			var a answerLine
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
	s := send.New(h, nil)
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
