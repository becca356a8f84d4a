package capture

import (
	"strings"
	"testing"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/tui/internal/tuitest"
	"github.com/kx-apiserver/kx/tui/send/again"
)

func TestSameAs(t *testing.T) {
	const cms = "/api/v1/namespaces/default/configmaps"
	spec := func(method, verb, uri, resource, name string) v1alpha1.JourneySpec {
		return v1alpha1.JourneySpec{Method: method, Verb: verb, URI: uri, Version: "v1", Resource: resource, Namespace: "default", Name: name}
	}
	deployment := spec("GET", "get", "/apis/apps/v1/namespaces/default/deployments/web/scale", "deployments", "web")
	deployment.Group, deployment.Subresource = "apps", "scale"
	everywhere := spec("GET", "list", "/api/v1/configmaps", "configmaps", "")
	everywhere.Namespace = ""
	merge := spec("PATCH", "patch", cms+"/a", "configmaps", "a")
	merge.ContentType = "application/merge-patch+json"
	apply := merge
	apply.ContentType = "application/apply-patch+yaml"
	log := spec("GET", "get", "/api/v1/namespaces/default/pods/a/log", "pods", "a")
	log.Subresource = "log"
	namespace := v1alpha1.JourneySpec{Method: "GET", Verb: "get", URI: "/api/v1/namespaces/x", Resource: "namespaces", Namespace: "x", Name: "x"}
	for _, test := range []struct {
		spec v1alpha1.JourneySpec
		want string
	}{
		{spec("GET", "get", cms+"/a", "configmaps", "a"), "kubectl get configmaps a -n default"},
		{spec("GET", "list", cms+"?limit=500&labelSelector=a%3Db,c", "configmaps", ""), "kubectl get configmaps -n default -l a=b,c"},
		{spec("GET", "list", cms+"?fieldSelector=metadata.name%21%3Dx%20y", "configmaps", ""), "kubectl get configmaps -n default --field-selector 'metadata.name!=x y'"},
		{spec("GET", "list", cms+"?continue=abc", "configmaps", ""), "kubectl get --raw '" + cms + "?continue=abc'"},
		{spec("GET", "watch", cms+"?watch=true", "configmaps", ""), "kubectl get configmaps --watch -n default"},
		{spec("POST", "create", cms+"?dryRun=All", "configmaps", ""), "kubectl create -f FILE -n default --dry-run=server"},
		{spec("PUT", "update", cms+"/a", "configmaps", "a"), "kubectl replace -f FILE -n default"},
		{spec("DELETE", "delete", cms+"/a", "configmaps", "a"), "kubectl delete configmaps a -n default"},
		{spec("DELETE", "deletecollection", cms, "configmaps", ""), "kubectl delete --all configmaps -n default"},
		{spec("PATCH", "patch", cms+"/a", "configmaps", "a"), "kubectl patch --type strategic --patch-file FILE configmaps a -n default"},
		{merge, "kubectl patch --type merge --patch-file FILE configmaps a -n default"},
		{apply, "kubectl apply --server-side -f FILE -n default"},
		{deployment, "kubectl get deployments.apps web --subresource scale -n default"},
		{everywhere, "kubectl get configmaps -A"},
		{namespace, "kubectl get namespaces x"},
		{log, "kubectl get --raw /api/v1/namespaces/default/pods/a/log"},
		{spec("GET", "get", cms+"/--server=x", "configmaps", "--server=x"), "kubectl get --raw " + cms + "/--server=x"},
		{spec("DELETE", "delete", cms+"/a", "--token=x", "a"), "kubectl delete --raw " + cms + "/a"},
		{spec("PATCH", "patch", cms+"/-s", "configmaps", "-s"), ""},
		{v1alpha1.JourneySpec{Method: "GET", Verb: "get", URI: "/it's"}, `kubectl get --raw '/it'\''s'`},
		{v1alpha1.JourneySpec{Method: "POST", URI: "/x"}, "kubectl create -f FILE --raw /x"},
		{v1alpha1.JourneySpec{Method: "OPTIONS", URI: "/x"}, ""},
		{v1alpha1.JourneySpec{Method: "GET", URI: "%zz"}, ""},
	} {
		if got := sameAs(&test.spec); got != test.want {
			t.Errorf("%s %s: %q, want %q", test.spec.Method, test.spec.URI, got, test.want)
		}
	}
}

// TestRunnable copies commands with their bodies, as far as these are recorded.
func TestRunnable(t *testing.T) {
	recorded := tuitest.Recorded(t, "../testdata/journeys.json")
	find := func(verb string, has bool) *v1alpha1.Journey {
		for _, j := range recorded {
			again, _ := again.Replay(j, false)
			if j.Spec.Verb == verb && (again.Body != nil) == has {
				return j
			}
		}
		t.Fatalf("no %s was recorded with a body: %v", verb, has)
		return nil
	}
	for _, test := range []struct {
		j                *v1alpha1.Journey
		first, has, note string
	}{
		{find("get", false), "kubectl get ", "", ""},
		{find("update", true), "kubectl replace -f - -n default <<'EOF'", "\nkind: ConfigMap\n", ""},
		{find("create", true), "kubectl create -f - -n default <<'EOF'", "\nkind: ConfigMap\n", ""},
		{find("patch", true), "kubectl patch --type merge -p '{", "}' configmaps ", "makes the same change"},
	} {
		text, note := runnable(test.j)
		if !strings.HasPrefix(text, test.first) || !strings.Contains(text, test.has) || !strings.Contains(note, test.note) || (note == "") != (test.note == "") {
			t.Errorf("%s: %s\n%s", test.j.Name, text, note)
		}
		if strings.Contains(text, file) {
			t.Errorf("%s can't be run:\n%s", test.j.Name, text)
		}
	}
	unknown := find("update", true).DeepCopy()
	for i := range unknown.Status.Steps {
		unknown.Status.Steps[i].After = nil
	}
	if text, note := runnable(unknown); text != "kubectl replace -f FILE -n default" || !strings.Contains(note, "put it into FILE") {
		t.Errorf("%s: %s", text, note)
	}
}

func TestShellPath(t *testing.T) {
	t.Setenv("HOME", "/home/you")
	for path, want := range map[string]string{
		"/home/you/.kx/kubeconfig": "~/.kx/kubeconfig", "/home/your/.kx/kubeconfig": "/home/your/.kx/kubeconfig",
		"/home/you/my files/k": "'/home/you/my files/k'",
	} {
		if got := shellPath(path); got != want {
			t.Errorf("%s: %s, want %s", path, got, want)
		}
	}
}
