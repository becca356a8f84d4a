package server_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensionsclient "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset/typed/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	toolswatch "k8s.io/client-go/tools/watch"
)

const definitionsPath = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"

// cronTab is the example of Kubernetes' documentation, with all that a definition can have. Each test has a group of its
// own, for they share a server.
func cronTab(group string) *apiextensionsv1.CustomResourceDefinition {
	property := func(kind string) apiextensionsv1.JSONSchemaProps { return apiextensionsv1.JSONSchemaProps{Type: kind} }
	object := func(properties map[string]apiextensionsv1.JSONSchemaProps) apiextensionsv1.JSONSchemaProps {
		return apiextensionsv1.JSONSchemaProps{Type: "object", Properties: properties}
	}
	replicas := property("integer")
	replicas.Default = &apiextensionsv1.JSON{Raw: []byte("1")}
	replicas.Description = "How many of them run."
	spec := object(map[string]apiextensionsv1.JSONSchemaProps{
		"cronSpec": property("string"), "image": property("string"), "replicas": replicas,
	})
	spec.XValidations = apiextensionsv1.ValidationRules{{Rule: "self.replicas <= 10", Message: "no more than ten"}}
	root := object(map[string]apiextensionsv1.JSONSchemaProps{
		"spec":   spec,
		"status": object(map[string]apiextensionsv1.JSONSchemaProps{"replicas": property("integer"), "labelSelector": property("string")}),
	})
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: named("crontabs." + group),
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: group,
			Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{
				Plural: "crontabs", Singular: "crontab", Kind: "CronTab", ShortNames: []string{"ct"}, Categories: []string{"all"},
			},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{
				Name: "v1", Served: true, Storage: true,
				Schema: &apiextensionsv1.CustomResourceValidation{OpenAPIV3Schema: &root},
				Subresources: &apiextensionsv1.CustomResourceSubresources{
					Status: &apiextensionsv1.CustomResourceSubresourceStatus{},
					Scale: &apiextensionsv1.CustomResourceSubresourceScale{
						SpecReplicasPath: ".spec.replicas", StatusReplicasPath: ".status.replicas", LabelSelectorPath: new(".status.labelSelector"),
					},
				},
				AdditionalPrinterColumns: []apiextensionsv1.CustomResourceColumnDefinition{{Name: "Spec", Type: "string", JSONPath: ".spec.cronSpec"}},
				SelectableFields:         []apiextensionsv1.SelectableField{{JSONPath: ".spec.image"}},
			}},
		},
	}
}

// tab is a CronTab in a namespace.
func tab(gv schema.GroupVersion, namespace, name string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"cronSpec": "* * * * */5", "image": "my-awesome-cron-image"}}}
	u.SetGroupVersionKind(gv.WithKind("CronTab"))
	u.SetNamespace(namespace)
	u.SetName(name)
	return u
}

// definitions is the administrator's client for CustomResourceDefinitions.
func (r *running) definitions(t testing.TB) apiextensionsclient.CustomResourceDefinitionInterface {
	t.Helper()
	c, err := apiextensionsclient.NewForConfig(r.config)
	must(t, err)
	return c.CustomResourceDefinitions()
}

func (r *running) dynamic(t testing.TB) dynamic.Interface {
	t.Helper()
	c, err := dynamic.NewForConfig(r.config)
	must(t, err)
	return c
}

func isTrue(crd *apiextensionsv1.CustomResourceDefinition, condition apiextensionsv1.CustomResourceDefinitionConditionType) bool {
	return slices.ContainsFunc(crd.Status.Conditions, func(c apiextensionsv1.CustomResourceDefinitionCondition) bool {
		return c.Type == condition && c.Status == apiextensionsv1.ConditionTrue
	})
}

// define makes a definition and waits, as kubectl wait does, until it is established.
func (r *running) define(t testing.TB, crd *apiextensionsv1.CustomResourceDefinition) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	ctx := within(t)
	made, err := r.definitions(t).Create(ctx, crd, metav1.CreateOptions{})
	must(t, err)
	return r.waitFor(t, ctx, made, func(crd *apiextensionsv1.CustomResourceDefinition) bool {
		return isTrue(crd, apiextensionsv1.Established)
	})
}

// waitFor watches a definition from the state that made is until it is as wanted.
func (r *running) waitFor(t testing.TB, ctx context.Context, made *apiextensionsv1.CustomResourceDefinition, is func(*apiextensionsv1.CustomResourceDefinition) bool) *apiextensionsv1.CustomResourceDefinition {
	t.Helper()
	watcher, err := r.definitions(t).Watch(ctx, metav1.ListOptions{FieldSelector: "metadata.name=" + made.Name, ResourceVersion: made.ResourceVersion})
	must(t, err)
	event, err := toolswatch.UntilWithoutRetry(ctx, watcher, func(e watch.Event) (bool, error) {
		crd, ok := e.Object.(*apiextensionsv1.CustomResourceDefinition)
		return ok && is(crd), nil
	})
	must(t, err)
	return event.Object.(*apiextensionsv1.CustomResourceDefinition)
}

// undefine deletes a definition and waits until it is gone.
func (r *running) undefine(t testing.TB, name string) {
	t.Helper()
	err := r.definitions(t).Delete(within(t), name, metav1.DeleteOptions{})
	if apierrors.IsNotFound(err) {
		return
	}
	must(t, err)
	until(t, name+" is gone", func() bool {
		_, err := r.definitions(t).Get(t.Context(), name, metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	})
}

func marshal(t testing.TB, v any) []byte {
	t.Helper()
	data, err := json.Marshal(v)
	must(t, err)
	return data
}

// TestCronTab: a definition is posted, its objects are served a moment later, and kubectl has all that it asks for.
func TestCronTab(t *testing.T) {
	t.Parallel()
	r := start(t)
	const group = "stable.example.com"
	gv := schema.GroupVersion{Group: group, Version: "v1"}
	path := "/apis/stable.example.com/v1/namespaces/default/crontabs"
	client := r.httpClient(t)
	crd := cronTab(group)
	crd.APIVersion, crd.Kind = "apiextensions.k8s.io/v1", "CustomResourceDefinition"
	object := marshal(t, tab(gv, "default", "my-new-cron-object"))

	res, body := ask(t, client, "POST", r.URL+definitionsPath, bytes.NewReader(marshal(t, crd)), "Content-Type: application/json")
	if res.StatusCode != http.StatusCreated {
		t.Fatalf("%d %s", res.StatusCode, body)
	}
	start, tries := time.Now(), 1
	for ; ; tries++ {
		res, body = ask(t, client, "POST", r.URL+path, bytes.NewReader(object), "Content-Type: application/json")
		if res.StatusCode != http.StatusNotFound {
			break
		}
	}
	t.Logf("from the definition's 201 to the first object's answer: %v, %d tries", time.Since(start), tries)
	if res.StatusCode != http.StatusCreated {
		t.Fatalf("%d %s", res.StatusCode, body)
	}
	t.Run("published", func(t *testing.T) { testPublished(t, r, gv) })
	t.Run("table", func(t *testing.T) {
		_, body := ask(t, client, "GET", r.URL+path, nil, "Accept: application/json;as=Table;v=v1;g=meta.k8s.io")
		var table metav1.Table
		must(t, json.Unmarshal(body, &table))
		if len(table.Rows) != 1 || table.ColumnDefinitions[1].Name != "Spec" || table.Rows[0].Cells[0] != "my-new-cron-object" || table.Rows[0].Cells[1] != "* * * * */5" {
			t.Errorf("%s", body)
		}
	})
	t.Run("clients", func(t *testing.T) { testCustomClients(t, r, gv) })
	t.Run("established", func(t *testing.T) {
		made, err := r.definitions(t).Get(within(t), crd.Name, metav1.GetOptions{})
		must(t, err)
		r.waitFor(t, within(t), &apiextensionsv1.CustomResourceDefinition{ObjectMeta: named(made.Name)},
			func(crd *apiextensionsv1.CustomResourceDefinition) bool {
				return isTrue(crd, apiextensionsv1.Established)
			})
	})
	t.Run("gone", func(t *testing.T) {
		r.undefine(t, crd.Name)
		until(t, "its objects are unknown, in upstream's words", func() bool {
			res, body := ask(t, client, "GET", r.URL+path, nil)
			return res.StatusCode == http.StatusNotFound && string(body) == "404 page not found\n"
		})
	})
}

// testPublished: discovery and OpenAPI tell of the resource as soon as it is served.
func testPublished(t *testing.T, r *running, gv schema.GroupVersion) {
	d, err := discovery.NewDiscoveryClientForConfig(r.config)
	must(t, err)
	list, err := d.ServerResourcesForGroupVersion(gv.String())
	must(t, err)
	var names []string
	for _, resource := range list.APIResources {
		names = append(names, resource.Name)
		if resource.Name == "crontabs" && (!slices.Equal(resource.ShortNames, []string{"ct"}) || !slices.Equal(resource.Categories, []string{"all"}) ||
			resource.SingularName != "crontab" || len(resource.Verbs) != 8) {
			t.Errorf("%+v", resource)
		}
	}
	slices.Sort(names)
	if got := strings.Join(names, " "); got != "crontabs crontabs/scale crontabs/status" {
		t.Errorf("resources: %s", got)
	}
	client := r.httpClient(t)
	for path, want := range map[string]string{
		"/openapi/v3/apis/" + gv.String(): "How many of them run.",
		"/openapi/v2":                     "How many of them run.",
	} {
		if res, body := ask(t, client, "GET", r.URL+path, nil, "Accept: application/json"); res.StatusCode != http.StatusOK || !strings.Contains(string(body), want) {
			t.Errorf("%s: %d, without %q", path, res.StatusCode, want)
		}
	}
}

// testCustomClients does what kubectl does with CronTabs.
func testCustomClients(t *testing.T, r *running, gv schema.GroupVersion) {
	ctx := within(t)
	tabs := r.dynamic(t).Resource(gv.WithResource("crontabs")).Namespace("default")
	got, err := tabs.Get(ctx, "my-new-cron-object", metav1.GetOptions{})
	must(t, err)
	replicas := func(u *unstructured.Unstructured) int64 {
		n, _, _ := unstructured.NestedInt64(u.Object, "spec", "replicas")
		return n
	}
	if got.GetGeneration() != 1 || replicas(got) != 1 {
		t.Errorf("created: %v", got)
	}
	// A rule, a field that nobody knows, and the words that people are used to.
	bad := tab(gv, "default", "bad")
	must(t, unstructured.SetNestedField(bad.Object, int64(11), "spec", "replicas"))
	if _, err := tabs.Create(ctx, bad, metav1.CreateOptions{}); !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), "no more than ten") {
		t.Errorf("a rule that is broken: %v", err)
	}
	// Status and spec do not meet.
	must(t, unstructured.SetNestedField(got.Object, int64(3), "status", "replicas"))
	must(t, unstructured.SetNestedField(got.Object, "app=cron", "status", "labelSelector"))
	must(t, unstructured.SetNestedField(got.Object, int64(7), "spec", "replicas"))
	got, err = tabs.UpdateStatus(ctx, got, metav1.UpdateOptions{})
	must(t, err)
	if replicas(got) != 1 || got.GetGeneration() != 1 {
		t.Errorf("after an update of its status: %v", got)
	}
	// kubectl scale
	scaled, err := tabs.Patch(ctx, "my-new-cron-object", types.MergePatchType, []byte(`{"spec":{"replicas":4}}`), metav1.PatchOptions{}, "scale")
	must(t, err)
	if scaled.GetKind() != "Scale" || replicas(scaled) != 4 {
		t.Errorf("scaled: %v", scaled)
	}
	if selector, _, _ := unstructured.NestedString(scaled.Object, "status", "selector"); selector != "app=cron" {
		t.Errorf("scaled: %v", scaled)
	}
	// kubectl get --field-selector
	for selector, want := range map[string]int{"spec.image=my-awesome-cron-image": 1, "spec.image=other": 0, "metadata.name=my-new-cron-object": 1} {
		list, err := tabs.List(ctx, metav1.ListOptions{FieldSelector: selector})
		must(t, err)
		if len(list.Items) != want {
			t.Errorf("%s: %d objects", selector, len(list.Items))
		}
	}
	if _, err := tabs.List(ctx, metav1.ListOptions{FieldSelector: "spec.cronSpec=x"}); !apierrors.IsBadRequest(err) {
		t.Errorf("a field that can't be selected by: %v", err)
	}
	testCustomApply(t, tabs, gv)
	must(t, tabs.Delete(ctx, "my-new-cron-object", metav1.DeleteOptions{}))
}

// testCustomApply: fields have owners, owners conflict, and force makes them others'.
func testCustomApply(t *testing.T, tabs dynamic.ResourceInterface, gv schema.GroupVersion) {
	ctx := within(t)
	applied := func(image string) *unstructured.Unstructured {
		u := tab(gv, "default", "applied")
		u.Object["spec"] = map[string]any{"image": image}
		return u
	}
	if _, err := tabs.Apply(ctx, "applied", applied("one"), metav1.ApplyOptions{FieldManager: "ann"}); err != nil {
		t.Fatal(err)
	}
	if _, err := tabs.Apply(ctx, "applied", applied("two"), metav1.ApplyOptions{FieldManager: "bob"}); !apierrors.IsConflict(err) || !strings.Contains(err.Error(), ".spec.image") {
		t.Fatalf("no conflict: %v", err)
	}
	got, err := tabs.Apply(ctx, "applied", applied("two"), metav1.ApplyOptions{FieldManager: "bob", Force: true})
	must(t, err)
	var owners []string
	for _, entry := range got.GetManagedFields() {
		owners = append(owners, fmt.Sprint(entry.Manager, " ", entry.Operation, " ", entry.FieldsV1))
	}
	if text := strings.Join(owners, "\n"); len(owners) != 1 || !strings.HasPrefix(text, "bob Apply") {
		t.Errorf("owners:\n%s", text)
	}
	if image, _, _ := unstructured.NestedString(got.Object, "spec", "image"); image != "two" {
		t.Errorf("applied: %v", got)
	}
	must(t, tabs.Delete(ctx, "applied", metav1.DeleteOptions{}))
}
