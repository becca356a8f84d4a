package upstream

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/controller/openapi/builder"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/kube-openapi/pkg/handler"
	"k8s.io/kube-openapi/pkg/spec3"
	"k8s.io/kube-openapi/pkg/validation/spec"

	"github.com/kx-apiserver/kx/server/crd/openapi"
	serveropenapi "github.com/kx-apiserver/kx/server/openapi"
)

func TestOwn(t *testing.T) {
	compareAll(t, "testdata", 4)
}

func TestProjects(t *testing.T) {
	for path, least := range map[string]int{
		"github.com/argoproj/argo-cd/v3/manifests/crds":                                      3,
		"github.com/argoproj/argo-rollouts/manifests/crds":                                   5,
		"github.com/cert-manager/cert-manager/deploy/crds":                                   6,
		"github.com/prometheus-operator/prometheus-operator/example/prometheus-operator-crd": 10,
		"sigs.k8s.io/cluster-api/core/config/crd/bases":                                      13,
		"sigs.k8s.io/gateway-api/config/crd":                                                 8,
	} {
		t.Run(path, func(t *testing.T) { compareAll(t, folder(t, path), least) })
	}
}

// folder finds one in the modules that this one requires.
func folder(t *testing.T, path string) string {
	t.Helper()
	for module := path; module != "."; module = filepath.Dir(module) {
		if exec.CommandContext(t.Context(), "go", "list", "-m", module).Run() != nil {
			continue
		}
		// Nothing of it is compiled, so nobody has downloaded it.
		if err := exec.CommandContext(t.Context(), "go", "mod", "download", module).Run(); err != nil {
			t.Fatal(err)
		}
		out, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", module).Output()
		if err != nil {
			t.Fatal(err)
		}
		return filepath.Join(strings.TrimSpace(string(out)), strings.TrimPrefix(path, module))
	}
	t.Fatalf("%s is in no module that is required", path)
	return ""
}

func compareAll(t *testing.T, folder string, least int) {
	t.Helper()
	compared := 0
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(path) != ".yaml" {
			return err
		}
		for _, crd := range definitions(t, path) {
			for _, v := range crd.Spec.Versions {
				compared++
				compare(t, crd, v.Name)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("%d versions compared", compared)
	if compared < least {
		t.Errorf("compared %d versions of definitions in %s", compared, folder)
	}
}

func definitions(t *testing.T, path string) (all []*apiextensionsv1.CustomResourceDefinition) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	decoder := yaml.NewYAMLOrJSONDecoder(bytes.NewReader(data), 4096)
	for {
		var object map[string]any
		if err := decoder.Decode(&object); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		if (&unstructured.Unstructured{Object: object}).GetKind() != "CustomResourceDefinition" {
			continue
		}
		crd := &apiextensionsv1.CustomResourceDefinition{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object, crd); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		apiextensionsv1.SetDefaults_CustomResourceDefinition(crd)
		apiextensionsv1.SetDefaults_CustomResourceDefinitionSpec(&crd.Spec)
		all = append(all, crd)
	}
}

func compare(t *testing.T, crd *apiextensionsv1.CustomResourceDefinition, version string) {
	t.Helper()
	want3, err := builder.BuildOpenAPIV3(crd, version, builder.Options{IncludeSelectableFields: true})
	if err != nil {
		t.Fatal(err)
	}
	served := serve(crd, version)
	for _, diff := range differences("", plain(t, want3), plain(t, get(t, served, "/openapi/v3/apis/"+crd.Spec.Group+"/"+version))) {
		t.Errorf("v3 of %s %s: %s", crd.Name, version, diff)
	}
	want2, err := builder.BuildOpenAPIV2(crd, version, builder.Options{V2: true, IncludeSelectableFields: true})
	if err != nil {
		t.Fatal(err)
	}
	want2.Definitions = handler.PruneDefaults(want2.Definitions)
	expected2, got2 := plain(t, want2), plain(t, get(t, served, "/openapi/v2"))
	forgetServer(t, expected2, got2)
	for _, diff := range differences("", expected2, got2) {
		t.Errorf("v2 of %s %s: %s", crd.Name, version, diff)
	}
}

// serve serves the documents of one version: what is described of it, with the built-in definitions that it names.
func serve(crd *apiextensionsv1.CustomResourceDefinition, version string) http.Handler {
	s := serveropenapi.NewService("v0.1.0") // as upstream's builder calls it
	s.UpdatePart(schema.GroupVersion{Group: crd.Spec.Group, Version: version}, serveropenapi.Part{
		V3: func() (*spec3.OpenAPI, error) { return openapi.V3(crd, version) },
		V2: func() (*spec.Swagger, error) { return openapi.V2(crd, version) },
	})
	return s
}

// forgetServer takes out of a server's OpenAPI v2, which is one document of all, what any has without custom resources.
func forgetServer(t *testing.T, expected, got map[string]any) {
	t.Helper()
	bare := plain(t, get(t, serveropenapi.NewService("v0.1.0"), "/openapi/v2"))
	for _, members := range []string{"paths", "definitions"} {
		for name := range bare[members].(map[string]any) {
			if _, also := expected[members].(map[string]any)[name]; !also {
				delete(got[members].(map[string]any), name)
			}
		}
	}
	for _, whole := range []string{"info", "security", "securityDefinitions"} {
		delete(expected, whole)
		delete(got, whole)
	}
}

// get is the document at a path.
func get(t *testing.T, from http.Handler, path string) json.RawMessage {
	t.Helper()
	res := httptest.NewRecorder()
	from.ServeHTTP(res, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
	if res.Code != http.StatusOK {
		t.Fatalf("%s: %d %s", path, res.Code, res.Body)
	}
	return res.Body.Bytes()
}

// differences are a line for each place where documents differ.
func differences(at string, upstream, kx any) (lines []string) {
	a, aIsMap := upstream.(map[string]any)
	b, bIsMap := kx.(map[string]any)
	if !aIsMap || !bIsMap {
		if !reflect.DeepEqual(upstream, kx) {
			lines = append(lines, fmt.Sprintf("%s: upstream has %v, kx has %v", at, upstream, kx))
		}
		return lines
	}
	both := maps.Clone(a)
	maps.Copy(both, b)
	for _, name := range slices.Sorted(maps.Keys(both)) {
		lines = append(lines, differences(at+" > "+name, a[name], b[name])...)
	}
	return lines
}

// plain is a document as its readers see it, but for what is not about custom resources: which group versions have
// DeleteOptions goes by the types that are compiled into a server.
func plain(t *testing.T, document any) map[string]any {
	t.Helper()
	data, err := json.Marshal(document)
	if err != nil {
		t.Fatal(err)
	}
	var out map[string]any
	if err := json.Unmarshal(data, &out); err != nil {
		t.Fatal(err)
	}
	definitions, _ := out["definitions"].(map[string]any)
	if components, ok := out["components"].(map[string]any); ok {
		definitions, _ = components["schemas"].(map[string]any)
	}
	for _, name := range slices.Collect(maps.Keys(definitions)) {
		if strings.HasPrefix(name, "io.k8s.apimachinery.") || strings.HasPrefix(name, "io.k8s.api.autoscaling.") {
			delete(definitions[name].(map[string]any), "x-kubernetes-group-version-kind")
		}
	}
	return out
}
