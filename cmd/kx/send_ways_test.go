package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/kx-apiserver/kx/cmd/kx/internal/kubectl"
	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/core/request"
	"github.com/kx-apiserver/kx/tui/api"
	"github.com/kx-apiserver/kx/tui/send/exchange"
	"github.com/kx-apiserver/kx/tui/shell"
)

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
		for n := range shell.Programs {
			way := shell.WayOf(n, &r, &h, where)
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
func readByShell(t *testing.T, way shell.Way) (args []string, stdin string) {
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
func (p *sending) realCurl(way shell.Way, code int) {
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
func (p *sending) writeCerts() shell.Target {
	p.t.Helper()
	dir := p.t.TempDir()
	w := shell.Target{Server: p.config.Host, CA: filepath.Join(dir, "ca.crt"), Cert: filepath.Join(dir, "admin crt"), Key: filepath.Join(dir, "admin.key")}
	for name, data := range map[string][]byte{w.CA: p.config.CAData, w.Cert: p.config.CertData, w.Key: p.config.KeyData} {
		if err := os.WriteFile(name, data, 0o600); err != nil {
			p.t.Fatal(err)
		}
	}
	return w
}
