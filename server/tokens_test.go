package server_test

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kx-apiserver/kx/server/options"
	"github.com/kx-apiserver/kx/server/serviceaccount"
)

// verifiedToken has what a token says, after its signature was checked.
type verifiedToken struct {
	KeyID  string
	Public serviceaccount.Public
	serviceaccount.BoundPrivate
}

// verify checks a token by the documents that the server serves, as somebody would who knows its address alone.
func (r *running) verify(t *testing.T, token string) (v verifiedToken) {
	t.Helper()
	var config struct {
		Issuer  string   `json:"issuer"`
		JWKSURI string   `json:"jwks_uri"`
		Algs    []string `json:"id_token_signing_alg_values_supported"`
	}
	r.document(t, r.URL+"/.well-known/openid-configuration", &config)
	var algorithms []jose.SignatureAlgorithm
	for _, alg := range config.Algs {
		algorithms = append(algorithms, jose.SignatureAlgorithm(alg))
	}
	var keys jose.JSONWebKeySet
	r.document(t, config.JWKSURI, &keys)
	parsed, err := jwt.ParseSigned(token, algorithms)
	must(t, err)
	must(t, parsed.Claims(keys, &v.Public, &v.BoundPrivate))
	v.KeyID = parsed.Headers[0].KeyID
	if v.Public.Issuer != config.Issuer {
		t.Errorf("the token is of %s, and the server is %s", v.Public.Issuer, config.Issuer)
	}
	return v
}

func (r *running) document(t *testing.T, url string, into any) {
	t.Helper()
	res, body := ask(t, r.httpClient(t), http.MethodGet, url, nil)
	if res.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s %s", url, res.Status, body)
	}
	must(t, json.Unmarshal(body, into))
}

func (r *running) newToken(t *testing.T, spec authenticationv1.TokenRequestSpec) *authenticationv1.TokenRequest {
	t.Helper()
	token, err := r.admin(t).CoreV1().ServiceAccounts("default").CreateToken(t.Context(), "robot", &authenticationv1.TokenRequest{Spec: spec}, metav1.CreateOptions{})
	must(t, err)
	return token
}

func (r *running) newRobot(t *testing.T) *corev1.ServiceAccount {
	t.Helper()
	r.letReview(t)
	robot, err := r.admin(t).CoreV1().ServiceAccounts("default").Create(t.Context(), &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "robot"}}, metav1.CreateOptions{})
	must(t, err)
	return robot
}

// TestTokensAfterRestart: the key is that of the data directory, so a token can be verified after a restart, too.
func TestTokensAfterRestart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	must(t, os.Chmod(dir, 0o700))
	r, stop, err := launch(in(dir))
	must(t, err)
	robot := r.newRobot(t)
	before := r.newToken(t, authenticationv1.TokenRequestSpec{Audiences: []string{"store.example"}})
	first := r.verify(t, before.Status.Token)
	if got := first.Kubernetes; got.Namespace != "default" || got.ServiceAccount.Name != "robot" || got.ServiceAccount.UID != string(robot.UID) {
		t.Errorf("the token says %+v", got)
	}
	if first.Public.Subject != "system:serviceaccount:default:robot" || first.Public.Expiry-first.Public.IssuedAt != 3600 ||
		before.Status.ExpirationTimestamp.Unix() > first.Public.Expiry {
		t.Errorf("the token says %+v, and the status %v", first.Public, before.Status.ExpirationTimestamp)
	}
	must(t, stop())

	r, stop, err = launch(in(dir))
	must(t, err)
	defer func() { must(t, stop()) }()
	again := r.verify(t, before.Status.Token)
	after := r.verify(t, r.newToken(t, authenticationv1.TokenRequestSpec{}).Status.Token)
	if first.KeyID != again.KeyID || first.KeyID != after.KeyID {
		t.Errorf("keys %s, %s, %s", first.KeyID, again.KeyID, after.KeyID)
	}
}

// TestTokensOfGivenKeys: several servers sign with the key of a file, and publish the keys of others, too.
func TestTokensOfGivenKeys(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	must(t, os.Chmod(dir, 0o700))
	old, stop, err := launch(in(dir))
	must(t, err)
	old.newRobot(t)
	token := old.newToken(t, authenticationv1.TokenRequestSpec{}).Status.Token
	must(t, stop())
	r := start(t, func(o *options.Options) {
		o.Tokens.KeyFiles = []string{filepath.Join(dir, "sa.key")}
		o.Tokens.Issuers = append([]string{"https://new.example"}, o.Tokens.Issuers...)
		o.Tokens.MaxExpiration = time.Hour
	})
	r.newRobot(t)
	asked := int64(7200)
	answer := r.newToken(t, authenticationv1.TokenRequestSpec{ExpirationSeconds: &asked})
	mine := r.verify(t, answer.Status.Token)
	if mine.Public.Expiry-mine.Public.IssuedAt != 3600 || *answer.Spec.ExpirationSeconds != 3600 {
		t.Errorf("a token for more than the server allows: %+v, %d", mine.Public, *answer.Spec.ExpirationSeconds)
	}
	if strings.Join(mine.Public.Audience, " ") != "https://new.example "+options.DefaultIssuer {
		t.Errorf("audiences %q", mine.Public.Audience)
	}
	var keys jose.JSONWebKeySet
	r.document(t, r.URL+"/openid/v1/jwks", &keys)
	parsed, err := jwt.ParseSigned(token, []jose.SignatureAlgorithm{jose.ES256})
	must(t, err)
	must(t, parsed.Claims(keys))

	same := start(t, func(o *options.Options) { o.Tokens.SigningKeyFile = filepath.Join(dir, "sa.key") })
	same.newRobot(t)
	if got := same.verify(t, same.newToken(t, authenticationv1.TokenRequestSpec{}).Status.Token).KeyID; got != parsed.Headers[0].KeyID {
		t.Errorf("signed with %s, not with the given key %s", got, parsed.Headers[0].KeyID)
	}
}

// TestIssuerWithoutDocuments: an issuer that no client can find has nothing to be found.
func TestIssuerWithoutDocuments(t *testing.T) {
	t.Parallel()
	for _, issuer := range []string{"kx", "http://issuer.example", "https://issuer.example?a=b", "https://issuer.example#a"} {
		r := start(t, func(o *options.Options) { o.Tokens.Issuers = []string{issuer} })
		for _, path := range []string{"/.well-known/openid-configuration", "/openid/v1/jwks", "/openapi/v3/openid/v1/jwks"} {
			if res, body := ask(t, r.httpClient(t), http.MethodGet, r.URL+path, nil); res.StatusCode != http.StatusNotFound {
				t.Errorf("%s: %s: %s %s", issuer, path, res.Status, body)
			}
		}
		r.newRobot(t)
		if r.newToken(t, authenticationv1.TokenRequestSpec{}).Status.Token == "" {
			t.Errorf("%s: no token", issuer)
		}
	}
}

// TestKeySetAddress: the configuration says where the keys are, as the flags say.
func TestKeySetAddress(t *testing.T) {
	t.Parallel()
	for want, edit := range map[string]func(*options.Options){
		"https://keys.example/set": func(o *options.Options) { o.Tokens.JWKSURI = "https://keys.example/set" },
		"https://192.0.2.1:":       func(o *options.Options) { o.AdvertiseAddress = []byte{192, 0, 2, 1} },
	} {
		r := start(t, edit)
		var config struct {
			JWKSURI string `json:"jwks_uri"`
		}
		r.document(t, r.URL+"/.well-known/openid-configuration", &config)
		if !strings.HasPrefix(config.JWKSURI, want) {
			t.Errorf("%s, want %s", config.JWKSURI, want)
		}
	}
}

// letReview lets everybody who is known ask who they are, as the default roles do.
func (r *running) letReview(t *testing.T) {
	t.Helper()
	_, err := r.admin(t).RbacV1().ClusterRoles().Create(within(t), &rbacv1.ClusterRole{ObjectMeta: named("reviews"), Rules: []rbacv1.PolicyRule{
		{Verbs: []string{"create"}, APIGroups: []string{"authentication.k8s.io"}, Resources: []string{"selfsubjectreviews"}},
	}}, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		return // by another robot of this server
	}
	must(t, err)
	_, err = r.admin(t).RbacV1().ClusterRoleBindings().Create(within(t), &rbacv1.ClusterRoleBinding{
		ObjectMeta: named("reviews"), RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "reviews"},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.GroupKind, Name: "system:authenticated"}},
	}, metav1.CreateOptions{})
	must(t, err)
	until(t, "everybody may ask who they are", func() bool {
		review, err := r.admin(t).AuthorizationV1().SubjectAccessReviews().Create(within(t), &authorizationv1.SubjectAccessReview{
			Spec: authorizationv1.SubjectAccessReviewSpec{
				User: "somebody", Groups: []string{"system:authenticated"},
				ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: "create", Group: "authentication.k8s.io", Resource: "selfsubjectreviews"},
			},
		}, metav1.CreateOptions{})
		must(t, err)
		return review.Status.Allowed
	})
}
