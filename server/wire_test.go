package server_test

import (
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/client-go/transport"

	"github.com/kx-apiserver/kx/server/controller"
	"github.com/kx-apiserver/kx/server/internal/wiretest"
	"github.com/kx-apiserver/kx/server/options"
)

// tokens writes a token file.
func tokens(t testing.TB, lines string) func(*options.Options) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "tokens.csv")
	must(t, os.WriteFile(file, []byte(lines), 0o600))
	return func(o *options.Options) { o.Access.TokenAuthFile = file }
}

// uncollected turns all controllers off but that of namespaces: the answers were recorded without them, and they may act between two
// requests.
func uncollected(o *options.Options) {
	o.Controllers = controller.Selection{controller.Namespace}
}

// TestWire sends the requests of the transcripts, in the order of the files. -rewrite accepts what comes back. The module
// in testdata/upstream sends the same to the library of Kubernetes and compares.
func TestWire(t *testing.T) {
	t.Parallel()
	r := start(t, tokens(t, "somebody,ann,1\n"), uncollected)
	c := &wiretest.Client{URL: r.URL, Admin: r.httpClient(t), Anyone: r.anyone(t)}
	datadriven.Walk(t, filepath.Join("testdata", "wire"), func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			if d.Cmd != "ask" {
				d.Fatalf(t, "unknown command %s", d.Cmd)
			}
			return c.Ask(t, d.Input)
		})
	})
}

// TestResources does the same for what each resource has of its own: subresources, old versions, validation. Upstream's
// library does not have these resources.
func TestResources(t *testing.T) {
	t.Parallel()
	r := start(t, func(o *options.Options) { o.RuntimeConfig = map[string]string{"apps/v1beta1": "true"} })
	c := &wiretest.Client{URL: r.URL, Admin: r.httpClient(t), Anyone: r.anyone(t)}
	datadriven.RunTest(t, filepath.Join("testdata", "resources.txt"), func(t *testing.T, d *datadriven.TestData) string {
		return c.Ask(t, d.Input)
	})
}

// TestReviews asks who somebody is and who may do what. Upstream's library does not have these resources either.
func TestReviews(t *testing.T) {
	t.Parallel()
	r := start(t, tokens(t, "somebody,ann,1,\"readers,writers\"\n"), func(o *options.Options) {
		o.Tokens.APIAudiences = []string{"https://kubernetes.default.svc"}
	}, withObjects("192.0.2.1")) // roles let users ask
	r.ready(t)
	c := &wiretest.Client{URL: r.URL, Admin: r.httpClient(t), Anyone: r.anyone(t)}
	datadriven.RunTest(t, filepath.Join("testdata", "reviews.txt"), func(t *testing.T, d *datadriven.TestData) string {
		return c.Ask(t, d.Input)
	})
}

// TestDryRuns writes everything in every way with dryRun=All: the answers are those of a real write, and etcd stays at
// its revision.
func TestDryRuns(t *testing.T) {
	t.Parallel()
	r := start(t, func(o *options.Options) { o.RuntimeConfig = map[string]string{"apps/v1beta1": "true"} })
	client, etcd := r.httpClient(t), r.etcd(t)
	const meta, pod = `"metadata":{"name":"x"}`, `"spec":{"containers":[{"name":"c","image":"i"}]}`
	const workload = `{` + meta + `,"spec":{"selector":{"matchLabels":{"a":"b"}},"template":{"metadata":{"labels":{"a":"b"}},` + pod + `}}}`
	const scale = `{"metadata":{"name":"x","namespace":"default"},"spec":{"replicas":7}}`
	resources := []struct {
		path, object string
		// sub are subresources, and what is put there.
		sub map[string]string
	}{
		{"/api/v1/namespaces", `{` + meta + `}`, map[string]string{"status": `{` + meta + `}`, "finalize": `{` + meta + `,"spec":{"finalizers":["kubernetes","example.com/f"]}}`}},
		{"/api/v1/namespaces/default/configmaps", `{` + meta + `,"data":{"a":"b"}}`, nil},
		{"/api/v1/namespaces/default/secrets", `{` + meta + `,"stringData":{"a":"b"}}`, nil},
		{"/api/v1/namespaces/default/serviceaccounts", `{` + meta + `}`, nil},
		{"/api/v1/namespaces/default/events", `{` + meta + `,"involvedObject":{"kind":"Pod","name":"p","namespace":"default"}}`, nil},
		{"/api/v1/namespaces/default/pods", `{` + meta + `,` + pod + `}`, map[string]string{"status": `{` + meta + `,` + pod + `,"status":{"phase":"Running"}}`}},
		{"/api/v1/namespaces/default/services", `{` + meta + `,"spec":{"type":"NodePort","ports":[{"port":80}]}}`, map[string]string{"status": `{` + meta + `,"spec":{"ports":[{"port":80}]}}`}},
		{"/apis/apps/v1/namespaces/default/deployments", workload, map[string]string{"status": workload, "scale": scale}},
		{"/apis/apps/v1/namespaces/default/replicasets", workload, map[string]string{"status": workload, "scale": scale}},
		{"/apis/apps/v1beta1/namespaces/default/deployments", strings.Replace(workload, `"x"`, `"x1"`, 1), nil},
	}
	for _, resource := range resources {
		name := "x"
		if strings.Contains(resource.object, `"x1"`) {
			name = "x1"
		}
		item, patch := resource.path+"/"+name, `{"metadata":{"labels":{"new":"yes"}}}`
		type write struct{ method, path, body string }
		asks := []write{
			{"POST", resource.path, resource.object}, // the object is not there yet
			{"PUT", item, strings.Replace(resource.object, `"metadata":{`, `"metadata":{"labels":{"new":"yes"},`, 1)},
			{"PATCH", item, patch},
			{"DELETE", item, ""},
			{"DELETE", item + "?propagationPolicy=Foreground", ""},
		}
		if resource.path != "/api/v1/namespaces" {
			asks = append(asks, write{"DELETE", resource.path, ""})
		}
		for sub, body := range resource.sub {
			asks = append(asks, write{"PUT", item + "/" + sub, body})
			if sub != "finalize" {
				asks = append(asks, write{"PATCH", item + "/" + sub, patch})
			}
		}
		for i, a := range asks {
			if i == 1 {
				if res, data := ask(t, client, "POST", r.URL+resource.path, strings.NewReader(resource.object)); res.StatusCode != 201 {
					t.Fatalf("create %s: %s", resource.path, data)
				}
			}
			before := revision(t, etcd)
			query := "?"
			if strings.Contains(a.path, "?") {
				query = "&"
			}
			body := a.body
			if a.method == "PUT" && strings.Contains(a.path, "/services/") {
				_, data := ask(t, client, "GET", r.URL+item, nil)
				body = strings.Replace(string(data), `"metadata":{`, `"metadata":{"labels":{"new":"yes"},`, 1)
			}
			res, data := ask(t, client, a.method, r.URL+a.path+query+"dryRun=All", strings.NewReader(body), "Content-Type: "+map[bool]string{true: "application/merge-patch+json", false: "application/json"}[a.method == "PATCH"])
			if res.StatusCode/100 != 2 {
				t.Errorf("%s %s: %s: %s", a.method, a.path, res.Status, data)
			}
			if after := revision(t, etcd); after != before {
				t.Errorf("%s %s wrote to etcd", a.method, a.path)
			}
		}
	}
}

// revision is etcd's.
func revision(t testing.TB, etcd *clientv3.Client) int64 {
	t.Helper()
	res, err := etcd.Get(within(t), "/", clientv3.WithCountOnly())
	must(t, err)
	return res.Header.Revision
}

// TestKube sends the requests of testdata/kube, whose answers a kube-apiserver gave: testdata/upstream records them.
func TestKube(t *testing.T) {
	t.Parallel()
	// Some objects say who made them: that is the user of testdata/upstream.
	r := start(t, tokens(t, "secret,kx-admin,1,\"system:masters\"\n"), uncollected, func(o *options.Options) {
		o.Tokens.Issuers = []string{"https://kubernetes.default.svc"} // as testdata/upstream starts it
	})
	anyone := r.anyone(t)
	admin := &http.Client{Transport: transport.NewBearerAuthRoundTripper("secret", anyone.Transport)}
	c := &wiretest.Client{URL: r.URL, Admin: admin, Anyone: anyone}
	datadriven.Walk(t, filepath.Join("testdata", "kube"), func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string { return c.Ask(t, d.Input) })
	})
}
