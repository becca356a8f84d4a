package projects

import (
	"bytes"
	"context"
	"errors"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/yaml"

	"github.com/kx-apiserver/kx/server"
	"github.com/kx-apiserver/kx/server/controller"
	"github.com/kx-apiserver/kx/server/options"
)

const (
	limit   = 3 * time.Minute
	manager = "projects"
)

// projects are where the definitions lie in their modules, and how many there are at least: a module that moves its
// files must not pass for one that has none.
var projects = []struct {
	name, module string
	dirs         []string
	atLeast      int
}{
	{"Gateway API", "sigs.k8s.io/gateway-api", []string{"config/crd/experimental"}, 13},
	{"cert-manager", "github.com/cert-manager/cert-manager", []string{"deploy/crds"}, 6},
	{"Prometheus operator", "github.com/prometheus-operator/prometheus-operator", []string{"example/prometheus-operator-crd"}, 10},
	{"Cluster API", "sigs.k8s.io/cluster-api", []string{"core/config/crd/bases", "controlplane/kubeadm/config/crd/bases", "bootstrap/kubeadm/config/crd/bases", "cmd/clusterctl/config/crd/bases"}, 18},
	{"Argo CD", "github.com/argoproj/argo-cd/v3", []string{"manifests/crds"}, 3},
	{"Argo Rollouts", "github.com/argoproj/argo-rollouts", []string{"manifests/crds"}, 5},
}

func TestProjects(t *testing.T) {
	config := start(t)
	more := readMore(t)
	for _, p := range projects {
		t.Run(p.name, func(t *testing.T) {
			crds := shipped(t, p.module, p.dirs)
			if len(crds) < p.atLeast {
				t.Fatalf("%s ships %d definitions, at least %d were there", p.module, len(crds), p.atLeast)
			}
			install(t, config, crds)
			published(t, config, crds)
			for _, crd := range crds {
				t.Run(crd.Spec.Names.Plural, func(t *testing.T) { use(t, config, crd, more[crd.Spec.Names.Kind]) })
			}
		})
	}
}

// start starts a server that stops with the test.
func start(t *testing.T) *rest.Config {
	t.Helper()
	o := options.New()
	o.InitialObjects, o.Controllers = false, controller.Selection{"*", "-" + controller.ServiceAccounts, "-" + controller.RootCA}
	o.Ephemeral, o.Listen = true, "127.0.0.1:0"
	must(t, o.Validate())
	s, err := server.Start(t.Context(), o, slog.New(slog.DiscardHandler))
	must(t, err)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), limit)
		defer cancel()
		if err := s.Stop(ctx); err != nil {
			t.Error(err)
		}
	})
	config, err := clientcmd.BuildConfigFromFlags("", s.Kubeconfig)
	must(t, err)
	config.QPS = -1
	return config
}

// shipped are the definitions in the directories of a module, as Go keeps it.
func shipped(t *testing.T, module string, dirs []string) []*apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	// Nothing of it is compiled, so nobody has downloaded it.
	must(t, exec.Command("go", "mod", "download", module).Run())
	root, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", module).Output()
	must(t, err)
	var crds []*apiextensionsv1.CustomResourceDefinition
	for _, dir := range dirs {
		files, err := fs.Glob(os.DirFS(filepath.Join(strings.TrimSpace(string(root)), dir)), "*.yaml")
		must(t, err)
		for _, file := range files {
			content, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(root)), dir, file))
			must(t, err)
			crds = append(crds, definitions(t, file, content)...)
		}
	}
	return crds
}

// definitions are those among the documents of a file.
func definitions(t *testing.T, name string, content []byte) []*apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	var crds []*apiextensionsv1.CustomResourceDefinition
	for documents := utilyaml.NewDocumentDecoder(io.NopCloser(bytes.NewReader(content))); ; {
		document := make([]byte, len(content)+1)
		n, err := documents.Read(document)
		if errors.Is(err, io.EOF) {
			return crds
		}
		must(t, err)
		crd := &apiextensionsv1.CustomResourceDefinition{}
		if err := yaml.Unmarshal(document[:n], crd); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if crd.Kind == "CustomResourceDefinition" {
			crds = append(crds, crd)
		}
	}
}

// install creates the definitions and waits until all are established.
func install(t *testing.T, config *rest.Config, crds []*apiextensionsv1.CustomResourceDefinition) {
	t.Helper()
	c, err := clientset.NewForConfig(config)
	must(t, err)
	client := c.ApiextensionsV1().CustomResourceDefinitions()
	for _, crd := range crds {
		if _, err := client.Create(t.Context(), crd, metav1.CreateOptions{}); err != nil {
			t.Fatalf("create %s: %v", crd.Name, err)
		}
	}
	for _, crd := range crds {
		var last *apiextensionsv1.CustomResourceDefinition
		err := wait.PollUntilContextTimeout(t.Context(), 10*time.Millisecond, limit, true, func(ctx context.Context) (done bool, err error) {
			last, err = client.Get(ctx, crd.Name, metav1.GetOptions{})
			return err == nil && apihelpers.IsCRDConditionTrue(last, apiextensionsv1.Established), err
		})
		if err != nil {
			t.Fatalf("%s is not established: %v: %+v", crd.Name, err, last.Status.Conditions)
		}
		for _, condition := range last.Status.Conditions {
			if condition.Type == apiextensionsv1.NonStructuralSchema && condition.Status == apiextensionsv1.ConditionTrue {
				t.Errorf("%s: %s", crd.Name, condition.Message)
			}
		}
	}
}

// published checks that discovery and OpenAPI have every version that is served.
func published(t *testing.T, config *rest.Config, crds []*apiextensionsv1.CustomResourceDefinition) {
	t.Helper()
	client, err := discovery.NewDiscoveryClientForConfig(config)
	must(t, err)
	paths, err := client.OpenAPIV3().Paths()
	must(t, err)
	for _, crd := range crds {
		for _, version := range crd.Spec.Versions {
			if !version.Served {
				continue
			}
			gv := crd.Spec.Group + "/" + version.Name
			resources, err := client.ServerResourcesForGroupVersion(gv)
			must(t, err)
			found := false
			for _, r := range resources.APIResources {
				found = found || r.Name == crd.Spec.Names.Plural && r.Kind == crd.Spec.Names.Kind
			}
			if !found {
				t.Errorf("discovery of %s has no %s", gv, crd.Spec.Names.Plural)
			}
			document := paths["apis/"+gv]
			if document == nil {
				t.Errorf("OpenAPI has no %s", gv)
				continue
			}
			content, err := document.Schema("application/json")
			must(t, err)
			if !bytes.Contains(content, []byte(`"kind":"`+crd.Spec.Names.Kind+`"`)) {
				t.Errorf("OpenAPI of %s has no %s", gv, crd.Spec.Names.Kind)
			}
		}
	}
}

// use creates, lists, applies and deletes an object in every version that is served.
func use(t *testing.T, config *rest.Config, crd *apiextensionsv1.CustomResourceDefinition, more map[string]any) {
	t.Helper()
	for _, version := range crd.Spec.Versions {
		if !version.Served {
			continue
		}
		client := resource(t, config, crd, version.Name)
		obj := object(t, crd, version, more)

		created, err := client.Create(t.Context(), obj, metav1.CreateOptions{FieldValidation: metav1.FieldValidationStrict})
		if err != nil {
			t.Errorf("create in %s: %v", version.Name, err)
			continue
		}
		list, err := client.List(t.Context(), metav1.ListOptions{})
		must(t, err)
		if len(list.Items) != 1 || list.Items[0].GetUID() != created.GetUID() {
			t.Errorf("list in %s: %d objects, want the one that was created", version.Name, len(list.Items))
		}
		obj.SetLabels(map[string]string{"applied": "yes"})
		applied, err := client.Apply(t.Context(), obj.GetName(), obj, metav1.ApplyOptions{FieldManager: manager, Force: true})
		if err != nil {
			t.Errorf("apply in %s: %v", version.Name, err)
		} else if applied.GetUID() != created.GetUID() || applied.GetLabels()["applied"] != "yes" || !owns(applied, manager) {
			t.Errorf("apply in %s: labels %v, managers %v", version.Name, applied.GetLabels(), applied.GetManagedFields())
		}
		must(t, client.Delete(t.Context(), obj.GetName(), metav1.DeleteOptions{}))
		list, err = client.List(t.Context(), metav1.ListOptions{})
		must(t, err)
		if len(list.Items) != 0 {
			t.Errorf("list in %s: %d objects after the deletion", version.Name, len(list.Items))
		}
	}
}

func owns(obj *unstructured.Unstructured, manager string) bool {
	for _, entry := range obj.GetManagedFields() {
		if entry.Manager == manager && entry.Operation == metav1.ManagedFieldsOperationApply {
			return true
		}
	}
	return false
}

func resource(t *testing.T, config *rest.Config, crd *apiextensionsv1.CustomResourceDefinition, version string) dynamic.ResourceInterface {
	t.Helper()
	client, err := dynamic.NewForConfig(config)
	must(t, err)
	r := client.Resource(schema.GroupVersionResource{Group: crd.Spec.Group, Version: version, Resource: crd.Spec.Names.Plural})
	if crd.Spec.Scope == apiextensionsv1.NamespaceScoped {
		return r.Namespace("default")
	}
	return r
}

// object is a minimal one, with what else it needs.
func object(t *testing.T, crd *apiextensionsv1.CustomResourceDefinition, version apiextensionsv1.CustomResourceDefinitionVersion, more map[string]any) *unstructured.Unstructured {
	t.Helper()
	content, err := sample(version.Schema.OpenAPIV3Schema)
	must(t, err)
	obj := &unstructured.Unstructured{Object: content.(map[string]any)}
	for field, v := range more {
		obj.Object[field] = v
	}
	obj = obj.DeepCopy()
	obj.SetGroupVersionKind(schema.GroupVersionKind{Group: crd.Spec.Group, Version: version.Name, Kind: crd.Spec.Names.Kind})
	obj.SetName("minimal")
	return obj
}

// readMore reads what objects of a kind need beside what their schema requires.
func readMore(t *testing.T) map[string]map[string]any {
	t.Helper()
	content, err := os.ReadFile("testdata/objects.yaml")
	must(t, err)
	more := map[string]map[string]any{}
	must(t, yaml.UnmarshalStrict(content, &more))
	return more
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
