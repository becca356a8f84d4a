package upstream

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	restclient "k8s.io/client-go/rest"

	"github.com/kx-apiserver/kx/server/internal/wiretest"
)

// TestPermissions asks a kube-apiserver, whose binary the environment names, what kx's TestPermissions asks kx:
//
//	KUBE_APISERVER=/tmp/kube-apiserver go test -run TestPermissions -rewrite
//
// records what it answers. Roles give its users the grants that kx's test gives them.
func TestPermissions(t *testing.T) {
	binary := os.Getenv("KUBE_APISERVER")
	if binary == "" {
		t.Skip("KUBE_APISERVER does not name the binary of a kube-apiserver")
	}
	datadriven.Walk(t, filepath.Join("..", "permissions"), func(t *testing.T, path string) {
		url, client := startKube(t, binary, "--disable-admission-plugins=ServiceAccount", "--runtime-config=api/beta=true")
		grant(t, url, client)
		c := &wiretest.Client{URL: url, Admin: client, Anyone: &http.Client{Transport: client.Transport.(withToken).RoundTripper}}
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string { return c.Ask(t, d.Input) })
	})
}

// grant makes a role of each grant, and waits until the authorizer has heard of the last one.
func grant(t *testing.T, url string, client *http.Client) {
	t.Helper()
	admin, err := kubernetes.NewForConfigAndClient(&restclient.Config{Host: url, QPS: -1}, client)
	must(t, err)
	ctx, roles := t.Context(), admin.RbacV1()
	for _, user := range wiretest.Users() {
		role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: user}}
		for _, g := range wiretest.Grants {
			if g.User != user {
				continue
			}
			rule := rbacv1.PolicyRule{Verbs: []string{g.Verb}, APIGroups: []string{g.Group}, Resources: []string{g.Resource}}
			if g.Name != "" {
				rule.ResourceNames = []string{g.Name}
			}
			role.Rules = append(role.Rules, rule)
		}
		_, err := roles.ClusterRoles().Create(ctx, role, metav1.CreateOptions{})
		must(t, err)
		_, err = roles.ClusterRoleBindings().Create(ctx, &rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: user},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: user},
			Subjects:   []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: user}},
		}, metav1.CreateOptions{})
		must(t, err)
		granted(ctx, t, admin, user)
	}
}

// granted waits until a user has the last of their grants.
func granted(ctx context.Context, t *testing.T, admin kubernetes.Interface, user string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(ctx, 3*time.Minute)
	defer cancel()
	var last wiretest.Grant
	for _, g := range wiretest.Grants {
		if g.User == user {
			last = g
		}
	}
	resource, subresource, _ := strings.Cut(last.Resource, "/")
	for ask := time.NewTicker(20 * time.Millisecond); ; <-ask.C {
		review, err := admin.AuthorizationV1().SubjectAccessReviews().Create(ctx, &authorizationv1.SubjectAccessReview{
			Spec: authorizationv1.SubjectAccessReviewSpec{User: user, ResourceAttributes: &authorizationv1.ResourceAttributes{
				Verb: last.Verb, Group: last.Group, Resource: resource, Subresource: subresource, Name: last.Name,
			}},
		}, metav1.CreateOptions{})
		must(t, err)
		if review.Status.Allowed {
			ask.Stop()
			return
		}
	}
}
