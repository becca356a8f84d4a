package filter

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/kx-apiserver/kx/server/authz"
	"github.com/kx-apiserver/kx/server/authz/rbac"
)

// aliceReads lets alice get one pod, and list and watch it by its name.
var aliceReads = []rbac.Change{
	{Kind: rbac.ClusterRole, Name: "one", Rules: []rbacv1.PolicyRule{
		{Verbs: []string{"get", "list", "watch"}, APIGroups: []string{""}, Resources: []string{"pods"}, ResourceNames: []string{"a"}},
	}},
	{Kind: rbac.ClusterRoleBinding, Name: "one", To: rbacv1.RoleRef{Kind: "ClusterRole", Name: "one"}, Subjects: []rbacv1.Subject{{Kind: "User", Name: "alice"}}},
}

func decidedBy(t *testing.T, roles *rbac.Authorizer) *door {
	return newDoor(t, func(http.ResponseWriter, *http.Request) {}, func(c *Config) {
		var err error
		c.Authorizer, err = authz.New(authz.Config{Modes: []string{authz.RBAC}, RBAC: roles, Registry: prometheus.NewRegistry(), Log: c.Logger})
		if err != nil {
			t.Fatal(err)
		}
	})
}

// TestBeforeRoles asks before the roles are known. Administrators and probes don't need them; others wait, as long as they may.
func TestBeforeRoles(t *testing.T) {
	roles := rbac.New()
	d := decidedBy(t, roles)
	alice := []string{"Authorization", "Bearer " + userToken}
	for path, want := range map[string]int{"/readyz": http.StatusOK, "/api/v1/pods/a?timeout=20ms": http.StatusGatewayTimeout} {
		if got, body := d.ask(t, d.stranger, http.MethodGet, path, alice...); got.StatusCode != want {
			t.Errorf("%s: %d %s, want %d", path, got.StatusCode, body, want)
		}
	}
	// A request whose time was up takes nothing from those that follow it.
	for range 20 {
		if got, body := d.ask(t, d.stranger, http.MethodGet, "/api/v1/pods/a?timeout=1ms", alice...); got.StatusCode != http.StatusGatewayTimeout || !got.Close {
			t.Errorf("%d %s, closes: %v", got.StatusCode, body, got.Close)
		}
		if got, body := d.ask(t, d.stranger, http.MethodGet, "/readyz", alice...); got.StatusCode != http.StatusOK {
			t.Errorf("/readyz after it: %d %s", got.StatusCode, body)
		}
	}
	if got, body := d.ask(t, d.admin, http.MethodGet, "/api/v1/pods/a"); got.StatusCode != http.StatusOK {
		t.Errorf("an administrator: %d %s", got.StatusCode, body)
	}
	other := decidedBy(t, roles)
	answered := make(chan int)
	go func() {
		got, _ := other.ask(t, other.stranger, http.MethodGet, "/api/v1/pods/a", alice...)
		answered <- got.StatusCode
	}()
	roles.Replace(aliceReads)
	if got := <-answered; got != http.StatusOK {
		t.Errorf("when the roles are known: %d", got)
	}
}

// TestNamesInSelectors lists by the name that a rule has, which is as good as asking for it.
func TestNamesInSelectors(t *testing.T) {
	roles := rbac.New()
	roles.Replace(aliceReads)
	d := decidedBy(t, roles)
	for path, want := range map[string]int{
		"/api/v1/pods/a": http.StatusOK,
		"/api/v1/pods/b": http.StatusForbidden,
		"/api/v1/pods":   http.StatusForbidden,
		"/api/v1/pods?fieldSelector=metadata.name%3Da":              http.StatusOK,
		"/api/v1/pods?watch=1&fieldSelector=metadata.name%3Da":      http.StatusOK,
		"/api/v1/pods?fieldSelector=metadata.name%3Db":              http.StatusForbidden,
		"/api/v1/namespaces/x/pods?fieldSelector=metadata.name%3Da": http.StatusOK,
	} {
		got, body := d.ask(t, d.stranger, http.MethodGet, path, "Authorization", "Bearer "+userToken)
		if got.StatusCode != want {
			t.Errorf("%s: %d %s, want %d", path, got.StatusCode, body, want)
		}
		if want == http.StatusForbidden && !strings.Contains(body, `User \"alice\" cannot`) {
			t.Errorf("%s: %s", path, body)
		}
	}
}

// TestSelectorAttributes has the selectors of a request in what authorizers are asked.
func TestSelectorAttributes(t *testing.T) {
	for query, want := range map[string]struct {
		fields, labels       string
		badFields, badLabels bool
	}{
		"":                            {},
		"?fieldSelector=a%3Db":        {fields: "a=b"},
		"?labelSelector=a%20in%20(b)": {labels: "a in (b)"},
		"?fieldSelector=a&labelSelector=a%20b%20c": {badFields: true, badLabels: true},
	} {
		attributes := attributesOf(t, "/api/v1/pods"+query)
		f, badFields := attributes.GetFieldSelector()
		l, badLabels := attributes.GetLabelSelector()
		if got := f; len(got) > 0 && got[0].Field+string(got[0].Operator)+got[0].Value != want.fields || len(got) == 0 && want.fields != "" {
			t.Errorf("%q: fields %v", query, got)
		}
		if got := labels.NewSelector().Add(l...).String(); got != want.labels {
			t.Errorf("%q: labels %q", query, got)
		}
		if (badFields != nil) != want.badFields || (badLabels != nil) != want.badLabels {
			t.Errorf("%q: %v %v", query, badFields, badLabels)
		}
	}
}

func attributesOf(t *testing.T, target string) authorizer.Attributes {
	t.Helper()
	r := httptest.NewRequest(http.MethodGet, target, nil)
	info, err := (&request.RequestInfoFactory{APIPrefixes: sets.NewString("api"), GrouplessAPIPrefixes: sets.NewString("api")}).NewRequestInfo(r)
	if err != nil {
		t.Fatal(err)
	}
	attributes, err := authorizerAttributes(request.WithRequestInfo(r.Context(), info))
	if err != nil {
		t.Fatal(err)
	}
	return attributes
}
