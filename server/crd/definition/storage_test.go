package definition_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/install"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensionsv1beta1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	kjson "k8s.io/apimachinery/pkg/runtime/serializer/json"

	"github.com/kx-apiserver/kx/server/internal/crdtest"
)

const item = crdtest.Collection + "/" + crdtest.Name

// send sends a request that must be answered with code, and returns the definition that comes back.
func (s *server) send(t *testing.T, method, path, body string, code int) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	got, answer := s.Send(t, method, path, []byte(body))
	if got != code {
		t.Fatalf("%s %s: %d, want %d: %s", method, path, got, code, answer)
	}
	d := &apiextensionsv1.CustomResourceDefinition{}
	must(t, json.Unmarshal(answer, d))
	return d
}

func (s *server) put(t *testing.T, path string, d *apiextensionsv1.CustomResourceDefinition) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	body, err := json.Marshal(d)
	must(t, err)
	return s.send(t, http.MethodPut, path, string(body), http.StatusOK)
}

// stored is what lies in etcd.
func (s *server) stored(t *testing.T, name string) []byte {
	t.Helper()
	res, err := s.etcd.Client.Get(t.Context(), s.etcd.Prefix+"/apiextensions.k8s.io/customresourcedefinitions/"+name)
	must(t, err)
	if len(res.Kvs) != 1 {
		t.Fatalf("%d values of %s in etcd", len(res.Kvs), name)
	}
	return res.Kvs[0].Value
}

func (s *server) store(t *testing.T, name, value string) {
	t.Helper()
	_, err := s.etcd.Client.Put(t.Context(), s.etcd.Prefix+"/apiextensions.k8s.io/customresourcedefinitions/"+name, value)
	must(t, err)
}

// libraryBytes is d as the library's own types and serializer write it in v1beta1.
func libraryBytes(t *testing.T, d *apiextensionsv1.CustomResourceDefinition) []byte {
	t.Helper()
	types := runtime.NewScheme()
	install.Install(types)
	d = d.DeepCopy()
	d.ResourceVersion = ""
	internal, out := &apiextensions.CustomResourceDefinition{}, &apiextensionsv1beta1.CustomResourceDefinition{}
	must(t, types.Convert(d, internal, nil))
	must(t, types.Convert(internal, out, nil))
	out.SetGroupVersionKind(apiextensionsv1beta1.SchemeGroupVersion.WithKind("CustomResourceDefinition"))
	var b bytes.Buffer
	must(t, kjson.NewSerializerWithOptions(kjson.DefaultMetaFactory, types, types, kjson.SerializerOptions{}).Encode(out, &b))
	return b.Bytes()
}

// What lies in etcd is what the library writes, byte for byte, after a create and after an update.
func TestBytesOnDisk(t *testing.T) {
	s := start(t)
	d := s.send(t, http.MethodPost, crdtest.Collection, crdtest.Definition, http.StatusCreated)
	compare := func() {
		t.Helper()
		got := s.stored(t, d.Name)
		if want := libraryBytes(t, d); !bytes.Equal(got, want) {
			t.Errorf("stored\n%s\nwant\n%s", got, want)
		}
		if !bytes.HasPrefix(got, []byte(`{"kind":"CustomResourceDefinition","apiVersion":"apiextensions.k8s.io/v1beta1",`)) {
			t.Errorf("stored %.100s", got)
		}
	}
	compare()
	d.Labels = map[string]string{"a": "<b>"}
	d.Spec.Versions = append(d.Spec.Versions, *d.Spec.Versions[0].DeepCopy())
	v2 := &d.Spec.Versions[1]
	v2.Name, v2.Storage, v2.Deprecated = "v2", false, true
	v2.AdditionalPrinterColumns = []apiextensionsv1.CustomResourceColumnDefinition{{Name: "Image", Type: "string", JSONPath: ".spec.image"}}
	v2.Schema.OpenAPIV3Schema.XValidations = apiextensionsv1.ValidationRules{{Rule: "has(self.spec)", Message: "no spec"}}
	d.Labels = nil
	d = s.put(t, item, d)
	compare()
}

// TestReadsWhatOthersStored puts values into etcd as kube-apiservers of all times wrote them.
func TestReadsWhatOthersStored(t *testing.T) {
	s := start(t)
	const (
		meta = `"metadata":{"name":"crontabs.stable.example.com","uid":"1","generation":3,"creationTimestamp":"2018-01-01T00:00:00Z"}`
		spec = `"group":"stable.example.com","scope":"Namespaced","names":{"plural":"crontabs","kind":"CronTab"}`
	)
	for what, value := range map[string]string{
		"v1": `{"kind":"CustomResourceDefinition","apiVersion":"apiextensions.k8s.io/v1",` + meta + `,"spec":{` + spec + `,
			"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object"}}}]},"status":{"storedVersions":["v1"]}}`,
		"v1beta1 with one version": `{"kind":"CustomResourceDefinition","apiVersion":"apiextensions.k8s.io/v1beta1",` + meta + `,"spec":{` + spec + `,
			"version":"v1","validation":{"openAPIV3Schema":{"type":"object"}},"preserveUnknownFields":false},"status":{"storedVersions":["v1"]}}`,
		"v1beta1 without a schema": `{"kind":"CustomResourceDefinition","apiVersion":"apiextensions.k8s.io/v1beta1",` + meta + `,"spec":{` + spec + `,
			"version":"v1"},"status":{"storedVersions":["v1"]}}`,
	} {
		s.store(t, crdtest.Name, value)
		d := s.send(t, http.MethodGet, item, "", http.StatusOK)
		if v := d.Spec.Versions; len(v) != 1 || v[0].Name != "v1" || !v[0].Served || !v[0].Storage {
			t.Errorf("%s: versions %+v", what, v)
		}
		if n := d.Spec.Names; n.Singular != "crontab" || n.ListKind != "CronTabList" || d.Spec.Conversion.Strategy != apiextensionsv1.NoneConverter {
			t.Errorf("%s: defaults: %+v %+v", what, n, d.Spec.Conversion)
		}
		old := strings.Contains(what, "without a schema")
		if d.Spec.PreserveUnknownFields != old {
			t.Errorf("%s: preserveUnknownFields is %v", what, d.Spec.PreserveUnknownFields)
		}
		// What was allowed once can still be changed, though nobody could create it now.
		d.Annotations = map[string]string{"a": "b"}
		if d = s.put(t, item, d); d.Generation != 3 {
			t.Errorf("%s: generation %d after a change of metadata", what, d.Generation)
		}
		if got, want := s.stored(t, crdtest.Name), libraryBytes(t, d); !bytes.Equal(got, want) {
			t.Errorf("%s: stored\n%s\nwant\n%s", what, got, want)
		}
	}
}

func TestUnreadableValue(t *testing.T) {
	s := start(t)
	s.store(t, crdtest.Name, `{"kind":"Nothing"`)
	if code, answer := s.Send(t, http.MethodGet, item, nil); code != http.StatusInternalServerError || !json.Valid(answer) {
		t.Errorf("%d: %s", code, answer)
	}
}

// Status and spec go their own ways, and the generation goes with the spec.
func TestSpecAndStatus(t *testing.T) {
	s := start(t)
	body := strings.Replace(crdtest.Definition, `"spec": {`, `"status":{"storedVersions":["v9"],"conditions":[],"acceptedNames":{"plural":"x","kind":"X"}}, "spec": {`, 1)
	d := s.send(t, http.MethodPost, crdtest.Collection, body, http.StatusCreated)
	if d.Generation != 1 || len(d.Status.StoredVersions) != 1 || d.Status.StoredVersions[0] != "v1" || d.Status.AcceptedNames.Plural != "" {
		t.Errorf("created: generation %d, status %+v", d.Generation, d.Status)
	}

	d.Spec.Names.ShortNames, d.Labels = []string{"cr"}, map[string]string{"by": "status"}
	d.Status.AcceptedNames = apiextensionsv1.CustomResourceDefinitionNames{Plural: "crontabs", Kind: "CronTab"}
	d.Status.Conditions = []apiextensionsv1.CustomResourceDefinitionCondition{{Type: apiextensionsv1.Established, Status: apiextensionsv1.ConditionTrue, ObservedGeneration: 1}}
	d = s.put(t, item+"/status", d)
	if d.Generation != 1 || d.Spec.Names.ShortNames[0] != "ct" || d.Status.AcceptedNames.Kind != "CronTab" || d.Labels["by"] != "status" {
		t.Errorf("status updated: generation %d, names %+v, status %+v, labels %v", d.Generation, d.Spec.Names, d.Status, d.Labels)
	}
	if d.Status.Conditions[0].ObservedGeneration != 1 {
		t.Errorf("conditions: %+v", d.Status.Conditions)
	}

	d.Spec.Names.ShortNames, d.Status = []string{"cr"}, apiextensionsv1.CustomResourceDefinitionStatus{StoredVersions: []string{"v9"}}
	d = s.put(t, item, d)
	if d.Generation != 2 || d.Spec.Names.ShortNames[0] != "cr" || len(d.Status.Conditions) != 1 || d.Status.StoredVersions[0] != "v1" {
		t.Errorf("spec updated: generation %d, names %+v, status %+v", d.Generation, d.Spec.Names, d.Status)
	}
	revision := d.ResourceVersion
	if d = s.put(t, item, d); d.Generation != 2 || d.ResourceVersion != revision {
		t.Errorf("nothing updated: generation %d, resourceVersion %s, was %s", d.Generation, d.ResourceVersion, revision)
	}

	d.Spec.Versions = append(d.Spec.Versions, *d.Spec.Versions[0].DeepCopy())
	d.Spec.Versions[0].Storage, d.Spec.Versions[1].Name = false, "v2"
	d = s.put(t, item, d)
	if d.Generation != 3 || len(d.Status.StoredVersions) != 2 || d.Status.StoredVersions[1] != "v2" {
		t.Errorf("another version stored: generation %d, stored versions %v", d.Generation, d.Status.StoredVersions)
	}
	d.Status.StoredVersions = []string{"v2"}
	d = s.put(t, item+"/status", d)
	d.Spec.Versions = d.Spec.Versions[1:]
	if d = s.put(t, item, d); len(d.Spec.Versions) != 1 || len(d.Status.StoredVersions) != 1 {
		t.Errorf("migrated: versions %v, stored %v", d.Spec.Versions, d.Status.StoredVersions)
	}
}

// A field manager is told which fields a client of either can't own.
func TestResetFields(t *testing.T) {
	s := start(t)
	for name, got := range map[string]map[string]string{
		"status": fields(s.crds.GetResetFields()),
		"spec":   fields(s.status.GetResetFields()),
	} {
		for _, version := range []string{"apiextensions.k8s.io/v1", "apiextensions.k8s.io/v1beta1"} {
			if got[version] != "."+name {
				t.Errorf("reset in %s: %q, want .%s", version, got[version], name)
			}
		}
	}
}

func condition(d *apiextensionsv1.CustomResourceDefinition, kind apiextensionsv1.CustomResourceDefinitionConditionType) *apiextensionsv1.CustomResourceDefinitionCondition {
	for i := range d.Status.Conditions {
		if d.Status.Conditions[i].Type == kind {
			return &d.Status.Conditions[i]
		}
	}
	return nil
}

func (s *server) refused(t *testing.T, method, path, body string, code int, message string) {
	t.Helper()
	got, answer := s.Send(t, method, path, []byte(body))
	var status metav1.Status
	if err := json.Unmarshal(answer, &status); err != nil || got != code || status.Message != message {
		t.Errorf("%s %s: %d %q, want %d %q (%v)", method, path, got, status.Message, code, message, err)
	}
}
