package request

import (
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// discovery is what a server said that it has.
func discovery(t testing.TB) *Resources {
	t.Helper()
	var answers [][]byte
	for _, name := range []string{"api.json", "apis.json"} {
		data, err := os.ReadFile(filepath.Join("testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		answers = append(answers, data)
	}
	rs, err := ReadDiscovery(answers...)
	if err != nil {
		t.Fatal(err)
	}
	return rs
}

// TestBuild builds each verb, in a namespace and in none, and finds the same request again in what it built.
func TestBuild(t *testing.T) {
	rs := discovery(t)
	const ns = "/api/v1/namespaces/default/configmaps"
	for _, test := range []struct {
		r            Request
		method, uri  string
		contentType  string
		body         string
		without      bool // discovery: what names the resource whole needs none
		notTheSameID bool // From names the resource with its version
	}{
		{Request{Verb: Get, Resource: "v1/configmaps", Namespace: "default", Name: "a"}, "GET", ns + "/a", "", "", true, false},
		{Request{Verb: Get, Resource: "cm", Namespace: "default", Name: "a"}, "GET", ns + "/a", "", "", false, true},
		{Request{Verb: List, Resource: "v1/configmaps"}, "GET", "/api/v1/configmaps", "", "", true, false},
		{Request{Verb: List, Resource: "v1/configmaps", Namespace: "default", Query: url.Values{"limit": {"5"}, "labelSelector": {"a=b,c!=d"}}},
			"GET", ns + "?labelSelector=a%3Db%2Cc%21%3Dd&limit=5", "", "", true, false},
		{Request{Verb: Watch, Resource: "v1/configmaps", Namespace: "default", Query: url.Values{"resourceVersion": {"7"}}},
			"GET", ns + "?resourceVersion=7&watch=true", "", "", true, false},
		{Request{Verb: Create, Resource: "v1/configmaps", Namespace: "default", Body: "kind: ConfigMap\n"},
			"POST", ns, "application/yaml", "kind: ConfigMap\n", true, false},
		{Request{Verb: Create, Resource: "Deployment", Namespace: "x", Body: "{}"},
			"POST", "/apis/apps/v1/namespaces/x/deployments", "application/json", "{}", false, true},
		{Request{Verb: Create, Resource: "v1/serviceaccounts", Namespace: "x", Name: "default", Subresource: "token", Body: "{}"},
			"POST", "/api/v1/namespaces/x/serviceaccounts/default/token", "application/json", "{}", true, false},
		{Request{Verb: Update, Resource: "apps/v1/deployments", Namespace: "x", Name: "web", Subresource: "scale", Body: "spec: {replicas: 2}\n"},
			"PUT", "/apis/apps/v1/namespaces/x/deployments/web/scale", "application/yaml", "spec: {replicas: 2}\n", true, false},
		{Request{Verb: Patch, Patch: MergePatch, Resource: "v1/configmaps", Namespace: "default", Name: "a", Body: "data: {k: v}"},
			"PATCH", ns + "/a", "application/merge-patch+json", `{"data":{"k":"v"}}`, true, false},
		{Request{Verb: Patch, Patch: JSONPatch, Resource: "v1/configmaps", Namespace: "default", Name: "a", Body: "- {op: remove, path: /data/k}"},
			"PATCH", ns + "/a", "application/json-patch+json", `[{"op":"remove","path":"/data/k"}]`, true, false},
		{Request{Verb: Patch, Patch: StrategicPatch, Resource: "v1/configmaps", Namespace: "default", Name: "a", Body: `{"data":null}`},
			"PATCH", ns + "/a", "application/strategic-merge-patch+json", `{"data":null}`, true, false},
		{Request{Verb: Patch, Patch: ApplyPatch, Resource: "v1/configmaps", Namespace: "default", Name: "a", Query: url.Values{"fieldManager": {"me"}}, Body: "kind: ConfigMap\n"},
			"PATCH", ns + "/a?fieldManager=me", "application/apply-patch+yaml", "kind: ConfigMap\n", true, false},
		{Request{Verb: Delete, Resource: "v1/namespaces", Name: "x"}, "DELETE", "/api/v1/namespaces/x", "", "", true, false},
		{Request{Verb: Get, Resource: "v1/namespaces", Name: "x", Subresource: "status"}, "GET", "/api/v1/namespaces/x/status", "", "", true, false},
		{Request{Verb: List, Resource: "v1/namespaces"}, "GET", "/api/v1/namespaces", "", "", true, false},
		{Request{Verb: DeleteCollection, Resource: "v1/configmaps", Namespace: "default"}, "DELETE", ns, "", "", true, false},
		{Request{Verb: Get, Resource: "crontabs.stable.example.com", Namespace: "default", Name: "a b"},
			"GET", "/apis/stable.example.com/v1/namespaces/default/crontabs/a%20b", "", "", false, true},
		{Request{Method: "GET", Path: "/version"}, "GET", "/version", "", "", true, false},
		{Request{Method: "GET", Path: "/metrics?x=1", Query: url.Values{"y": {"2"}}}, "GET", "/metrics?x=1&y=2", "", "", true, true},
		{Request{Method: "POST", Path: "/api/v1/", Body: "text"}, "POST", "/api/v1/", "application/yaml", "text", true, false},
	} {
		if test.without {
			if _, err := test.r.Build(nil); err != nil {
				t.Errorf("%s without discovery: %v", test.r.Title(), err)
			}
		}
		h, err := test.r.Build(rs)
		if err != nil || h.Method != test.method || h.URI() != test.uri || h.ContentType() != test.contentType || string(h.Body) != test.body {
			t.Errorf("%s: %s %s, %s, %q, %v", test.r.Title(), h.Method, h.URI(), h.ContentType(), h.Body, err)
			continue
		}
		again := ParseHTTP(h.Method, h.URI(), h.ContentType(), h.Body)
		if h2, err := again.Build(nil); err != nil || h2.Method != h.Method || h2.URI() != h.URI() || h2.ContentType() != h.ContentType() {
			t.Errorf("%s: built again: %s %s, %v", test.r.Title(), h2.Method, h2.URI(), err)
		}
		want := test.r.Clone()
		again.Body, want.Body = "", ""
		if diff := cmp.Diff(want, again); diff != "" && !test.notTheSameID {
			t.Errorf("%s: made of what was built (-want):\n%s", test.r.Title(), diff)
		}
	}
}

func TestRefused(t *testing.T) {
	rs := discovery(t)
	for _, test := range []struct {
		r    Request
		want string
	}{
		{Request{}, "a request has a verb"},
		{Request{Verb: "fetch", Resource: "v1/pods"}, `verb "fetch": there are get, list`},
		{Request{Verb: Get, Resource: "v1/pods"}, "get which one?"},
		{Request{Verb: List, Resource: "v1/pods", Name: "a"}, "list has no name"},
		{Request{Verb: List}, "list what?"},
		{Request{Verb: List, Resource: "v1/pods", Path: "/x"}, "not both"},
		{Request{Verb: Patch, Resource: "v1/pods", Name: "a"}, "there are merge, strategic, json, apply"},
		{Request{Verb: Get, Patch: MergePatch, Resource: "v1/pods", Name: "a"}, "only the verb patch"},
		{Request{Verb: Create, Resource: "v1/pods", Subresource: "binding"}, "of which object"},
		{Request{Verb: Get, Resource: "v1/pods", Name: ".."}, `".." can't be a part of a path`},
		{Request{Verb: List, Resource: "nonsense"}, "the server has none of this name"},
		{Request{Verb: List, Resource: "a/b/c/d"}, "write group/version/plural"},
		{Request{Method: "get", Path: "/x"}, "in capitals"},
		{Request{Method: "GET", Path: "x"}, "absolute"},
		{Request{Method: "GET", Path: "/x", Name: "y"}, "has no resource"},
		{Request{Verb: Patch, Patch: MergePatch, Resource: "v1/pods", Name: "a", Body: "a: [b"}, "make JSON of it"},
	} {
		if _, err := test.r.Build(rs); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%+v: %v, want %q", test.r, err, test.want)
		}
	}
	if _, err := (&Request{Verb: List, Resource: "pods"}).Build(nil); err == nil || !strings.Contains(err.Error(), "apps/v1/deployments") {
		t.Errorf("a short name without discovery: %v", err)
	}
}

// TestFrom keeps as method and path what fields could not say.
func TestFrom(t *testing.T) {
	for _, test := range []struct {
		method, uri, contentType string
		raw                      bool
	}{
		{"GET", "/api/v1/pods", "", false}, {"GET", "/version", "", true}, {"GET", "/api/v1/watch/pods", "", true},
		{"GET", "/api/v1/pods/", "", true}, {"HEAD", "/api/v1/pods", "", true}, {"PATCH", "/api/v1/namespaces/a/pods/b", "text/plain", true},
		{"GET", "%zz", "", true}, {"GET", "/api/v1/pods?a=%zz", "", true}, {"PUT", "/api/v1/namespaces/a/finalize", "application/json", false},
	} {
		r := ParseHTTP(test.method, test.uri, test.contentType, nil)
		if r.Raw() != test.raw {
			t.Errorf("%s %s: %+v", test.method, test.uri, r)
		}
	}
	if r := ParseHTTP("POST", "/api/v1/namespaces/a/pods", "application/json", []byte(`{"kind":"Pod"}`)); r.Body != "{\n  \"kind\": \"Pod\"\n}\n" || r.Header != nil {
		t.Errorf("%+v", r)
	}
	if r := ParseHTTP("POST", "/x", "application/vnd.kubernetes.protobuf", []byte{1}); r.Header["Content-Type"][0] != "application/vnd.kubernetes.protobuf" {
		t.Errorf("%+v", r)
	}
}

func TestFind(t *testing.T) {
	rs := discovery(t)
	for name, want := range map[string]string{
		"pods": "v1/pods", "po": "v1/pods", "Pod": "v1/pods", "v1/pods": "v1/pods", "deploy": "apps/v1/deployments",
		"deployments.apps": "apps/v1/deployments", "deployment.v1.apps": "apps/v1/deployments", "ct": "stable.example.com/v1/crontabs",
		"CronTab": "stable.example.com/v1/crontabs", "crontabs.stable.example.com": "stable.example.com/v1/crontabs", "pods.apps": "", "nothing": "",
	} {
		got := ""
		if r := rs.Find(name); r != nil {
			got = r.ID()
		}
		if got != want {
			t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	for typed, want := range map[string]string{"dep": "apps/v1/deployments", "cron": "stable.example.com/v1/crontabs", "cfgm": "v1/configmaps", "apps": "apps/v1/deployments", "": "v1/configmaps"} {
		if found := rs.Match(typed); len(found) == 0 || found[0].ID() != want {
			t.Errorf("%q finds %v, want %s first", typed, found, want)
		}
	}
	if found := rs.Match("zzz"); len(found) != 0 || (*Resources)(nil).Find("pods") != nil {
		t.Errorf("%v", found)
	}
	scale := rs.Find("deploy")
	if kind, ok := scale.KindOf("scale"); !ok || kind.APIVersion() != "autoscaling/v1" || !scale.Can(Update, "scale") || scale.Can(Create, "scale") || scale.Can(Get, "none") || !scale.Can(Watch, "") {
		t.Errorf("%v %v", kind, ok)
	}
	if kind, ok := rs.Find("pods").KindOf("status"); !ok || kind != (Kind{"", "v1", "Pod"}) {
		t.Errorf("%v %v", kind, ok)
	}
	for _, bad := range []string{"", "{}", `{"kind":"APIGroupList"}`} {
		if _, err := ReadDiscovery([]byte(bad)); err == nil {
			t.Errorf("%q is no discovery", bad)
		}
	}
}

func TestOptions(t *testing.T) {
	names := func(v Verb, p PatchType) (all []string) {
		for _, o := range Options(v, p) {
			if o.Help == "" {
				t.Errorf("%s has no help", o.Name)
			}
			all = append(all, o.Name)
		}
		return all
	}
	for _, v := range Verbs() {
		if len(names(v, "")) == 0 {
			t.Errorf("%s has no options", v)
		}
	}
	if slices.Contains(names(Patch, MergePatch), "force") || !slices.Contains(names(Patch, ApplyPatch), "force") || slices.Contains(names(Get, ""), "limit") ||
		!slices.Contains(names(Watch, ""), "sendInitialEvents") || slices.Contains(names(List, ""), "sendInitialEvents") {
		t.Error("an option is where it should not be")
	}
}
