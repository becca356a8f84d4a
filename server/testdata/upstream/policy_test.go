package upstream

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	restclient "k8s.io/client-go/rest"
)

// TestPolicy records the roles and bindings that a kube-apiserver, whose binary the environment names, makes when it starts:
//
//	KUBE_APISERVER=/tmp/kube-apiserver go test -run TestPolicy -rewrite
//
// server/authz/policy compares its own with them. One line has one object, without what the server fills in.
func TestPolicy(t *testing.T) {
	binary := os.Getenv("KUBE_APISERVER")
	if binary == "" || flag.Lookup("rewrite").Value.String() != "true" {
		t.Skip("the policy is recorded with -rewrite, from a kube-apiserver whose binary KUBE_APISERVER names")
	}
	url, client := startKube(t, binary)
	all, err := dynamic.NewForConfigAndClient(&restclient.Config{Host: url, QPS: -1}, client)
	must(t, err)
	var recorded bytes.Buffer
	for _, resource := range []string{"clusterroles", "clusterrolebindings", "roles", "rolebindings"} {
		list, err := all.Resource(schema.GroupVersionResource{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: resource}).List(t.Context(), metav1.ListOptions{})
		must(t, err)
		slices.SortFunc(list.Items, func(a, b unstructured.Unstructured) int {
			return strings.Compare(a.GetNamespace()+"/"+a.GetName(), b.GetNamespace()+"/"+b.GetName())
		})
		for i := range list.Items {
			for _, field := range []string{"uid", "resourceVersion", "creationTimestamp", "managedFields"} {
				unstructured.RemoveNestedField(list.Items[i].Object, "metadata", field)
			}
			line, err := json.Marshal(list.Items[i].Object)
			must(t, err)
			recorded.Write(append(line, '\n'))
		}
		t.Logf("%d %s", len(list.Items), resource)
	}
	must(t, os.WriteFile(filepath.Join("..", "..", "authz", "policy", "testdata", "upstream.jsonl"), recorded.Bytes(), 0o600))
}
