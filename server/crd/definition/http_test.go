package definition_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kx-apiserver/kx/server/crd/definition"
	"github.com/kx-apiserver/kx/server/internal/crdtest"
)

// ask sends a request with headers, and returns the response with its body.
func (s *server) ask(t *testing.T, method, path, body string, headers ...string) (*http.Response, []byte) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, s.URL+path, strings.NewReader(body))
	must(t, err)
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	res, err := s.HTTP.Do(req)
	must(t, err)
	defer func() { _ = res.Body.Close() }()
	answer, err := io.ReadAll(res.Body)
	must(t, err)
	return res, answer
}

func decode[T any](t *testing.T, data []byte) (v T) {
	t.Helper()
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatalf("%v: %s", err, data)
	}
	return v
}

func TestTable(t *testing.T) {
	s := start(t)
	d := s.send(t, http.MethodPost, crdtest.Collection, crdtest.Definition, http.StatusCreated)
	d.Spec.Versions = append(d.Spec.Versions, *d.Spec.Versions[0].DeepCopy(), *d.Spec.Versions[0].DeepCopy())
	d.Spec.Versions[1].Name, d.Spec.Versions[1].Storage = "v1beta1", false
	d.Spec.Versions[2].Name, d.Spec.Versions[2].Storage, d.Spec.Versions[2].Served = "v1alpha1", false, false
	d.Spec.Names.ShortNames = []string{"ct", "cr"}
	d = s.put(t, item, d)
	want := metav1.TableRow{Cells: []any{
		crdtest.Name, "Namespaced", "v1(storage),v1beta1", d.CreationTimestamp.UTC().Format("2006-01-02T15:04:05Z07:00"),
		"stable.example.com", "CronTab", "ct,cr", false,
	}}
	const asTable = "application/json;as=Table;g=meta.k8s.io;v=v1"
	for _, path := range []string{crdtest.Collection, item} {
		_, answer := s.ask(t, http.MethodGet, path, "", "Accept", asTable)
		table := decode[metav1.Table](t, answer)
		var columns []string
		for _, c := range table.ColumnDefinitions {
			columns = append(columns, c.Name)
		}
		if diff := cmp.Diff([]string{"Name", "Scope", "Versions", "Created At", "Group", "Kind", "ShortNames", "Established"}, columns); diff != "" {
			t.Errorf("%s: columns:\n%s", path, diff)
		}
		if len(table.Rows) != 1 {
			t.Fatalf("%s: %d rows", path, len(table.Rows))
		}
		if diff := cmp.Diff(want.Cells, table.Rows[0].Cells); diff != "" {
			t.Errorf("%s:\n%s", path, diff)
		}
	}
	if res, answer := s.ask(t, http.MethodGet, item+"/status", "", "Accept", asTable); res.StatusCode != http.StatusNotAcceptable {
		t.Errorf("table of a status: %d %s", res.StatusCode, answer)
	}
}

func TestDiscovery(t *testing.T) {
	s := start(t)
	_, answer := s.ask(t, http.MethodGet, "/apis/apiextensions.k8s.io/v1", "")
	want := []metav1.APIResource{
		{
			Name: "customresourcedefinitions", SingularName: "customresourcedefinition", Kind: "CustomResourceDefinition",
			Verbs:      metav1.Verbs{"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"},
			ShortNames: []string{"crd", "crds"}, Categories: []string{"api-extensions"},
			StorageVersionHash: "jfWCUB31mvA=", // every kube-apiserver's
		},
		{Name: "customresourcedefinitions/status", Kind: "CustomResourceDefinition", Verbs: metav1.Verbs{"get", "patch", "update"}},
	}
	if diff := cmp.Diff(want, decode[metav1.APIResourceList](t, answer).APIResources); diff != "" {
		t.Error(diff)
	}
	if res, _ := s.ask(t, http.MethodGet, "/apis/apiextensions.k8s.io/v1beta1/customresourcedefinitions", ""); res.StatusCode != http.StatusNotFound {
		t.Errorf("v1beta1 is served: %d", res.StatusCode)
	}
}

func TestProtobuf(t *testing.T) {
	s := start(t)
	d := s.send(t, http.MethodPost, crdtest.Collection, crdtest.Definition, http.StatusCreated)
	_, answer := s.ask(t, http.MethodGet, item, "", "Accept", runtime.ContentTypeProtobuf)
	obj, _, err := definition.Codecs.UniversalDeserializer().Decode(answer, nil, nil)
	must(t, err)
	got := obj.(*apiextensionsv1.CustomResourceDefinition)
	if diff := cmp.Diff(d, got); diff != "" {
		t.Error(diff)
	}
	got.Spec.Names.Categories = []string{"all"}
	var body bytes.Buffer
	info, _ := runtime.SerializerInfoForMediaType(definition.Codecs.SupportedMediaTypes(), runtime.ContentTypeProtobuf)
	must(t, definition.Codecs.EncoderForVersion(info.Serializer, apiextensionsv1.SchemeGroupVersion).Encode(got, &body))
	res, answer := s.ask(t, http.MethodPut, item, body.String(), "Content-Type", runtime.ContentTypeProtobuf)
	if res.StatusCode != http.StatusOK || decode[apiextensionsv1.CustomResourceDefinition](t, answer).Spec.Names.Categories[0] != "all" {
		t.Errorf("%d: %s", res.StatusCode, answer)
	}
}

func TestPatch(t *testing.T) {
	s := start(t)
	s.send(t, http.MethodPost, crdtest.Collection, crdtest.Definition, http.StatusCreated)
	for _, patch := range []struct{ contentType, patch string }{
		{"application/merge-patch+json", `{"spec":{"names":{"categories":["merge"]}},"status":{"storedVersions":["v9"]}}`},
		{"application/json-patch+json", `[{"op":"replace","path":"/spec/names/categories","value":["json"]}]`},
		{"application/strategic-merge-patch+json", `{"spec":{"names":{"categories":["strategic"]}}}`},
	} {
		res, answer := s.ask(t, http.MethodPatch, item, patch.patch, "Content-Type", patch.contentType)
		if res.StatusCode != http.StatusOK {
			t.Fatalf("%s: %d: %s", patch.contentType, res.StatusCode, answer)
		}
		d := decode[apiextensionsv1.CustomResourceDefinition](t, answer)
		if got := d.Spec.Names.Categories; len(got) != 1 || !strings.HasPrefix(patch.contentType, "application/"+got[0]) || d.Status.StoredVersions[0] != "v1" {
			t.Errorf("%s: %v, stored %v", patch.contentType, got, d.Status.StoredVersions)
		}
	}
}

func TestListAndWatch(t *testing.T) {
	s := start(t)
	d := s.send(t, http.MethodPost, crdtest.Collection, crdtest.Definition, http.StatusCreated)
	for selector, want := range map[string]int{
		"fieldSelector=metadata.name%3D" + crdtest.Name: 1,
		"fieldSelector=metadata.name%3Dother":           0,
		"fieldSelector=metadata.namespace%3D":           1,
		"labelSelector=a":                               0,
	} {
		_, answer := s.ask(t, http.MethodGet, crdtest.Collection+"?"+selector, "")
		list := decode[apiextensionsv1.CustomResourceDefinitionList](t, answer)
		if len(list.Items) != want || list.Kind != "CustomResourceDefinitionList" || list.APIVersion != "apiextensions.k8s.io/v1" {
			t.Errorf("%s: %d items of a %s", selector, len(list.Items), list.Kind)
		}
	}
	s.refused(t, http.MethodGet, crdtest.Collection+"?fieldSelector=spec.group%3Dx", "", http.StatusBadRequest,
		`"spec.group" is not a known field selector: only "metadata.name", "metadata.namespace"`)

	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL+crdtest.Collection+"?watch=true&resourceVersion="+d.ResourceVersion, nil)
	must(t, err)
	res, err := s.HTTP.Do(req)
	must(t, err)
	defer func() { _ = res.Body.Close() }()
	events := json.NewDecoder(res.Body)
	next := func(want watch.EventType) *apiextensionsv1.CustomResourceDefinition {
		t.Helper()
		var event struct {
			Type   watch.EventType
			Object *apiextensionsv1.CustomResourceDefinition
		}
		must(t, events.Decode(&event))
		if event.Type != want || event.Object.APIVersion != "apiextensions.k8s.io/v1" {
			t.Errorf("%s of %s, want %s", event.Type, event.Object.APIVersion, want)
		}
		return event.Object
	}
	s.send(t, http.MethodDelete, item, "", http.StatusOK)
	if got := next(watch.Modified); condition(got, apiextensionsv1.Terminating) == nil {
		t.Errorf("modified: %+v", got.Status)
	}
	s.Remove(t, crdtest.Name)
	next(watch.Modified) // deleting again sets the grace period, as on every object
	next(watch.Deleted)
}
