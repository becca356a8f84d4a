package endpoint_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authorization/authorizer"
)

const (
	applyPatch  = "Content-Type: application/apply-patch+yaml"
	mergePatch  = "Content-Type: application/merge-patch+json"
	deployments = "/apis/apps/%s/namespaces/default/deployments"
)

// web is a deployment as clients of a version send it, without what more says.
func web(version, more string) string {
	return fmt.Sprintf(`{"apiVersion":"apps/%s","kind":"Deployment","metadata":{"name":"web"},"spec":{%s"selector":{"matchLabels":{"app":"web"}},`+
		`"template":{"metadata":{"labels":{"app":"web"}},"spec":{"containers":[{"name":"c","image":"i"}]}}}}`, version, more)
}

// owner tells the entries of managedFields apart.
func owner(e metav1.ManagedFieldsEntry) string {
	name := fmt.Sprintf("%s %s %s", e.Manager, e.Operation, e.APIVersion)
	if e.Subresource != "" {
		name += " " + e.Subresource
	}
	return name
}

// owners are the owners of a field, such as f:spec f:replicas, in the order of managedFields.
func owners(t testing.TB, body []byte, path ...string) (names []string) {
	t.Helper()
	obj := &metav1.PartialObjectMetadata{}
	must(t, json.Unmarshal(body, obj))
	for _, e := range obj.ManagedFields {
		fields := map[string]any{}
		must(t, json.Unmarshal(e.FieldsV1.GetRawBytes(), &fields))
		if _, ok, _ := unstructured.NestedMap(fields, path...); ok {
			names = append(names, owner(e))
		}
	}
	return names
}

// TestOwnersOfReplicas moves one field through versions and subresources: every client has its own view of who owns it,
// and sees who stands in its way.
func TestOwnersOfReplicas(t *testing.T) {
	s := newServer(t, withAuthorizer(allowAll{}))
	v1, old := fmt.Sprintf(deployments, "v1"), fmt.Sprintf(deployments, "v1beta1")
	scale := func(group, more string) string {
		return fmt.Sprintf(`{"apiVersion":%q,"kind":"Scale","metadata":{"name":"web","namespace":"default"},"spec":{%s}}`, group, more)
	}
	for _, tc := range []struct {
		what, method, path, kind, body string
		code                           int
		// want is in the answer, or the owners of spec.replicas.
		want   string
		owners []string
	}{
		{"nothing to scale yet", "PATCH", v1 + "/web/scale?fieldManager=hpa", applyPatch, scale("autoscaling/v1", `"replicas":3`), 404, `deployments.apps \"web\" not found`, nil},
		{"nothing to have a status yet", "PATCH", v1 + "/web/status?fieldManager=c", applyPatch, `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web"},"status":{"replicas":1}}`, 404, `not found`, nil},
		{"made by an apply", "PATCH", v1 + "/web?fieldManager=ann", applyPatch, web("v1", `"replicas":1,`), 201, `"generation":1`, []string{"ann Apply apps/v1"}},
		{"another, who agrees, in an old version", "PATCH", old + "/web?fieldManager=bob", applyPatch, web("v1beta1", `"replicas":1,`), 200, `"apiVersion":"apps/v1beta1"`, []string{"bob Apply apps/v1beta1", "ann Apply apps/v1"}},
		{"another version than the path's", "PATCH", v1 + "/web?fieldManager=bob", applyPatch, web("v1beta1", `"replicas":1,`), 400, `invalid object type: apps/v1beta1, Kind=Deployment`, nil},
		{"both stand in the way", "PATCH", v1 + "/web?fieldManager=cid", applyPatch, web("v1", `"replicas":2,`), 409, `Apply failed with 2 conflicts: conflicts with \"ann\":\n- .spec.replicas\nconflicts with \"bob\":\n- .spec.replicas`, nil},
		{"a Scale too", "PATCH", v1 + "/web/scale?fieldManager=hpa", applyPatch, scale("autoscaling/v1", `"replicas":3`), 409, `conflicts with \"ann\"`, nil},
		{"a Scale by force", "PATCH", v1 + "/web/scale?fieldManager=hpa&force=true", applyPatch, scale("autoscaling/v1", `"replicas":3`), 200, `"replicas":3`, nil},
		{"whose now", "GET", v1 + "/web", "", "", 200, `"generation":2`, []string{"hpa Apply apps/v1 scale"}},
		{"the subresource is named", "PATCH", v1 + "/web?fieldManager=ann", applyPatch, web("v1", `"replicas":1,`), 409, `conflict with \"hpa\" with subresource \"scale\": .spec.replicas`, nil},
		{"a Scale of an old version, updated", "PUT", old + "/web/scale?fieldManager=hand", "", scale("apps/v1beta1", `"replicas":4`), 200, `"apiVersion":"apps/v1beta1"`, nil},
		{"whose now", "GET", v1 + "/web", "", "", 200, `"replicas":4`, []string{"hand Update apps/v1beta1 scale"}},
		{"a Scale of an old version, applied", "PATCH", old + "/web/scale?fieldManager=hpa&force=true", applyPatch, scale("apps/v1beta1", `"replicas":5`), 200, `"replicas":5`, nil},
		{"whose now", "GET", v1 + "/web", "", "", 200, `"replicas":5`, []string{"hpa Apply apps/v1beta1 scale"}},
		{"a patch takes it", "PATCH", v1 + "/web?fieldManager=eve", mergePatch, `{"spec":{"replicas":6}}`, 200, `"replicas":6`, []string{"eve Update apps/v1"}},
		{"the status is somebody's", "PATCH", v1 + "/web/status?fieldManager=controller", applyPatch, `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web"},"spec":{"replicas":9},"status":{"observedGeneration":1,"replicas":6}}`, 200, `"observedGeneration":1`, []string{"eve Update apps/v1"}},
		{"who sends a status does not own it", "PATCH", v1 + "/web?fieldManager=fay", applyPatch, strings.Replace(web("v1", ""), `"spec"`, `"status":{"replicas":0},"spec"`, 1), 200, `"replicas":6`, []string{"eve Update apps/v1"}},
		{"who no longer wants it leaves it", "PATCH", v1 + "/web?fieldManager=eve", applyPatch, web("v1", ""), 200, `"replicas":6`, []string{"eve Update apps/v1"}},
	} {
		header := []string{tc.kind}
		if tc.kind == "" {
			header = nil
		}
		res, body := s.do(t, tc.method, tc.path, strings.NewReader(tc.body), header...)
		if res.StatusCode != tc.code || !strings.Contains(string(body), tc.want) {
			t.Errorf("%s: want %d %s\ngot %d: %s", tc.what, tc.code, tc.want, res.StatusCode, body)
		}
		if tc.owners != nil && !slices.Equal(owners(t, body, "f:spec", "f:replicas"), tc.owners) {
			t.Errorf("%s: spec.replicas is %v's, want %v: %s", tc.what, owners(t, body, "f:spec", "f:replicas"), tc.owners, body)
		}
	}

	_, body := s.do(t, "GET", v1+"/web", nil)
	if got, want := owners(t, body, "f:status", "f:replicas"), []string{"controller Apply apps/v1 status"}; !slices.Equal(got, want) {
		t.Errorf("the status is %v's, want %v", got, want)
	}
}

// TestResetFields sends everything everywhere: what a resource or subresource takes back belongs to nobody.
func TestResetFields(t *testing.T) {
	s := newServer(t, withAuthorizer(allowAll{}))
	const pods, namespaces = "/api/v1/namespaces/default/pods", "/api/v1/namespaces"
	pod := `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","labels":{"l":"1"}},"spec":{"containers":[{"name":"c","image":"i"}]},"status":{"phase":"Running"}}`
	ns := `{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"n","labels":{"l":"1"}},"spec":{"finalizers":["kubernetes"]},"status":{"phase":"Active"}}`
	deployment := strings.Replace(web("v1", ""), `"metadata":{"name":"web"}`, `"metadata":{"name":"web","labels":{"l":"1"}},"status":{"replicas":1}`, 1)
	for _, tc := range []struct {
		path, name, body string
		whole, status    string
	}{
		{pods, "p", pod, "f:metadata f:spec", "f:metadata f:status"},
		{namespaces, "n", ns, "f:metadata f:spec", "f:metadata f:status"},
		{fmt.Sprintf(deployments, "v1"), "web", deployment, "f:metadata f:spec", "f:status"},
	} {
		for path, want := range map[string]string{"": tc.whole, "/status": tc.status} {
			if path == "" {
				res, body := s.do(t, "PATCH", tc.path+"/"+tc.name+"?fieldManager=x", strings.NewReader(tc.body), applyPatch)
				if res.StatusCode != http.StatusCreated {
					t.Fatalf("%s: %s", tc.path, body)
				}
				if got := ownedBy(t, body, "x Apply"); got != want {
					t.Errorf("%s: %s", tc.path, got)
				}
				continue
			}
			defer func() {
				res, body := s.do(t, "PATCH", tc.path+"/"+tc.name+path+"?fieldManager=y&force=true", strings.NewReader(tc.body), applyPatch)
				if got := ownedBy(t, body, "y Apply"); res.StatusCode != http.StatusOK || got != want {
					t.Errorf("%s/status: %d, y owns %s, want %s: %s", tc.path, res.StatusCode, got, want, body)
				}
			}()
		}
	}
}

// ownedBy are the fields, at the top, of the owner whose name begins with prefix.
func ownedBy(t testing.TB, body []byte, prefix string) string {
	t.Helper()
	obj := &metav1.PartialObjectMetadata{}
	must(t, json.Unmarshal(body, obj))
	var fields []string
	for _, e := range obj.ManagedFields {
		if strings.HasPrefix(owner(e), prefix) {
			set := map[string]any{}
			must(t, json.Unmarshal(e.FieldsV1.GetRawBytes(), &set))
			for name := range set {
				fields = append(fields, name)
			}
		}
	}
	slices.Sort(fields)
	return strings.Join(fields, " ")
}

// allowAll lets everybody do everything.
type allowAll struct{}

func (allowAll) Authorize(context.Context, authorizer.Attributes) (authorizer.Decision, string, error) {
	return authorizer.DecisionAllow, "", nil
}

// meddler is admission that changes managedFields.
type meddler struct{ entries []metav1.ManagedFieldsEntry }

func (*meddler) Handles(admission.Operation) bool { return true }

func (m *meddler) Admit(_ context.Context, a admission.Attributes, _ admission.ObjectInterfaces) error {
	if obj, ok := a.GetObject().(metav1.Object); ok && a.GetResource().Resource == "configmaps" {
		obj.SetManagedFields(m.entries)
		obj.SetLabels(map[string]string{"admitted": "yes"})
	}
	return nil
}

func TestAdmissionAndManagedFields(t *testing.T) {
	m := &meddler{entries: []metav1.ManagedFieldsEntry{{Manager: "meddler", Operation: "Bogus", APIVersion: "v1"}}}
	s := newServer(t, withAdmission(m))
	res, body := s.do(t, "POST", configMaps+"?fieldManager=ann", strings.NewReader(`{"metadata":{"name":"a"},"data":{"k":"v"}}`))
	const warning = `299 - ".metadata.managedFields was in an invalid state after admission; this could be caused by an outdated mutating ` +
		`admission controller; please fix your requests: operation must be ` + "`Apply` or `Update`\""
	if got := res.Header.Get("Warning"); got != warning {
		t.Errorf("warning %s", got)
	}
	if got := owners(t, body, "f:data", "f:k"); !slices.Equal(got, []string{"ann Update v1"}) {
		t.Errorf("not brought back: %s", body)
	}
	if strings.Contains(string(body), "f:labels") {
		t.Errorf("somebody owns what admission sets: %s", body)
	}

	m.entries = nil
	if res, body := s.do(t, "PATCH", configMaps+"/a", strings.NewReader(`{"data":{"k":"w"}}`), mergePatch); res.Header.Get("Warning") != "" || strings.Contains(string(body), "managedFields") {
		t.Errorf("admission may drop managedFields: %s", body)
	}
}
