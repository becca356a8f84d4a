package server_test

import (
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cockroachdb/datadriven"
	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/transport"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/server/internal/wiretest"
	"github.com/kx-apiserver/kx/server/options"
)

// bind gives a user a cluster role, and waits until that counts: until the user may do verb to resource.
func (r *running) bind(t testing.TB, user, role, verb, group, resource string) {
	t.Helper()
	c := r.admin(t)
	_, err := c.RbacV1().ClusterRoleBindings().Create(within(t), &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: strings.ReplaceAll(user+"-"+role, ":", "-")},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
	}, metav1.CreateOptions{})
	must(t, err)
	until(t, user+" may "+verb+" "+resource, func() bool {
		review, err := c.AuthorizationV1().SubjectAccessReviews().Create(within(t), &authorizationv1.SubjectAccessReview{
			Spec: authorizationv1.SubjectAccessReviewSpec{User: user, ResourceAttributes: &authorizationv1.ResourceAttributes{
				Verb: verb, Group: group, Resource: resource,
			}},
		}, metav1.CreateOptions{})
		must(t, err)
		return review.Status.Allowed
	})
}

// TestOwnGroup asks for all of kx.dev as users with its roles, as one who may see all of the default group, and as nobody known. The
// roles give what they say: kx:viewer does not reach the keys of etcd, and commands nothing.
func TestOwnGroup(t *testing.T) {
	t.Parallel()
	r := start(t, allow, tokens(t, "boss,boss,1\neye,eye,2\nbob,bob,3\n"), withObjects("192.0.2.1"))
	r.ready(t)
	r.bind(t, "boss", "kx:admin", "delete", v1alpha1.GroupName, "faults")
	r.bind(t, "eye", "kx:viewer", "get", v1alpha1.GroupName, "journeys")
	r.bind(t, "bob", "view", "get", "", "configmaps")
	client := r.anyone(t)
	as := func(user, method, path, body string, headers ...string) (*http.Response, string) {
		t.Helper()
		if user != "" {
			headers = append(headers, "Authorization: Bearer "+user)
		}
		var reader io.Reader
		if body != "" {
			reader = strings.NewReader(body)
		}
		res, answer := ask(t, client, method, r.URL+path, reader, headers...)
		return res, string(answer)
	}
	const maps = "/api/v1/namespaces/default/configmaps"
	res, _ := as("bob", "GET", maps, "")
	one := kxRoot + "journeys/" + res.Header.Get("Kx-Journey")

	const key = "/:registry:namespaces:default"
	const breakpoint, fault = `{"metadata":{"name":"x"},"spec":{"filter":"name:none"}}`, `{"metadata":{"name":"x"},"spec":{"filter":"name:none","effect":"Fail","code":500}}`
	for _, test := range []struct {
		method, path, body string
		boss, eye          int // others get 403
	}{
		{"GET", kxRoot + "journeys", "", 200, 200},
		{"GET", kxRoot + "journeys?watch=true&timeoutSeconds=1", "", 200, 200},
		{"GET", one, "", 200, 200},
		{"POST", one + "/step", `{"spec":{"action":"continue"}}`, 409, 403}, // it has ended
		{"GET", kxRoot + "breakpoints", "", 200, 200},
		{"POST", kxRoot + "breakpoints", breakpoint, 201, 403},
		{"DELETE", kxRoot + "breakpoints/x", "", 200, 403},
		{"DELETE", kxRoot + "breakpoints", "", 200, 403},
		{"GET", kxRoot + "faults", "", 200, 200},
		{"POST", kxRoot + "faults?dryRun=All", fault, 201, 403},
		{"GET", kxRoot + "caches", "", 200, 200},
		{"GET", kxRoot + "caches/configmaps/check", "", 200, 200},
		{"GET", kxRoot + "caches/configmaps/object?namespace=kube-system&name=extension-apiserver-authentication", "", 200, 200},
		{"GET", kxRoot + "moments", "", 200, 200},
		{"GET", kxRoot + "sources", "", 200, 200},
		{"GET", kxRoot + "structure", "", 200, 200},
		{"POST", kxRoot + "accessreviews", `{"spec":{"user":"x","resourceAttributes":{"verb":"get","resource":"pods"}}}`, 201, 201},
		{"POST", kxRoot + "compactions", `{}`, 201, 403},
		{"GET", kxRoot + "snapshots", "", 200, 403},
		{"POST", kxRoot + "snapshots", `{"metadata":{"name":"x"}}`, 201, 403},
		{"POST", kxRoot + "snapshots/x/rewind", `{}`, 201, 403},
		{"DELETE", kxRoot + "snapshots/x", "", 200, 403},
		{"GET", kxRoot + "keys", "", 200, 403},
		{"GET", kxRoot + "keys" + key, "", 200, 403},
		{"GET", kxRoot + "keys" + key + "/history", "", 200, 403},
		{"GET", kxRoot + "keys?watch=true&timeoutSeconds=1&resourceVersion=1", "", 200, 403},
		{"GET", maps, "", 403, 403},
	} {
		for _, who := range []struct {
			user string
			code int
		}{{"", 403}, {"bob", 403}, {"eye", test.eye}, {"boss", test.boss}} {
			if test.path == maps && who.user == "bob" {
				continue
			}
			res, answer := as(who.user, test.method, test.path, test.body)
			if res.StatusCode != who.code || who.code == 403 && !strings.Contains(answer, "cannot ") {
				t.Errorf("%s %s as %q: %s, want %d: %.300s", test.method, test.path, who.user, res.Status, who.code, answer)
			}
		}
	}

	// What a request wishes for itself.
	r.breakAt(t, "seen", v1alpha1.BreakpointSpec{Filter: "step:filter.authorization resource:leases", Action: v1alpha1.BreakpointTrace})
	hits := 0
	for _, test := range []struct {
		user, reason string
		left         bool
	}{
		{"boss", "objects-asked", true}, {"eye", "objects-asked", false}, {"bob", "objects-refused", false}, {"", "objects-refused", false},
	} {
		res, _ := as(test.user, "GET", "/apis/coordination.k8s.io/v1/leases", "", "Kx-Trace: objects", "Kx-Hold: off")
		steps := stepsOf(r.journeyOf(t, res.Header.Get("Kx-Journey")), "filter.tracing")
		if len(steps) != 1 || steps[0].Reason == nil || steps[0].Reason.Kind != test.reason {
			t.Errorf("%q asks for objects: %+v", test.user, steps)
		}
		if !test.left {
			hits++
		}
		var b v1alpha1.Breakpoint
		if r.kx(t, "GET", "breakpoints/seen", nil, 200, &b); b.Status.Hits != int64(hits) {
			t.Errorf("%q asks to be left alone: %s", test.user, fmt.Sprint(b.Status))
		}
	}
}

// TestAccess sends the requests of testdata/access by as many identities, whose answers a kube-apiserver gave: testdata/upstream records
// them.
func TestAccess(t *testing.T) {
	t.Parallel()
	datadriven.Walk(t, filepath.Join("testdata", "access"), func(t *testing.T, path string) {
		r := start(t, tokens(t, "secret,kx-admin,1,\"system:masters\"\n"+wiretest.Identities), uncollected, withObjects("192.0.2.1"), func(o *options.Options) {
			o.Access.BootstrapTokens, o.Tokens.Issuers = true, []string{"https://kubernetes.default.svc"}
		})
		r.ready(t)
		anyone := r.anyone(t)
		c := &wiretest.Client{URL: r.URL, Admin: &http.Client{Transport: transport.NewBearerAuthRoundTripper("secret", anyone.Transport)}, Anyone: anyone}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			if d.Cmd == "await" {
				return c.Await(t, d.Input)
			}
			return c.Ask(t, d.Input)
		})
	})
}
