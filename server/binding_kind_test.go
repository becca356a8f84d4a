package server_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestRoleKind creates and updates bindings to what is no role, as a user who may write bindings but is no administrator. The answer says
// what is wrong with roleRef, as it does to administrators.
func TestRoleKind(t *testing.T) {
	t.Parallel()
	r := start(t, tokens(t, "binder,binder,1\n"))
	c := r.admin(t).RbacV1()
	_, err := c.ClusterRoles().Create(within(t), &rbacv1.ClusterRole{ObjectMeta: named("binder"), Rules: []rbacv1.PolicyRule{
		{Verbs: []string{"create", "update", "get"}, APIGroups: []string{rbacv1.GroupName}, Resources: []string{"rolebindings", "clusterrolebindings"}},
	}}, metav1.CreateOptions{})
	must(t, err)
	r.bind(t, "binder", "binder", "create", rbacv1.GroupName, "clusterrolebindings")
	const roles, clusterRoles = `"Role", "ClusterRole"`, `"ClusterRole"`
	tests := []struct{ resource, group, kind, want string }{
		{"namespaces/default/rolebindings", rbacv1.GroupName, "Foo", `roleRef.kind: Unsupported value: "Foo": supported values: ` + roles},
		{"namespaces/default/rolebindings", rbacv1.GroupName, "", `roleRef.kind: Unsupported value: "": supported values: ` + roles},
		{"namespaces/default/rolebindings", "foo", "Role", `roleRef.apiGroup: Unsupported value: "foo": supported values: "rbac.authorization.k8s.io"`},
		{"clusterrolebindings", rbacv1.GroupName, "Foo", `roleRef.kind: Unsupported value: "Foo": supported values: ` + clusterRoles},
		{"clusterrolebindings", rbacv1.GroupName, "Role", `roleRef.kind: Unsupported value: "Role": supported values: ` + clusterRoles},
		{"clusterrolebindings", "foo", "ClusterRole", `roleRef.apiGroup: Unsupported value: "foo": supported values: "rbac.authorization.k8s.io"`},
	}
	for _, tt := range tests {
		for who, client := range map[string]*http.Client{"a user": r.tokenClient(t, "binder"), "an administrator": r.httpClient(t)} {
			for _, way := range []string{"POST", "PUT"} { // a PUT creates bindings too
				path := r.URL + "/apis/rbac.authorization.k8s.io/v1/" + tt.resource
				if way == "PUT" {
					path += "/a"
				}
				body := fmt.Sprintf(`{"metadata":{"name":"a"},"roleRef":{"apiGroup":%q,"kind":%q,"name":"b"}}`, tt.group, tt.kind)
				_, data := ask(t, client, way, path, strings.NewReader(body), "Content-Type: application/json")
				var status metav1.Status
				must(t, json.Unmarshal(data, &status))
				if status.Code != http.StatusUnprocessableEntity || !strings.Contains(status.Message, tt.want) {
					t.Errorf("%s %s %s to %s/%s: %d %s, want a 422 with %s", who, way, tt.resource, tt.group, tt.kind, status.Code, status.Message, tt.want)
				}
			}
		}
	}
}
