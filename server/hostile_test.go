package server_test

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/kx-apiserver/kx/core/escape/escapetest"
	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/server"
	"github.com/kx-apiserver/kx/server/controller"
	"github.com/kx-apiserver/kx/server/options"
	"github.com/kx-apiserver/kx/server/peertest"
)

// log is what a server logs, as kx serve does.
type log struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *log) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// launchLogged is launch for a server whose log is read.
func launchLogged(t *testing.T, edit ...func(*options.Options)) (*running, *log) {
	t.Helper()
	o, text := options.New(), &log{}
	o.InitialObjects, o.Controllers = false, controller.Selection{"*", "-" + controller.ServiceAccounts, "-" + controller.RootCA}
	o.Ephemeral, o.Listen = true, "127.0.0.1:0"
	for _, e := range edit {
		e(o)
	}
	s, err := server.Start(context.Background(), o, slog.New(slog.NewTextHandler(text, nil)))
	must(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), stopLimit)
		defer cancel()
		must(t, s.Stop(ctx))
	})
	r := &running{Server: s, options: o}
	r.config, err = clientcmd.BuildConfigFromFlags("", s.Kubeconfig)
	must(t, err)
	r.config.QPS = -1
	return r, text
}

// clean says whether no text of a JSON document is hostile once a client has decoded it. The objects of steps are left
// out: they stay as they are. seen is what must be there all the same.
func clean(t *testing.T, what string, document []byte, seen string) {
	t.Helper()
	var v any
	if err := json.Unmarshal(document, &v); err != nil {
		t.Fatalf("%s: %v: %s", what, err, document)
	}
	found := false
	var look func(v any)
	look = func(v any) {
		switch v := v.(type) {
		case string:
			if raw := escapetest.Find(v, "\n\t"); raw != "" {
				t.Errorf("%s: %s", what, raw)
			}
			found = found || strings.Contains(v, seen)
		case []any:
			for _, item := range v {
				look(item)
			}
		case map[string]any:
			for name, value := range v {
				if name != "before" && name != "after" {
					look(name)
					look(value)
				}
			}
		}
	}
	look(v)
	if !found {
		t.Errorf("%s: %q is not seen, so nothing hostile was there: %s", what, seen, document)
	}
}

// TestHostileText sends control characters and marks of direction wherever a client may send text, known or not, and
// looks for them in what the server makes of it.
func TestHostileText(t *testing.T) {
	t.Parallel()
	auditLog := filepath.Join(t.TempDir(), "audit.log")
	r, logged := launchLogged(t, tokens(t, "somebody,ann,1\n"), func(o *options.Options) { o.Audit.Log.Path = auditLog })
	admin := r.httpClient(t)

	var all strings.Builder
	for _, client := range []*http.Client{r.tokenClient(t, "nobody"), admin} {
		for _, text := range slices.Backward(escapetest.Texts) { // the lists have the latest: they end with the first
			path := url.PathEscape(text.Raw)
			ask(t, client, "GET", r.URL+"/version/"+path, nil, "Origin: https://"+inHeader(text.Raw))
			header := []string{"Audit-Id: " + inHeader(text.Raw), "User-Agent: " + inHeader(text.Raw)}
			for _, at := range []string{"/version/" + path, "/" + path, "/api/v1/namespaces/" + path + "/configmaps/" + path, "/apis/" + path + "/v1/" + path} {
				for _, method := range []string{"GET", "POST", "DELETE"} {
					res, body := ask(t, client, method, r.URL+at+"?"+inHeader(strings.ReplaceAll(text.Raw, "#", "")), strings.NewReader(text.Raw), append(header, "Content-Type: "+inHeader(text.Raw))...)
					if raw := statusMessage(body); escapetest.Find(raw, "\n\t") != "" {
						t.Errorf("%s %s: the Status says %q", method, at, raw)
					}
					if name := res.Header.Get("Kx-Journey"); name != "" {
						all.Write(r.get(t, kxRoot+"journeys/"+name))
					}
				}
			}
		}
	}

	const seen = `\x1b[2J`
	list := r.get(t, kxRoot+"journeys")
	clean(t, "journeys", list, seen)
	clean(t, "journeys as a table", r.get(t, kxRoot+"journeys", "Accept: application/json;as=Table;v=v1;g=meta.k8s.io"), seen)
	clean(t, "journeys one by one", []byte("["+strings.TrimSuffix(strings.ReplaceAll(all.String(), "\n", ","), ",")+"]"), seen)
	audited, err := os.ReadFile(auditLog)
	must(t, err)
	for what, text := range map[string]string{"the audit log": string(audited), "the log": logged.String()} {
		if raw := escapetest.Find(text, "\n"); raw != "" || !strings.Contains(text, "u009b") {
			t.Errorf("%s: %s", what, raw)
		}
	}
}

// inHeader is what of a text a header or a query can hold.
func inHeader(text string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f {
			return '_'
		}
		return r
	}, text)
}

// statusMessage is the message of a Status, or the whole of what is none.
func statusMessage(body []byte) string {
	var status struct{ Message string }
	if json.Unmarshal(body, &status) != nil {
		return string(body)
	}
	return status.Message
}

func (r *running) get(t *testing.T, path string, headers ...string) []byte {
	t.Helper()
	res, body := ask(t, r.httpClient(t), "GET", r.URL+path, nil, headers...)
	if res.StatusCode != http.StatusOK {
		t.Fatalf("GET %s: %s %s", path, res.Status, body)
	}
	return body
}

// TestHostileWebhook has a webhook say why it does not convert, and a key lie in etcd whose name is hostile.
func TestHostileWebhook(t *testing.T) {
	t.Parallel()
	r := start(t)
	hook := peertest.NewWebhook(t, func(*unstructured.Unstructured, string) error { return errors.New("no: " + escapetest.All()) })
	crd := cronTab("hostile.example.com")
	two := crd.Spec.Versions[0].DeepCopy()
	two.Name, two.Storage = "v9", false
	crd.Spec.Versions = append(crd.Spec.Versions, *two)
	crd.Spec.Conversion = &apiextensionsv1.CustomResourceConversion{Strategy: apiextensionsv1.WebhookConverter, Webhook: &apiextensionsv1.WebhookConversion{
		ClientConfig: hook.ClientConfig(), ConversionReviewVersions: []string{"v1"},
	}}
	r.define(t, crd)
	first := crd.Spec.Versions[0].Name
	const under = "/apis/hostile.example.com/"
	res, body := ask(t, r.httpClient(t), "POST", r.URL+under+first+"/namespaces/default/crontabs", strings.NewReader(`{"apiVersion":"hostile.example.com/`+first+`","kind":"CronTab","metadata":{"name":"one"}}`), "Content-Type: application/json")
	if res.StatusCode != http.StatusCreated {
		t.Fatalf("%s %s", res.Status, body)
	}
	const seen = `no: a\x1b[2Jb`
	for _, query := range []string{"crontabs/one", "crontabs", "crontabs?watch=1&timeoutSeconds=1&resourceVersion=0"} {
		res, body := ask(t, r.httpClient(t), "GET", r.URL+under+"v9/namespaces/default/"+query, nil)
		clean(t, "the answer to "+query, body, seen)
		clean(t, "the journey of "+query, r.get(t, kxRoot+"journeys/"+res.Header.Get("Kx-Journey")), seen)
	}

	key := "/registry/configmaps/default/" + escapetest.All()
	_, err := r.etcd(t).Put(within(t), key, "no object: "+escapetest.All())
	must(t, err)
	clean(t, "keys as a table", r.get(t, kxRoot+"keys?prefix=/registry/configmaps/default/", "Accept: application/json;as=Table;v=v1;g=meta.k8s.io"), "a")
	var value v1alpha1.Key
	must(t, json.Unmarshal(r.get(t, keyPath(key)), &value))
	if value.Spec.Key != key {
		t.Errorf("a key of etcd is not what it is: %q", value.Spec.Key)
	}
	_, err = r.etcd(t).Delete(within(t), key)
	must(t, err)
}
