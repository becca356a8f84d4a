package kubectl

import (
	"strings"
	"testing"
	"unicode/utf8"

	rbacv1 "k8s.io/api/rbac/v1"
)

// TestRoleName names roles for users whose names are long or hard. Each name is valid, bounded, and that of no other question.
func TestRoleName(t *testing.T) {
	long := strings.Repeat("ü", nameMost)
	get := rbacv1.PolicyRule{Verbs: []string{"get"}, APIGroups: []string{""}, Resources: []string{"pods"}}
	ofGroup := get
	ofGroup.APIGroups = []string{"metrics.k8s.io"}
	byName := get
	byName.ResourceNames = []string{"web"}
	logs := rbacv1.PolicyRule{Verbs: []string{"get"}, NonResourceURLs: []string{"/logs/*"}}
	owner := map[string]string{}
	for i, rule := range []*rbacv1.PolicyRule{&get, &ofGroup, &byName, &logs} {
		for _, who := range []string{"ann", "Ann", "it/ann", "it-ann", "it%ann", "*", "all", "system:serviceaccount:a:robot", "system:serviceaccount:b:robot", long + "a", long + "b"} {
			name := roleName(rule, who)
			if strings.ContainsAny(name, "/%") || !utf8.ValidString(name) || len(name) > nameMost+1+2*hashBytes {
				t.Errorf("%q, %d bytes, is no name of a role", name, len(name))
			}
			question := string(rune('0'+i)) + who
			if other, taken := owner[name]; taken {
				t.Errorf("%q is the name for %q and %q", name, question, other)
			}
			owner[name] = question
		}
	}
}
