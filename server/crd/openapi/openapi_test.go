package openapi_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	openapi_v2 "github.com/google/gnostic-models/openapiv2"
	openapi_v3 "github.com/google/gnostic-models/openapiv3"
	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/testing/protocmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	clientdiscovery "k8s.io/client-go/discovery"
	"k8s.io/client-go/openapi3"
	"k8s.io/client-go/rest"
	"k8s.io/kube-openapi/pkg/spec3"
	"k8s.io/kube-openapi/pkg/validation/spec"
	"sigs.k8s.io/yaml"

	"github.com/kx-apiserver/kx/server/crd/openapi"
	documents "github.com/kx-apiserver/kx/server/openapi"
)

var rewrite = flag.Bool("rewrite", false, "write the golden files anew")

const (
	jsonType    = "application/json"
	protoTypeV3 = "application/com.github.proto-openapi.spec.v3.v1.0+protobuf"
	protoTypeV2 = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
)

// crontab is the definition of the documentation, established.
func crontab(t testing.TB) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	data, err := os.ReadFile("testdata/crontab.yaml")
	if err != nil {
		t.Fatal(err)
	}
	crd := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.UnmarshalStrict(data, crd); err != nil {
		t.Fatal(err)
	}
	crd.UID, crd.Generation = "1", 1
	return establish(crd, true)
}

func establish(crd *apiextensionsv1.CustomResourceDefinition, is bool) *apiextensionsv1.CustomResourceDefinition {
	status := apiextensionsv1.ConditionFalse
	if is {
		status = apiextensionsv1.ConditionTrue
	}
	crd.Status.Conditions = []apiextensionsv1.CustomResourceDefinitionCondition{{Type: apiextensionsv1.Established, Status: status}}
	return crd
}

// many are definitions like the one given, each in a group of its own.
func many(crd *apiextensionsv1.CustomResourceDefinition, n int) []*apiextensionsv1.CustomResourceDefinition {
	all := make([]*apiextensionsv1.CustomResourceDefinition, 0, n)
	for i := range n {
		c := crd.DeepCopy()
		c.Spec.Group = fmt.Sprintf("group%d.example.com", i)
		c.Name = c.Spec.Names.Plural + "." + c.Spec.Group
		c.UID = types.UID(c.Name)
		all = append(all, c)
	}
	return all
}

// teller is a lister that tests tell what to tell.
type teller struct {
	tell func(old, new *apiextensionsv1.CustomResourceDefinition)
}

func (l *teller) Subscribe(h func(old, new *apiextensionsv1.CustomResourceDefinition)) { l.tell = h }

// server serves the documents of built-in resources and of what it is told of.
type server struct {
	*teller
	url string
}

func serve(t testing.TB) *server {
	t.Helper()
	service := documents.NewService("v1.37.0")
	service.InstallGroupVersion(schema.GroupVersion{Group: "apps", Version: "v1"}, []documents.Resource{{APIResource: metav1.APIResource{
		Name: "deployments", Kind: "Deployment", Namespaced: true, Verbs: metav1.Verbs{"get", "list", "create"}}}})
	s := &server{teller: &teller{}}
	openapi.Publish(s, service)
	h := httptest.NewServer(service)
	t.Cleanup(h.Close)
	s.url = h.URL
	return s
}

func (s *server) get(t testing.TB, path, accept string) (int, []byte) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Accept", accept)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, body
}

// index is where the documents of v3 are.
func (s *server) index(t testing.TB) map[string]string {
	t.Helper()
	_, body := s.get(t, "/openapi/v3", jsonType)
	var index struct {
		Paths map[string]struct{ ServerRelativeURL string }
	}
	if err := json.Unmarshal(body, &index); err != nil {
		t.Fatalf("%s: %v", body, err)
	}
	at := map[string]string{}
	for path, entry := range index.Paths {
		at[path] = entry.ServerRelativeURL
	}
	return at
}

// What kubectl reads of the resource that everybody tries first. Of the built-in types, which are in the documents too,
// others tell.
func TestCronTab(t *testing.T) {
	s := serve(t)
	s.tell(nil, crontab(t))
	for file, path := range map[string]string{"crontab.v3.json": "/openapi/v3/apis/stable.example.com/v1", "crontab.v2.json": "/openapi/v2"} {
		_, body := s.get(t, path, jsonType)
		var document map[string]any
		if err := json.Unmarshal(body, &document); err != nil {
			t.Fatal(err)
		}
		delete(document, "parameters")
		own, err := json.Marshal(ofExample(document))
		if err != nil {
			t.Fatal(err)
		}
		golden(t, file, own)
	}
}

// ofExample leaves out the paths and definitions that are not of the example.
func ofExample(document map[string]any) map[string]any {
	for name, value := range document {
		section, ok := value.(map[string]any)
		switch {
		case !ok:
		case name == "paths" || name == "definitions" || name == "schemas":
			maps.DeleteFunc(section, func(name string, _ any) bool { return !strings.Contains(name, "example") })
		default:
			ofExample(section)
		}
	}
	return document
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	var indented bytes.Buffer
	if err := json.Indent(&indented, got, "", " "); err != nil {
		t.Fatalf("%.200s: %v", got, err)
	}
	indented.WriteByte('\n')
	path := filepath.Join("testdata", name)
	if *rewrite {
		if err := os.WriteFile(path, indented.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), indented.String()); diff != "" {
		t.Errorf("%s: -want +got\n%s", name, diff)
	}
}

// A document in protobuf is put together of the messages of its parts. Read, it is what the library makes of the JSON.
func TestProtobuf(t *testing.T) {
	s := serve(t)
	for _, crd := range many(crontab(t), 3) {
		s.tell(nil, crd)
	}
	_, asJSON := s.get(t, "/openapi/v3/apis/group1.example.com/v1", jsonType)
	_, asProto := s.get(t, "/openapi/v3/apis/group1.example.com/v1", protoTypeV3)
	want3, err := openapi_v3.ParseDocument(asJSON)
	if err != nil {
		t.Fatal(err)
	}
	got3 := &openapi_v3.Document{}
	if err := proto.Unmarshal(asProto, got3); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want3, got3, protocmp.Transform()); diff != "" {
		t.Errorf("v3: -want +got\n%s", diff)
	}

	_, asJSON = s.get(t, "/openapi/v2", jsonType)
	_, asProto = s.get(t, "/openapi/v2", protoTypeV2)
	want2, err := openapi_v2.ParseDocument(asJSON)
	if err != nil {
		t.Fatal(err)
	}
	got2 := &openapi_v2.Document{}
	if err := proto.Unmarshal(asProto, got2); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want2, got2, protocmp.Transform()); diff != "" {
		t.Errorf("v2: -want +got\n%s", diff)
	}
}

// What is published, as a definition comes, is established, changes and goes.
func TestPublish(t *testing.T) {
	const path = "apis/stable.example.com/"
	s := serve(t)
	pending := establish(crontab(t), false)
	s.tell(nil, pending)
	if at := s.index(t)[path+"v1"]; at != "" {
		t.Errorf("before it is established: %s", at)
	}

	first := crontab(t)
	s.tell(pending, first)
	at := s.index(t)[path+"v1"]
	if code, body := s.get(t, at, jsonType); code != http.StatusOK || !strings.Contains(string(body), "com.example.stable.v1.CronTab") {
		t.Errorf("%s: %d, %.200s", at, code, body)
	}

	terminating := first.DeepCopy()
	terminating.Status.Conditions = append(terminating.Status.Conditions, apiextensionsv1.CustomResourceDefinitionCondition{Type: apiextensionsv1.Terminating})
	s.tell(first, terminating)
	if now := s.index(t)[path+"v1"]; now != at {
		t.Errorf("a condition changed its hash: %s, before %s", now, at)
	}

	second := terminating.DeepCopy()
	second.Generation++
	second.Spec.Versions = append(second.Spec.Versions, *second.Spec.Versions[0].DeepCopy())
	second.Spec.Versions[1].Name = "v2"
	second.Spec.Versions[0].Schema.OpenAPIV3Schema.Description = "another"
	s.tell(terminating, second)
	index := s.index(t)
	if index[path+"v1"] == at || index[path+"v2"] == "" {
		t.Errorf("after a change: %v", index)
	}
	if _, body := s.get(t, index[path+"v1"], jsonType); !strings.Contains(string(body), `"another"`) {
		t.Errorf("after a change: %.200s", body)
	}

	third := second.DeepCopy()
	third.Generation++
	third.Spec.Versions[1].Served = false
	s.tell(second, third)
	if index := s.index(t); index[path+"v1"] == "" || index[path+"v2"] != "" {
		t.Errorf("v2 is not served any more: %v", index)
	}
	if _, body := s.get(t, "/openapi/v2", jsonType); strings.Contains(string(body), "com.example.stable.v2") || !strings.Contains(string(body), "com.example.stable.v1") {
		t.Error("OpenAPI v2 has what is not served, or not what is")
	}

	s.tell(third, nil)
	if code, _ := s.get(t, "/openapi/v3/"+path+"v1", jsonType); code != http.StatusNotFound || s.index(t)[path+"v1"] != "" {
		t.Errorf("after it is gone: %d", code)
	}
}

// Definitions of one group version share its document, and don't take each other with them. Who has the same has the same hash.
func TestSharedGroupVersion(t *testing.T) {
	s := serve(t)
	first, second := crontab(t), crontab(t)
	second.Name, second.UID = "clocks.stable.example.com", "2"
	second.Spec.Names = apiextensionsv1.CustomResourceDefinitionNames{Plural: "clocks", Singular: "clock", Kind: "Clock", ListKind: "ClockList"}
	s.tell(nil, first)
	s.tell(nil, second)
	has := func(kinds ...string) {
		t.Helper()
		_, body := s.get(t, "/openapi/v3/apis/stable.example.com/v1", jsonType)
		var document struct {
			Paths      map[string]any
			Components struct{ Schemas map[string]any }
		}
		if err := json.Unmarshal(body, &document); err != nil {
			t.Fatal(err)
		}
		if got := len(document.Paths); got != 5*len(kinds) {
			t.Errorf("%d paths for %v", got, kinds)
		}
		for _, kind := range kinds {
			if document.Components.Schemas["com.example.stable.v1."+kind] == nil {
				t.Errorf("no definition of %s", kind)
			}
		}
	}
	has("CronTab", "Clock")

	// Another server hears of them in another order.
	other := serve(t)
	at := func(s *server) string { return s.index(t)["apis/stable.example.com/v1"] }
	other.tell(nil, second)
	alone := at(other)
	other.tell(nil, first)
	both := at(other)
	if both == alone || at(s) != both {
		t.Errorf("both are at %s, and of another server at %s; one alone is at %s", at(s), both, alone)
	}
	s.tell(first, nil)
	has("Clock")
	if at(s) != alone {
		t.Errorf("one alone is at %s again, before at %s", at(s), alone)
	}
}

// A definition in a group version of built-in resources leaves their document as it is.
func TestBuiltinGroupVersion(t *testing.T) {
	s := serve(t)
	crd := crontab(t)
	crd.Spec.Group = "apps"
	before := s.index(t)["apis/apps/v1"]
	s.tell(nil, crd)
	if got := s.index(t)["apis/apps/v1"]; got != before {
		t.Errorf("apps/v1 is at %s, before at %s", got, before)
	}
	s.tell(crd, nil)
	if code, _ := s.get(t, before, jsonType); code != http.StatusOK {
		t.Errorf("afterwards: %d", code)
	}
}

// client-go's own way to the documents, which kubectl explain goes.
func TestClient(t *testing.T) {
	s := serve(t)
	s.tell(nil, crontab(t))
	client, err := clientdiscovery.NewDiscoveryClientForConfig(&rest.Config{Host: s.url})
	if err != nil {
		t.Fatal(err)
	}
	document, err := openapi3.NewRoot(client.OpenAPIV3()).GVSpec(schema.GroupVersion{Group: "stable.example.com", Version: "v1"})
	if err != nil {
		t.Fatal(err)
	}
	got := document.Components.Schemas["com.example.stable.v1.CronTab"].Properties["spec"].Properties["cronSpec"]
	if got.Description != "When the job runs." || !got.Type.Contains("string") {
		t.Errorf("spec.cronSpec is %+v", got)
	}
	v2, err := client.OpenAPISchema()
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range v2.Definitions.AdditionalProperties {
		if d.Name == "com.example.stable.v1.CronTab" {
			return
		}
	}
	t.Error("OpenAPI v2 has no CronTab")
}

// counting counts what is built.
type counting struct {
	*documents.Service
	v3, v2 atomic.Int32
}

func (c *counting) UpdatePart(gv schema.GroupVersion, p documents.Part) {
	v3, v2 := p.V3, p.V2
	p.V3 = func() (*spec3.OpenAPI, error) { c.v3.Add(1); return v3() }
	p.V2 = func() (*spec.Swagger, error) { c.v2.Add(1); return v2() }
	c.Service.UpdatePart(gv, p)
}

// With many definitions nothing is built that nobody asks for, and nothing twice.
func TestManyAreBuiltOnce(t *testing.T) {
	const n = 60
	service := &counting{Service: documents.NewService("v1.37.0")}
	s := &server{teller: &teller{}}
	openapi.Publish(s, service)
	h := httptest.NewServer(service)
	defer h.Close()
	s.url = h.URL

	all := many(crontab(t), n)
	for _, crd := range all {
		s.tell(nil, crd)
		s.tell(crd, crd.DeepCopy()) // its status has changed
	}
	step := func(what string, v3, v2 int32) {
		t.Helper()
		if got3, got2 := service.v3.Swap(0), service.v2.Swap(0); got3 != v3 || got2 != v2 {
			t.Errorf("%s: built %d for v3 and %d for v2, want %d and %d", what, got3, got2, v3, v2)
		}
	}
	if got := len(s.index(t)); got != n+2 {
		t.Errorf("%d documents", got)
	}
	step("the index", 0, 0)
	for range 2 {
		s.get(t, "/openapi/v3/apis/group7.example.com/v1", jsonType)
		s.get(t, "/openapi/v3/apis/group7.example.com/v1", protoTypeV3)
	}
	step("one document", 1, 0)
	for range 2 {
		s.get(t, "/openapi/v2", protoTypeV2)
		s.get(t, "/openapi/v2", jsonType)
	}
	step("OpenAPI v2", 0, n)
	changed := all[7].DeepCopy()
	changed.Generation++
	s.tell(all[7], changed)
	s.index(t)
	s.get(t, "/openapi/v2", jsonType)
	s.get(t, "/openapi/v3/apis/group7.example.com/v1", jsonType)
	step("all again after a change of one", 1, 1)
}

// A reader who comes while definitions change gets a whole document.
func TestReadersDuringChanges(t *testing.T) {
	s := serve(t)
	crd := crontab(t)
	s.tell(nil, crd)
	var readers sync.WaitGroup
	for _, path := range []string{"/openapi/v3", "/openapi/v2", "/openapi/v3/apis/stable.example.com/v1"} {
		readers.Go(func() {
			for range 20 {
				code, body := s.get(t, path, jsonType)
				if code != http.StatusOK || !json.Valid(body) || !strings.Contains(string(body), "stable.example.com") {
					t.Errorf("%s: %d, %.100s", path, code, body)
				}
			}
		})
	}
	for range 100 {
		changed := crd.DeepCopy()
		changed.Generation++
		s.tell(crd, changed)
		crd = changed
	}
	readers.Wait()
}
