package cmdlog

import (
	"net/http"
	"strings"
	"testing"

	"github.com/kx-apiserver/kx/tui/api"
	"github.com/kx-apiserver/kx/tui/keys"
	"github.com/kx-apiserver/kx/tui/screen/screentest"
	"github.com/kx-apiserver/kx/tui/shell"
)

const (
	secret = "hunter2"
	// lastApplied is the annotation in which kubectl apply keeps the whole object.
	lastApplied = "kubectl.kubernetes.io/last-applied-configuration"
)

// TestCommands: what was sent is a command that sends the same, and no value of a Secret is in it.
func TestCommands(t *testing.T) {
	const maps, secrets = "/api/v1/namespaces/default/configmaps", "/api/v1/namespaces/default/secrets"
	as := http.Header{"Impersonate-User": {"ann"}, "Impersonate-Group": {"dev", "ops"}, "Kx-Trace": {"objects"}}
	merge := http.Header{"Content-Type": {"application/merge-patch+json"}}
	for name, test := range map[string]struct {
		r    api.Request
		want string // empty: it is not the user's
	}{
		"asked by the screen": {api.Request{Path: maps}, ""},
		"tried":               {api.Request{Method: "POST", Path: api.KX + "/breakpoints?dryRun=All", Body: []byte(`{}`)}, ""},
		"read": {api.Request{Path: maps + "/a", Asked: true, Header: as},
			"kubectl --as=ann --as-group=dev --as-group=ops --kubeconfig K get configmaps a -o yaml -n default"},
		"created": {api.Request{Method: "POST", Path: maps, Body: []byte(`{"kind":"ConfigMap","metadata":{"name":"a"}}`)},
			"kubectl --kubeconfig K create -f - -n default <<'EOF'\n{\n  \"kind\": \"ConfigMap\",\n  \"metadata\": {\n    \"name\": \"a\"\n  }\n}\nEOF"},
		"patched": {api.Request{Method: "PATCH", Path: maps + "/a", Header: merge, Body: []byte(`{"data":{"a":"b"}}`)}, "--type merge -p"},
		"stepped": {api.Request{Method: "POST", Path: api.KX + "/journeys/a-1/step", Body: []byte(`{"spec":{"action":"next"}}`)},
			"kubectl --kubeconfig K create --raw " + api.KX + "/journeys/a-1/step -f - <<'EOF'"},
		"an edit of a held object":             {api.Request{Method: "POST", Path: api.KX + "/journeys/a-1/step", Body: []byte(`{"spec":{"action":"edit","patch":{"data":{"p":"` + secret + `"}}}}`)}, "left out"},
		"a token review":                       {api.Request{Method: "POST", Path: "/apis/authentication.k8s.io/v1/tokenreviews", Body: []byte(`{"kind":"TokenReview","spec":{"token":"` + secret + `"}}`)}, "masked"},
		"a Secret in a template":               {api.Request{Method: "POST", Path: "/any", Body: []byte(`{"kind":"Template","spec":{"object":{"kind":"Secret","data":{"p":"` + secret + `"}}}}`)}, "masked"},
		"an escaped path":                      {api.Request{Method: "PATCH", Path: "/api/v1/namespaces/default/secret%73/a", Header: merge, Body: []byte(`{"data":{"p":"` + secret + `"}}`)}, "masked"},
		"deleted":                              {api.Request{Method: "DELETE", Path: api.KX + "/faults/f1"}, "delete faults"},
		"a Secret":                             {api.Request{Method: "POST", Path: secrets, Body: []byte(`{"kind":"Secret","stringData":{"p":"` + secret + `"},"data":{"q":"` + secret + `"}}`)}, "# the values of the Secret are masked\nkubectl"},
		"a Secret's patch":                     {api.Request{Method: "PATCH", Path: secrets + "/a", Header: merge, Body: []byte(`{"data":{"p":"` + secret + `"}}`)}, "masked"},
		"a JSON patch":                         {api.Request{Method: "PATCH", Path: secrets + "/a", Body: []byte(`[{"op":"add","path":"/data/p","value":"` + secret + `"}]`)}, "masked"},
		"an annotation":                        {api.Request{Method: "PATCH", Path: secrets + "/a", Header: merge, Body: []byte(`{"metadata":{"annotations":{"` + lastApplied + `":"` + secret + `"}}}`)}, "masked"},
		"a list":                               {api.Request{Method: "POST", Path: "/any", Body: []byte(`{"kind":"List","items":[{"kind":"Secret","data":{"p":"` + secret + `"}}]}`)}, "masked"},
		"a Secret as bytes":                    {api.Request{Method: "PUT", Path: secrets + "/a", Body: []byte("k8s\x00\x01 " + secret)}, "left out"},
		"a token":                              {api.Request{Method: "DELETE", Path: maps + "/a", Header: http.Header{"Authorization": {"Bearer " + secret}}}, "delete configmaps"},
		"a Secret after the end of a document": {api.Request{Method: "POST", Path: "/any", Header: http.Header{"Content-Type": {"application/yaml"}}, Body: []byte("kind: ConfigMap\n...\nkind: Secret\nstringData:\n  p: " + secret + "\n")}, "left out"},
		"a Secret in a second document":        {api.Request{Method: "POST", Path: "/any", Header: http.Header{"Content-Type": {"application/yaml"}}, Body: []byte("kind: ConfigMap\n---\nkind: Secret\nstringData:\n  p: " + secret + "\n")}, "left out"},
		"a Secret as YAML":                     {api.Request{Method: "POST", Path: secrets, Header: http.Header{"Content-Type": {"application/yaml"}}, Body: []byte("kind: Secret\nstringData:\n  p: " + secret + "\n")}, "masked"},
	} {
		log := &Log{}
		log.Add(test.r)
		all, _ := log.list()
		if len(all) == 0 {
			if test.want != "" {
				t.Errorf("%s is not noted", name)
			}
			continue
		}
		got := all[0].command(shell.Target{Kubeconfig: "K"})
		if test.want == "" || !strings.Contains(got, test.want) || strings.Contains(got, secret) {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// TestScreen lists the commands, and copies one of them and all.
func TestScreen(t *testing.T) {
	log := &Log{}
	h := screentest.New(t, http.NotFoundHandler())
	s := New(h, log)
	h.Attach(s)
	if frame := strings.Join(h.Frame(100, 30), "\n"); !strings.Contains(frame, "Nothing was sent for you yet") {
		t.Error(frame)
	}
	for _, name := range []string{"a", "b"} {
		log.Add(api.Request{Method: "DELETE", Path: "/api/v1/namespaces/default/configmaps/" + name})
	}
	h.Until("they are listed", func() bool { return len(s.rows) == 2 })
	h.Press(keys.CopyCommand.Key(), "k", "y")
	if len(h.Copied) != 2 || strings.Count(h.Copied[0], "kubectl --kubeconfig") != 2 || strings.Contains(h.Copied[1], " b ") {
		t.Errorf("%q", h.Copied)
	}
	for range sentMost {
		log.Add(api.Request{Method: "DELETE", Path: "/api/v1/namespaces/default/configmaps/c"})
	}
	h.Until("the oldest are gone", func() bool { return s.gone == 2 })
	if len(s.rows) != sentMost {
		t.Errorf("%d rows", len(s.rows))
	}
	h.Sizes()
}
