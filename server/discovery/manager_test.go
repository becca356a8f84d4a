package discovery_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	apidiscoveryv2 "k8s.io/api/apidiscovery/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	clientdiscovery "k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"github.com/kx-apiserver/kx/server/discovery"
)

const aggregatedJSON = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"

var (
	coreV1 = schema.GroupVersion{Version: "v1"}
	appsV1 = schema.GroupVersion{Group: "apps", Version: "v1"}

	all = metav1.Verbs{"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"}

	namespaces = metav1.APIResource{Name: "namespaces", SingularName: "namespace", Kind: "Namespace", Verbs: all, ShortNames: []string{"ns"}}
	pods       = metav1.APIResource{Name: "pods", SingularName: "pod", Namespaced: true, Kind: "Pod", Verbs: all, Categories: []string{"all"},
		StorageVersionHash: discovery.StorageVersionHash("", "v1", "Pod")}
	podsStatus  = metav1.APIResource{Name: "pods/status", Namespaced: true, Kind: "Pod", Verbs: metav1.Verbs{"get", "patch", "update"}}
	deployments = metav1.APIResource{Name: "deployments", SingularName: "deployment", Namespaced: true, Kind: "Deployment", Verbs: all}
	scale       = metav1.APIResource{Name: "deployments/scale", Namespaced: true, Group: "autoscaling", Version: "v1", Kind: "Scale",
		Verbs: metav1.Verbs{"get", "patch", "update"}}
	journeys = metav1.APIResource{Name: "journeys", SingularName: "journey", Kind: "Journey", Verbs: metav1.Verbs{"get", "list", "watch"}}
)

func newManager() *discovery.Manager {
	m := discovery.NewManager("127.0.0.1:7443")
	m.SetGroupVersion(schema.GroupVersion{Group: "kx.dev", Version: "v1alpha1"}, []metav1.APIResource{journeys})
	m.SetGroupVersion(schema.GroupVersion{Group: "apps", Version: "v1beta2"}, []metav1.APIResource{deployments, scale})
	m.SetGroupVersion(appsV1, []metav1.APIResource{deployments, scale})
	m.SetGroupVersion(schema.GroupVersion{Group: "apps", Version: "v1beta1"}, nil)
	m.SetGroupVersion(coreV1, []metav1.APIResource{namespaces, pods, podsStatus})
	return m
}

func serve(t *testing.T, m *discovery.Manager) string {
	t.Helper()
	s := httptest.NewServer(m.WithDelegate(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Error(w, "delegate: "+r.URL.Path, http.StatusTeapot)
	})))
	t.Cleanup(s.Close)
	return s.URL
}

func get(t *testing.T, url string, header ...string) (*http.Response, string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(header); i += 2 {
		req.Header.Set(header[i], header[i+1])
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, string(body)
}

// The answers of a cluster's API server, in every character.
func TestJSON(t *testing.T) {
	url := serve(t, newManager())
	for path, want := range map[string]string{
		"/api": `{"kind":"APIVersions","versions":["v1"],"serverAddressByClientCIDRs":[{"clientCIDR":"0.0.0.0/0","serverAddress":"127.0.0.1:7443"}]}`,
		"/apis": `{"kind":"APIGroupList","apiVersion":"v1","groups":[` +
			`{"name":"apps","versions":[{"groupVersion":"apps/v1","version":"v1"},{"groupVersion":"apps/v1beta2","version":"v1beta2"},{"groupVersion":"apps/v1beta1","version":"v1beta1"}],"preferredVersion":{"groupVersion":"apps/v1","version":"v1"}},` +
			`{"name":"kx.dev","versions":[{"groupVersion":"kx.dev/v1alpha1","version":"v1alpha1"}],"preferredVersion":{"groupVersion":"kx.dev/v1alpha1","version":"v1alpha1"}}]}`,
		"/apis/kx.dev":       `{"kind":"APIGroup","apiVersion":"v1","name":"kx.dev","versions":[{"groupVersion":"kx.dev/v1alpha1","version":"v1alpha1"}],"preferredVersion":{"groupVersion":"kx.dev/v1alpha1","version":"v1alpha1"}}`,
		"/apis/apps/v1beta1": `{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"apps/v1beta1","resources":[]}`,
		"/apis/apps/v1/": `{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"apps/v1","resources":[` +
			`{"name":"deployments","singularName":"deployment","namespaced":true,"kind":"Deployment","verbs":["create","delete","deletecollection","get","list","patch","update","watch"]},` +
			`{"name":"deployments/scale","singularName":"","namespaced":true,"group":"autoscaling","version":"v1","kind":"Scale","verbs":["get","patch","update"]}]}`,
		"/api/v1": `{"kind":"APIResourceList","groupVersion":"v1","resources":[` +
			`{"name":"namespaces","singularName":"namespace","namespaced":false,"kind":"Namespace","verbs":["create","delete","deletecollection","get","list","patch","update","watch"],"shortNames":["ns"]},` +
			`{"name":"pods","singularName":"pod","namespaced":true,"kind":"Pod","verbs":["create","delete","deletecollection","get","list","patch","update","watch"],"categories":["all"],"storageVersionHash":"xPOwRZ+Yhw8="},` +
			`{"name":"pods/status","singularName":"","namespaced":true,"kind":"Pod","verbs":["get","patch","update"]}]}`,
	} {
		resp, body := get(t, url+path)
		if resp.StatusCode != http.StatusOK || resp.Header.Get("Content-Type") != "application/json" {
			t.Errorf("GET %s: %s, %q", path, resp.Status, resp.Header.Get("Content-Type"))
		}
		if diff := cmp.Diff(want, strings.TrimSpace(body)); diff != "" {
			t.Errorf("GET %s:\n%s", path, diff)
		}
	}
}

func TestNegotiation(t *testing.T) {
	url := serve(t, newManager())
	for _, tt := range []struct {
		path, accept, agent string
		wantCode            int
		wantType, wantStart string
	}{
		{"/api", "application/yaml", "", 200, "application/yaml", "kind: APIVersions\n"},
		{"/api", "application/json", "curl/8", 200, "application/json", "{\n  \"kind\""},
		{"/api?pretty=false", "application/json", "curl/8", 200, "application/json", "{\"kind\""},
		{"/api?pretty=1", "", "", 200, "application/json", "{\n  \"kind\""},
		{"/api", "application/json;pretty=1", "", 200, "application/json", "{\n  \"kind\""},
		{"/apis/apps", "application/vnd.kubernetes.protobuf", "", 200, "application/vnd.kubernetes.protobuf", "k8s\x00"},
		{"/apis/apps", "application/vnd.kubernetes.protobuf,application/json", "", 200, "application/vnd.kubernetes.protobuf", "k8s\x00"},
		{"/apis/apps", "text/html,*/*;q=0.1", "", 200, "application/json", "{\"kind\""},
		{"/apis/apps", "application/*", "", 200, "application/json", "{\"kind\""},
		{"/apis", aggregatedJSON, "", 200, aggregatedJSON, `{"kind":"APIGroupDiscoveryList","apiVersion":"apidiscovery.k8s.io/v2","metadata":{},"items":[{"metadata":{"name":"apps"`},
		{"/api", aggregatedJSON + ",application/json", "", 200, aggregatedJSON, `{"kind":"APIGroupDiscoveryList"`},
		{"/api", strings.Replace(aggregatedJSON, "v2", "v2beta1", 1) + ",application/json", "", 200, "application/json", `{"kind":"APIVersions"`},
		{"/apis/apps", aggregatedJSON + ",application/json", "", 200, "application/json", `{"kind":"APIGroup"`},
		{"/apis/apps", aggregatedJSON, "", 406, "application/json", "{"},
		{"/api", "text/html", "", 406, "application/json", "{"},
		{"/api", "application/json;stream=other", "", 406, "application/json", "{"},
	} {
		resp, body := get(t, url+tt.path, "Accept", tt.accept, "User-Agent", tt.agent)
		if resp.StatusCode != tt.wantCode || resp.Header.Get("Content-Type") != tt.wantType || !strings.HasPrefix(body, tt.wantStart) {
			t.Errorf("GET %s, Accept %q, User-Agent %q: %s, %q, %.200q", tt.path, tt.accept, tt.agent, resp.Status, resp.Header.Get("Content-Type"), body)
		}
		if tt.wantCode != http.StatusNotAcceptable {
			continue
		}
		want := metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: "Failure", Reason: "NotAcceptable", Code: 406,
			Message: "only the following media types are accepted: application/json, application/yaml, application/vnd.kubernetes.protobuf"}
		if tt.accept == "text/html" {
			want.Message = "406: Not Acceptable\n\nAvailable representations: application/json, application/yaml, application/vnd.kubernetes.protobuf"
			want.Details = &metav1.StatusDetails{}
		}
		var status metav1.Status
		if err := json.Unmarshal([]byte(body), &status); err != nil || !cmp.Equal(want, status) {
			t.Errorf("GET %s, Accept %q: %v\n%s", tt.path, tt.accept, err, cmp.Diff(want, status))
		}
	}
}

// All encodings say the same.
func TestEncodings(t *testing.T) {
	url := serve(t, newManager())
	scheme := runtime.NewScheme()
	metav1.AddToGroupVersion(scheme, coreV1)
	if err := apidiscoveryv2.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	proto := protobuf.NewSerializer(scheme, scheme)
	for _, tt := range []struct {
		path, params string
		into         func() runtime.Object
	}{
		{"/apis", "", func() runtime.Object { return &metav1.APIGroupList{} }},
		{"/apis/apps/v1", "", func() runtime.Object { return &metav1.APIResourceList{} }},
		{"/apis", strings.TrimPrefix(aggregatedJSON, "application/json"), func() runtime.Object { return &apidiscoveryv2.APIGroupDiscoveryList{} }},
	} {
		_, asJSON := get(t, url+tt.path, "Accept", "application/json"+tt.params)
		_, asYAML := get(t, url+tt.path, "Accept", "application/yaml"+tt.params)
		_, asProto := get(t, url+tt.path, "Accept", "application/vnd.kubernetes.protobuf"+tt.params)
		want, fromYAML, fromProto := tt.into(), tt.into(), tt.into()
		if err := json.Unmarshal([]byte(asJSON), want); err != nil {
			t.Fatal(err)
		}
		if err := yaml.UnmarshalStrict([]byte(asYAML), fromYAML); err != nil {
			t.Errorf("%s: YAML: %v", tt.path, err)
		}
		if _, _, err := proto.Decode([]byte(asProto), nil, fromProto); err != nil {
			t.Errorf("%s: protobuf: %v", tt.path, err)
		}
		// The envelope has the kind, and a decoder leaves it there.
		fromProto.GetObjectKind().SetGroupVersionKind(want.GetObjectKind().GroupVersionKind())
		if diff := cmp.Diff(want, fromYAML); diff != "" {
			t.Errorf("%s: YAML:\n%s", tt.path, diff)
		}
		if diff := cmp.Diff(want, fromProto); diff != "" {
			t.Errorf("%s: protobuf:\n%s", tt.path, diff)
		}
	}
}

func TestETag(t *testing.T) {
	m := newManager()
	url := serve(t, m)
	resp, _ := get(t, url+"/apis", "Accept", aggregatedJSON)
	tag := resp.Header.Get("ETag")
	if len(tag) != 130 || resp.Header.Get("Vary") != "Accept" || resp.Header.Get("Cache-Control") != "public" {
		t.Errorf("headers %v", resp.Header)
	}
	if resp, body := get(t, url+"/apis", "Accept", aggregatedJSON, "If-None-Match", tag); resp.StatusCode != http.StatusNotModified || body != "" ||
		resp.Header.Get("ETag") != tag {
		t.Errorf("the same tag: %s, %v, %q", resp.Status, resp.Header, body)
	}
	m.SetGroupVersion(appsV1, []metav1.APIResource{deployments, scale})
	if resp, _ := get(t, url+"/apis", "Accept", aggregatedJSON, "If-None-Match", tag); resp.StatusCode != http.StatusNotModified {
		t.Errorf("set to what it was: %s", resp.Status)
	}
	m.SetGroupVersion(appsV1, []metav1.APIResource{deployments})
	if resp, _ := get(t, url+"/apis", "Accept", aggregatedJSON, "If-None-Match", tag); resp.StatusCode != http.StatusOK || resp.Header.Get("ETag") == tag {
		t.Errorf("changed: %s, tag %s", resp.Status, resp.Header.Get("ETag"))
	}
	if resp, body := get(t, url+"/apis", "If-None-Match", tag); resp.StatusCode != http.StatusOK || body == "" || resp.Header.Get("ETag") != "" {
		t.Errorf("the plain form: %s, %v", resp.Status, resp.Header)
	}
}

func TestWhatIsNotDiscoverysIsTheDelegates(t *testing.T) {
	m := newManager()
	url := serve(t, m)
	for _, path := range []string{"/", "/apis/", "/version", "/apis/none", "/apis/apps/v2", "/api/v1/pods", "/apis/apps/v1/deployments", "/apisx", "/api/v2", "/apis//v1"} {
		resp, body := get(t, url+path)
		want := "delegate: " + path
		if path == "/apis/" {
			if resp.StatusCode != http.StatusOK {
				t.Errorf("GET %s: %s", path, resp.Status)
			}
			continue
		}
		if resp.StatusCode != http.StatusTeapot || strings.TrimSpace(body) != want {
			t.Errorf("GET %s: %s, %.100q", path, resp.Status, body)
		}
	}
	for _, version := range []string{"v1", "v1beta1", "v1beta2"} {
		m.RemoveGroupVersion(schema.GroupVersion{Group: "apps", Version: version})
	}
	for _, path := range []string{"/apis/apps", "/apis/apps/v1"} {
		if resp, _ := get(t, url+path); resp.StatusCode != http.StatusTeapot {
			t.Errorf("GET %s after its removal: %s", path, resp.Status)
		}
	}
	// A kube-apiserver refuses other methods only where its aggregator has no hand in the answer.
	for path, code := range map[string]int{"/apis": http.StatusOK, "/api": http.StatusMethodNotAllowed} {
		resp, err := http.Post(url+path, "application/json", strings.NewReader("{}"))
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != code {
			t.Errorf("POST %s: %s", path, resp.Status)
		}
	}
}

// A client that knows the aggregated form and one that does not come to the same.
func TestClients(t *testing.T) {
	url := serve(t, newManager())
	client, err := clientdiscovery.NewDiscoveryClientForConfig(&rest.Config{Host: url})
	if err != nil {
		t.Fatal(err)
	}
	legacy := *client
	legacy.UseLegacyDiscovery = true
	groups, lists, err := client.ServerGroupsAndResources()
	if err != nil {
		t.Fatal(err)
	}
	legacyGroups, legacyLists, err := legacy.ServerGroupsAndResources()
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(versionsOf(legacyGroups), versionsOf(groups)); diff != "" {
		t.Errorf("groups:\n%s", diff)
	}
	if diff := cmp.Diff(resourcesOf(legacyLists), resourcesOf(lists)); diff != "" {
		t.Errorf("resources:\n%s", diff)
	}
	preferred, err := client.ServerPreferredResources()
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"apps/v1 deployments Deployment", "kx.dev/v1alpha1 journeys Journey", "v1 namespaces Namespace", "v1 pods Pod"}
	if diff := cmp.Diff(want, resourcesOf(preferred)); diff != "" {
		t.Errorf("preferred resources:\n%s", diff)
	}
}

func versionsOf(groups []*metav1.APIGroup) (versions []string) {
	for _, g := range groups {
		for _, v := range g.Versions {
			versions = append(versions, fmt.Sprintf("%q %s of %s", g.Name, v.GroupVersion, g.PreferredVersion.GroupVersion))
		}
	}
	return versions
}

func resourcesOf(lists []*metav1.APIResourceList) (resources []string) {
	for _, list := range lists {
		for _, r := range list.APIResources {
			resources = append(resources, list.GroupVersion+" "+r.Name+" "+r.Kind)
		}
	}
	// The client keeps its group versions in a map.
	slices.Sort(resources)
	return resources
}

// A subresource without its resource still has a place, and clients do not stumble over it.
func TestOrphanSubresource(t *testing.T) {
	m := discovery.NewManager("")
	m.SetGroupVersion(appsV1, []metav1.APIResource{scale})
	_, body := get(t, serve(t, m)+"/apis", "Accept", aggregatedJSON)
	var list apidiscoveryv2.APIGroupDiscoveryList
	if err := json.Unmarshal([]byte(body), &list); err != nil {
		t.Fatal(err)
	}
	want := []apidiscoveryv2.APIResourceDiscovery{{Resource: "deployments", Scope: apidiscoveryv2.ScopeNamespace, ResponseKind: &metav1.GroupVersionKind{},
		Subresources: []apidiscoveryv2.APISubresourceDiscovery{{Subresource: "scale", Verbs: metav1.Verbs{"get", "patch", "update"},
			ResponseKind: &metav1.GroupVersionKind{Group: "autoscaling", Version: "v1", Kind: "Scale"}}}}}
	if diff := cmp.Diff(want, list.Items[0].Versions[0].Resources); diff != "" {
		t.Error(diff)
	}
}

// Readers see every group version whole while others come and go.
func TestConcurrentChanges(t *testing.T) {
	m := newManager()
	url := serve(t, m)
	ctx, cancel := context.WithCancel(t.Context())
	var changes sync.WaitGroup
	for i := range 4 {
		changes.Go(func() {
			gv := schema.GroupVersion{Group: fmt.Sprintf("g%d.example.com", i), Version: "v1"}
			for ctx.Err() == nil {
				m.SetGroupVersion(gv, []metav1.APIResource{deployments})
				m.RemoveGroupVersion(gv)
			}
		})
	}
	for range 50 {
		var list apidiscoveryv2.APIGroupDiscoveryList
		_, body := get(t, url+"/apis", "Accept", aggregatedJSON)
		if err := json.Unmarshal([]byte(body), &list); err != nil {
			t.Fatal(err)
		}
		if list.Items[0].Name != "apps" || len(list.Items[0].Versions) != 3 {
			t.Fatalf("first group %+v", list.Items[0])
		}
		for _, g := range list.Items[1:] {
			if g.Name != "kx.dev" && (len(g.Versions) != 1 || len(g.Versions[0].Resources) != 1) {
				t.Fatalf("group in part: %+v", g)
			}
		}
	}
	cancel()
	changes.Wait()
}

// Whatever a client sends, it gets an answer or a refusal.
func FuzzAccept(f *testing.F) {
	for _, accept := range []string{"", "*/*", "application/*;q=0.5", aggregatedJSON, "application/json;as=;g=;v=", "a/b;c", ";;,,=", "application/yaml;q=x"} {
		f.Add("/apis", accept, "pretty=1")
	}
	handler := newManager().WithDelegate(http.NotFoundHandler())
	f.Fuzz(func(t *testing.T, path, accept, query string) {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		r.URL.Path, r.URL.RawQuery = path, query
		r.Header.Set("Accept", accept)
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, r)
		if !slices.Contains([]int{http.StatusOK, http.StatusNotFound, http.StatusNotAcceptable}, w.Code) || w.Body.Len() == 0 {
			t.Errorf("GET %q?%q as %q: %d, %d bytes", path, query, accept, w.Code, w.Body.Len())
		}
	})
}
