package openapi_test

import (
	"slices"
	"sort"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/kube-openapi/pkg/spec3"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

func v3(t *testing.T, path string) *spec3.OpenAPI {
	t.Helper()
	_, body := get(t, serve(t, service())+"/openapi/v3/"+path)
	return decode[spec3.OpenAPI](t, body)
}

func operationsOf(p *spec3.Path) map[string]*spec3.Operation {
	all := map[string]*spec3.Operation{"get": p.Get, "post": p.Post, "put": p.Put, "patch": p.Patch, "delete": p.Delete}
	for method, op := range all {
		if op == nil {
			delete(all, method)
		}
	}
	return all
}

// The paths, operations and what they are about, as upstream names them.
func TestOperations(t *testing.T) {
	var got []string
	for path, item := range v3(t, "apis/apps/v1").Paths.Paths {
		for method, op := range operationsOf(item) {
			action, _ := op.Extensions.GetString("x-kubernetes-action")
			got = append(got, strings.Join([]string{path, method, action, op.OperationId, kindOf(op.Extensions), strings.Join(op.Tags, ",")}, " "))
		}
	}
	sort.Strings(got)
	got = slices.DeleteFunc(got, func(line string) bool { return strings.Contains(line, "replicasets") })
	deployment, scale := "apps/v1 Deployment apps_v1", "autoscaling/v1 Scale apps_v1"
	item := "/apis/apps/v1/namespaces/{namespace}/deployments/{name}"
	want := []string{
		"/apis/apps/v1/ get  getAppsV1APIResources  apps_v1",
		"/apis/apps/v1/deployments get list listAppsV1DeploymentForAllNamespaces " + deployment,
		"/apis/apps/v1/namespaces/{namespace}/deployments delete deletecollection deleteAppsV1CollectionNamespacedDeployment " + deployment,
		"/apis/apps/v1/namespaces/{namespace}/deployments get list listAppsV1NamespacedDeployment " + deployment,
		"/apis/apps/v1/namespaces/{namespace}/deployments post post createAppsV1NamespacedDeployment " + deployment,
		item + " delete delete deleteAppsV1NamespacedDeployment " + deployment,
		item + " get get readAppsV1NamespacedDeployment " + deployment,
		item + " patch patch patchAppsV1NamespacedDeployment " + deployment,
		item + " put put replaceAppsV1NamespacedDeployment " + deployment,
		item + "/scale get get readAppsV1NamespacedDeploymentScale " + scale,
		item + "/scale patch patch patchAppsV1NamespacedDeploymentScale " + scale,
		item + "/scale put put replaceAppsV1NamespacedDeploymentScale " + scale,
		item + "/status get get readAppsV1NamespacedDeploymentStatus " + deployment,
		item + "/status patch patch patchAppsV1NamespacedDeploymentStatus " + deployment,
		item + "/status put put replaceAppsV1NamespacedDeploymentStatus " + deployment,
		"/apis/apps/v1/watch/deployments get watchlist watchAppsV1DeploymentListForAllNamespaces " + deployment,
		"/apis/apps/v1/watch/namespaces/{namespace}/deployments get watchlist watchAppsV1NamespacedDeploymentList " + deployment,
		"/apis/apps/v1/watch/namespaces/{namespace}/deployments/{name} get watch watchAppsV1NamespacedDeployment " + deployment,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func kindOf(extensions spec.Extensions) string {
	fields, _ := extensions["x-kubernetes-group-version-kind"].(map[string]any)
	if fields == nil {
		return ""
	}
	group, _ := fields["group"].(string)
	version, _ := fields["version"].(string)
	kind, _ := fields["kind"].(string)
	return schema.GroupVersion{Group: group, Version: version}.String() + " " + kind
}

// What each verb takes and gives.
func TestBodiesAndParameters(t *testing.T) {
	const (
		deployment = "io.k8s.api.apps.v1.Deployment"
		meta       = "io.k8s.apimachinery.pkg.apis.meta.v1."
		pod        = "io.k8s.api.core.v1.Pod"
		item       = "/apis/apps/v1/namespaces/{namespace}/deployments/{name}"
		list       = "/apis/apps/v1/namespaces/{namespace}/deployments"
		deleteBy   = "dryRun gracePeriodSeconds ignoreStoreReadErrorWithClusterBreakingPotential orphanDependents propagationPolicy"
		listBy     = "continue fieldSelector labelSelector limit resourceVersion resourceVersionMatch sendInitialEvents shardSelector timeoutSeconds"
	)
	for _, tt := range []struct {
		document, path, method string
		body, response         string
		required               bool
		consumes, query, codes string
		description, shared    string
	}{
		{"apis/apps/v1", list, "post", deployment, deployment, true, "*/*", "dryRun fieldManager fieldValidation", "200 201 202 401", "create a Deployment", "namespace pretty"},
		{"apis/apps/v1", list, "get", "", deployment + "List", false, "", "allowWatchBookmarks " + listBy + " watch", "200 401", "list or watch objects of kind Deployment", "namespace pretty"},
		{"apis/apps/v1", list, "delete", meta + "DeleteOptions", meta + "Status", false, "*/*", listBy + " " + deleteBy, "200 401", "delete collection of Deployment", "namespace pretty"},
		{"apis/apps/v1", item, "get", "", deployment, false, "", "", "200 401", "read the specified Deployment", "name namespace pretty"},
		{"apis/apps/v1", item, "put", deployment, deployment, true, "*/*", "dryRun fieldManager fieldValidation", "200 201 401", "replace the specified Deployment", "name namespace pretty"},
		{"apis/apps/v1", item, "patch", meta + "Patch", deployment, true,
			"application/apply-patch+yaml application/json-patch+json application/merge-patch+json application/strategic-merge-patch+json",
			"dryRun fieldManager fieldValidation force", "200 201 401", "partially update the specified Deployment", "name namespace pretty"},
		{"apis/apps/v1", item, "delete", meta + "DeleteOptions", meta + "Status", false, "*/*", deleteBy, "200 202 401", "delete a Deployment", "name namespace pretty"},
		{"api/v1", "/api/v1/namespaces/{namespace}/pods/{name}", "delete", meta + "DeleteOptions", pod, false, "*/*", deleteBy, "200 202 401", "delete a Pod", "name namespace pretty"},
		{"api/v1", "/api/v1/namespaces/{namespace}/events", "post", "io.k8s.api.core.v1.Event", "io.k8s.api.core.v1.Event", true, "*/*", "dryRun fieldManager fieldValidation", "200 201 202 401", "create an Event", "namespace pretty"},
		{"api/v1", "/api/v1/watch/namespaces/{name}", "get", "", meta + "WatchEvent", false, "", "", "200 401", "watch changes to an object of kind Namespace. deprecated: use the 'watch' parameter with a list operation instead, filtered to a single item with the 'fieldSelector' parameter.", "allowWatchBookmarks " + listBy + " name pretty watch"},
		{"api/v1", "/api/v1/namespaces/{name}/finalize", "put", "io.k8s.api.core.v1.Namespace", "io.k8s.api.core.v1.Namespace", true, "*/*", "", "200 201 401", "replace finalize of the specified Namespace", "dryRun fieldManager fieldValidation name pretty"},
		{"apis/apps/v1", item + "/scale", "put", "io.k8s.api.autoscaling.v1.Scale", "io.k8s.api.autoscaling.v1.Scale", true, "*/*", "dryRun fieldManager fieldValidation", "200 201 401", "replace scale of the specified Deployment", "name namespace pretty"},
		{"apis/apps/v1beta1", "/apis/apps/v1beta1/namespaces/{namespace}/deployments/{name}/rollback", "post", "io.k8s.api.apps.v1beta1.DeploymentRollback", meta + "Status", true, "*/*", "", "200 201 202 401", "create rollback of a Deployment", "dryRun fieldManager fieldValidation name namespace pretty"},
	} {
		path := v3(t, tt.document).Paths.Paths[tt.path]
		if path == nil || operationsOf(path)[tt.method] == nil {
			t.Errorf("%s %s is not there", tt.method, tt.path)
			continue
		}
		op := operationsOf(path)[tt.method]
		got, want := tt, tt
		got.body, got.consumes, got.required = "", "", false
		if op.RequestBody != nil {
			got.body, got.consumes, got.required = contentOf(op.RequestBody.Content), strings.Join(keys(op.RequestBody.Content), " "), op.RequestBody.Required
		}
		var codes []string
		for code, r := range op.Responses.StatusCodeResponses {
			codes = append(codes, strconv.Itoa(code))
			if code == 200 {
				got.response = contentOf(r.Content)
			}
		}
		sort.Strings(codes)
		got.codes, got.description = strings.Join(codes, " "), op.Description
		got.query, got.shared = names(op.Parameters), names(path.Parameters)
		want.query, want.shared = sorted(want.query), sorted(want.shared)
		if got != want {
			t.Errorf("%s %s:\n got %+v\nwant %+v", tt.method, tt.path, got, want)
		}
	}
}

func sorted(words string) string {
	list := strings.Fields(words)
	sort.Strings(list)
	return strings.Join(list, " ")
}

func names(parameters []*spec3.Parameter) string {
	var list []string
	for _, p := range parameters {
		list = append(list, p.Name)
	}
	sort.Strings(list)
	return strings.Join(list, " ")
}

func keys[V any](m map[string]V) []string {
	var list []string
	for k := range m {
		list = append(list, k)
	}
	sort.Strings(list)
	return list
}

func contentOf(content map[string]*spec3.MediaType) string {
	for _, m := range content {
		return strings.TrimPrefix(m.Schema.Ref.String(), "#/components/schemas/")
	}
	return ""
}

// Every reference leads to a definition that is in the same document, and every operation has an ID of its own.
func TestDocumentsAreWhole(t *testing.T) {
	url := serve(t, service())
	_, body := get(t, url+"/openapi/v3")
	for path := range decode[index](t, body).Paths {
		_, body := get(t, url+"/openapi/v3/"+path)
		document := decode[spec3.OpenAPI](t, body)
		if len(document.Paths.Paths) == 0 || len(document.Components.Schemas) == 0 {
			t.Errorf("%s: %d paths, %d schemas", path, len(document.Paths.Paths), len(document.Components.Schemas))
		}
		checkReferences(t, path, string(body), "#/components/schemas/", keys(document.Components.Schemas))
		ids := map[string]string{}
		for p, item := range document.Paths.Paths {
			for method, op := range operationsOf(item) {
				if other, ok := ids[op.OperationId]; ok {
					t.Errorf("%s: %s %s and %s are both %s", path, method, p, other, op.OperationId)
				}
				ids[op.OperationId] = method + " " + p
			}
		}
	}
	_, body = get(t, url+"/openapi/v2")
	document := decode[spec.Swagger](t, body)
	checkReferences(t, "v2", string(body), "#/definitions/", keys(document.Definitions))
	checkReferences(t, "v2", string(body), "#/parameters/", keys(document.Parameters))
	if strings.Contains(string(body), "#/components/") || strings.Contains(string(body), `"oneOf":[`) {
		t.Error("v2 has what only v3 may have")
	}
	if _, ok := document.SecurityDefinitions["BearerToken"]; !ok || len(document.Security) != 1 {
		t.Errorf("v2: security %v %v", document.SecurityDefinitions, document.Security)
	}
	if got := document.Paths.Paths["/apis/apps/v1/namespaces/{namespace}/deployments"].Post; got == nil || got.ID != "createAppsV1NamespacedDeployment" {
		t.Errorf("v2: creating a deployment is %+v", got)
	}
}

func checkReferences(t *testing.T, document, text, prefix string, have []string) {
	t.Helper()
	for _, rest := range strings.Split(text, `"$ref":"`+prefix)[1:] {
		name, _, _ := strings.Cut(rest, `"`)
		if _, ok := slices.BinarySearch(have, name); !ok {
			t.Errorf("%s refers to %s, which it does not have", document, name)
		}
	}
}

// DeleteOptions are sent as a kind of the group that they are sent to.
func TestKindsOfEveryGroup(t *testing.T) {
	const name = "io.k8s.apimachinery.pkg.apis.meta.v1.DeleteOptions"
	in := func(gvs ...schema.GroupVersion) (list []any) {
		for _, gv := range gvs {
			list = append(list, map[string]any{"group": gv.Group, "version": gv.Version, "kind": "DeleteOptions"})
		}
		return list
	}
	for path, want := range map[string][]any{"api/v1": in(coreV1), "apis/apps/v1beta1": in(coreV1, appsV1beta1)} {
		if diff := cmp.Diff(want, v3(t, path).Components.Schemas[name].Extensions["x-kubernetes-group-version-kind"]); diff != "" {
			t.Errorf("%s:\n%s", path, diff)
		}
	}
	_, body := get(t, serve(t, service())+"/openapi/v2")
	got := decode[spec.Swagger](t, body).Definitions[name].Extensions["x-kubernetes-group-version-kind"]
	// v2 has all versions that Kubernetes knows, served or not, and kx's own.
	list, _ := got.([]any)
	for _, want := range in(coreV1, appsV1beta2, schema.GroupVersion{Group: "extensions", Version: "v1beta1"}, schema.GroupVersion{Group: "kx.dev", Version: "v1alpha1"}) {
		if !slices.ContainsFunc(list, func(kind any) bool { return cmp.Equal(kind, want) }) {
			t.Errorf("v2: %v is not among %v", want, list)
		}
	}
}
