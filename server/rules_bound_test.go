package server_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kx-apiserver/kx/core/steps"
)

// TestManyRules has a user who is no administrator create roles whose small bodies have many combinations to compare with what the user
// holds.
func TestManyRules(t *testing.T) {
	t.Parallel()
	r := start(t, tokens(t, "giver,giver,1\n"))
	_, err := r.admin(t).RbacV1().ClusterRoles().Create(within(t), &rbacv1.ClusterRole{ObjectMeta: named("giver"), Rules: []rbacv1.PolicyRule{
		{Verbs: []string{"create"}, APIGroups: []string{rbacv1.GroupName}, Resources: []string{"roles"}},
	}}, metav1.CreateOptions{})
	must(t, err)
	r.bind(t, "giver", "giver", "create", rbacv1.GroupName, "roles")
	quoted := func(n int, form string) string {
		return "[" + each(n, func(i int) string { return fmt.Sprintf("%q", fmt.Sprintf(form, i)) }) + "]"
	}
	for _, tt := range []struct {
		n    int
		says string
	}{
		{1000, "the rules have 1000000000 combinations of group, resource, name and verb to compare with what the user holds, the limit is 100000"},
		{40, "is attempting to grant RBAC permissions not currently held"},
	} {
		body := fmt.Sprintf(`{"metadata":{"name":"a"},"rules":[{"apiGroups":%s,"resources":%s,"verbs":%s}]}`,
			quoted(tt.n, "g%d"), quoted(tt.n, "r%d"), quoted(tt.n, "v%d"))
		res, data := ask(t, r.tokenClient(t, "giver"), "POST", r.URL+"/apis/rbac.authorization.k8s.io/v1/namespaces/default/roles",
			strings.NewReader(body), "Content-Type: application/json")
		var status metav1.Status
		must(t, json.Unmarshal(data, &status))
		if status.Code != http.StatusForbidden || !strings.Contains(status.Message, tt.says) {
			t.Errorf("%d: %d %.300s", tt.n, status.Code, status.Message)
		}
		for _, s := range stepsOf(r.journeyOf(t, res.Header.Get("Kx-Journey")), steps.StoreGrant.String()) {
			if len(s.Why) > 4<<10 {
				t.Errorf("%d: the step says %d bytes", tt.n, len(s.Why))
			}
		}
	}
}
