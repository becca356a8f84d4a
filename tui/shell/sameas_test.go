package shell

import (
	"net/url"
	"testing"

	"github.com/kx-apiserver/kx/core/request"
)

func TestWays(t *testing.T) {
	type r = request.Request
	one := func(name, value string) url.Values { return url.Values{name: {value}} }
	const cm = "v1/configmaps"
	for _, test := range []struct {
		r                 request.Request
		kubectl, kx, curl string
	}{
		{r{Verb: request.Get, Resource: cm, Namespace: "default", Name: "a"},
			"kubectl get configmaps a -o yaml -n default",
			"echo '{verb: get, resource: v1/configmaps, namespace: default, name: a}' | kx send -f -",
			"curl -sS http://127.0.0.1:8001/api/v1/namespaces/default/configmaps/a"},
		{r{Verb: request.Get, Resource: cm, Namespace: "default", Name: "--server=x"},
			"kubectl get --raw /api/v1/namespaces/default/configmaps/--server=x",
			"echo '{verb: get, resource: v1/configmaps, namespace: default, name: --server=x}' | kx send -f -",
			"curl -sS http://127.0.0.1:8001/api/v1/namespaces/default/configmaps/--server=x"},
		{r{Verb: request.List, Resource: "apps/v1/deployments", Query: one("labelSelector", "a in (b,c)")},
			"kubectl get deployments.v1.apps -A -l 'a in (b,c)'",
			"echo '{verb: list, resource: apps/v1/deployments, query: {labelSelector: '\\''a in (b,c)'\\''}}' | kx send -f -",
			"curl -sS 'http://127.0.0.1:8001/apis/apps/v1/deployments?labelSelector=a+in+%28b%2Cc%29'"},
		{r{Verb: request.List, Resource: cm, Query: one("limit", "5")},
			"kubectl get --raw '/api/v1/configmaps?limit=5'",
			"echo '{verb: list, resource: v1/configmaps, query: {limit: \"5\"}}' | kx send -f -",
			"curl -sS 'http://127.0.0.1:8001/api/v1/configmaps?limit=5'"},
		{r{Verb: request.Watch, Resource: cm, Namespace: "default"},
			"kubectl get configmaps --watch -n default",
			"echo '{verb: watch, resource: v1/configmaps, namespace: default}' | kx send -f -",
			"curl -sS -N 'http://127.0.0.1:8001/api/v1/namespaces/default/configmaps?watch=true'"},
		{r{Verb: request.Create, Resource: cm, Namespace: "default", Query: one("dryRun", "All"), Body: "kind: ConfigMap\n"},
			"kubectl create -f - -n default --dry-run=server <<'EOF'\nkind: ConfigMap\nEOF",
			"kx send -f - <<'EOF'\nverb: create\nresource: v1/configmaps\nnamespace: default\nquery:\n  dryRun: All\nbody: |\n  kind: ConfigMap\nEOF",
			"curl -sS -X POST -H 'Content-Type: application/yaml' --data-raw 'kind: ConfigMap' 'http://127.0.0.1:8001/api/v1/namespaces/default/configmaps?dryRun=All'"},
		{r{Verb: request.Update, Resource: "apps/v1/deployments", Namespace: "default", Name: "web", Subresource: "scale", Body: "a: 1\nb: 2\n"},
			"kubectl replace --raw /apis/apps/v1/namespaces/default/deployments/web/scale -f - <<'EOF'\n{\"a\":1,\"b\":2}\nEOF",
			"kx send -f - <<'EOF'\nverb: update\nresource: apps/v1/deployments\nnamespace: default\nname: web\nsubresource: scale\nbody: |\n  a: 1\n  b: 2\nEOF",
			"curl -sS -X PUT -H 'Content-Type: application/yaml' --data-binary @- http://127.0.0.1:8001/apis/apps/v1/namespaces/default/deployments/web/scale <<'EOF'\na: 1\nb: 2\nEOF"},
		{r{Verb: request.Patch, Patch: request.MergePatch, Resource: cm, Namespace: "default", Name: "a", Body: "data: {k: it's}\n"},
			`kubectl patch configmaps a --type merge -p 'data: {k: it'\''s}' -n default`,
			"kx send -f - <<'EOF'\nverb: patch\npatch: merge\nresource: v1/configmaps\nnamespace: default\nname: a\nbody: |\n  data: {k: it's}\nEOF",
			`curl -sS -X PATCH -H 'Content-Type: application/merge-patch+json' --data-raw '{"data":{"k":"it'\''s"}}' http://127.0.0.1:8001/api/v1/namespaces/default/configmaps/a`},
		{r{Verb: request.Patch, Patch: request.ApplyPatch, Resource: cm, Namespace: "default", Name: "a", Query: url.Values{"fieldManager": {"me"}, "force": {"true"}}, Body: "{}"},
			"kubectl apply --server-side -f - -n default --field-manager=me --force-conflicts=true <<'EOF'\n{}\nEOF",
			"kx send -f - <<'EOF'\nverb: patch\npatch: apply\nresource: v1/configmaps\nnamespace: default\nname: a\nquery:\n  fieldManager: me\n  force: \"true\"\nbody: '{}'\nEOF",
			"curl -sS -X PATCH -H 'Content-Type: application/apply-patch+yaml' --data-raw '{}' 'http://127.0.0.1:8001/api/v1/namespaces/default/configmaps/a?fieldManager=me&force=true'"},
		{r{Verb: request.Delete, Resource: cm, Namespace: "default", Name: "a", Query: url.Values{"propagationPolicy": {"Orphan"}, "gracePeriodSeconds": {"0"}}},
			"kubectl delete configmaps a --wait=false -n default --grace-period=0 --cascade=orphan",
			"echo '{verb: delete, resource: v1/configmaps, namespace: default, name: a, query: {gracePeriodSeconds: \"0\", propagationPolicy: Orphan}}' | kx send -f -",
			"curl -sS -X DELETE 'http://127.0.0.1:8001/api/v1/namespaces/default/configmaps/a?gracePeriodSeconds=0&propagationPolicy=Orphan'"},
		{r{Verb: request.DeleteCollection, Resource: cm, Namespace: "default"},
			"kubectl delete --raw /api/v1/namespaces/default/configmaps",
			"echo '{verb: deletecollection, resource: v1/configmaps, namespace: default}' | kx send -f -",
			"curl -sS -X DELETE http://127.0.0.1:8001/api/v1/namespaces/default/configmaps"},
		{r{Method: "PATCH", Path: "/x", Body: "\xff"},
			"kubectl: the body is no text",
			"kx send -f - <<'EOF'\nmethod: PATCH\npath: /x\nbody: !!binary /w==\nEOF",
			"curl: the body is no text"},
		{r{Method: "PATCH", Path: "/x", Header: map[string][]string{"A": {"b"}}},
			"kubectl: it has no command for this",
			"echo '{method: PATCH, path: /x, headers: {A: b}}' | kx send -f -",
			"curl -sS -X PATCH -H 'A: b' http://127.0.0.1:8001/x"},
	} {
		h, err := test.r.Build(nil)
		if err != nil {
			t.Fatal(err)
		}
		for i, want := range []string{test.kubectl, test.kx, test.curl} {
			way := WayOf(i, &test.r, &h, Target{Server: "http://127.0.0.1:8001"})
			got := way.Text
			if got == "" {
				got = way.Short()
			}
			if got != want {
				t.Errorf("%s: got\n%s\nwant\n%s", test.r.Title(), got, want)
			}
		}
	}
}

func TestWhere(t *testing.T) {
	r := request.Request{Verb: request.Get, Resource: "v1/pods", Name: "a", Header: map[string][]string{"Kx-Hold": {"off"}}}
	h, _ := r.Build(nil)
	where := Target{Kubeconfig: "/my files/k", Server: "https://x", CA: "ca", Cert: "c", Key: "k"}
	for i, want := range []string{
		"kubectl --kubeconfig '/my files/k' get pods a -o yaml",
		"echo '{verb: get, resource: v1/pods, name: a, headers: {Kx-Hold: off}}' | kx send --kubeconfig '/my files/k' -f -",
		"curl -sS --cacert ca --cert c --key k -H 'Kx-Hold: off' https://x/api/v1/pods/a",
	} {
		if got := WayOf(i, &r, &h, where).Text; got != want {
			t.Errorf("%s", got)
		}
	}
	if way := WayOf(0, &r, &h, where); way.Note == "" || (Way{Text: "a\nb"}).Short() != "a …" {
		t.Errorf("%+v", way)
	}
}
