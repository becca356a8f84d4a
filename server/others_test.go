package server_test

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kx-apiserver/kx/server/options"
	"github.com/kx-apiserver/kx/server/peertest"
)

// tokenWebhook knows the token told-to-ann as ann, and no other.
func tokenWebhook(t *testing.T) (kubeconfig, address string) {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var review authenticationv1.TokenReview
		if err := json.NewDecoder(r.Body).Decode(&review); err != nil {
			t.Error(err)
		}
		if review.Spec.Token == "told-to-ann" {
			review.Status = authenticationv1.TokenReviewStatus{Authenticated: true, User: authenticationv1.UserInfo{Username: "ann"}}
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(review) // the server sees that it is cut
	}))
	t.Cleanup(server.Close)
	kubeconfig = filepath.Join(t.TempDir(), "webhook.yaml")
	must(t, os.WriteFile(kubeconfig, fmt.Appendf(nil, `
apiVersion: v1
kind: Config
clusters: [{name: c, cluster: {server: %q}}]
contexts: [{name: x, context: {cluster: c}}]
current-context: x`, server.URL+"/review"), 0o600))
	return kubeconfig, server.URL + "/review"
}

// TestTokensOfOthers: the journey of each request names who believed its token, or why nobody did. Neither it nor the log has what must
// stay secret.
func TestTokensOfOthers(t *testing.T) {
	t.Parallel()
	const word = "0123456789abcdef"
	one, stranger := peertest.NewIssuer(t), peertest.NewIssuer(t)
	file := filepath.Join(t.TempDir(), "authentication.yaml")
	ca, err := json.Marshal(one.CA)
	must(t, err)
	must(t, os.WriteFile(file, fmt.Appendf(nil, `
apiVersion: apiserver.config.k8s.io/v1
kind: AuthenticationConfiguration
anonymous: {enabled: true, conditions: [{path: /version}]}
jwt:
- issuer: {url: %q, audiences: [kx], certificateAuthority: %s}
  claimMappings: {username: {claim: sub, prefix: "login:"}}
- issuer: {url: "https://127.0.0.1:1", audiences: [kx]}
  claimMappings: {username: {claim: sub, prefix: "away:"}}`, one.URL, ca), 0o600))
	kubeconfig, webhook := tokenWebhook(t)
	r, logged := launchLogged(t, func(o *options.Options) {
		o.Access.BootstrapTokens, o.Issuers.ConfigFile, o.Issuers.Webhook.File, o.Issuers.Webhook.Version = true, file, kubeconfig, "v1"
	})
	until(t, "kube-system exists", func() bool {
		_, err := r.admin(t).CoreV1().Namespaces().Get(within(t), "kube-system", metav1.GetOptions{})
		return err == nil
	})
	secret := func(id string, edit func(*corev1.Secret)) {
		t.Helper()
		s := &corev1.Secret{ObjectMeta: named("bootstrap-token-" + id), Type: corev1.SecretTypeBootstrapToken, StringData: map[string]string{
			"token-id": id, "token-secret": word, "usage-bootstrap-authentication": "true",
		}}
		edit(s)
		_, err := r.admin(t).CoreV1().Secrets("kube-system").Create(within(t), s, metav1.CreateOptions{})
		must(t, err)
	}
	secret("good01", func(*corev1.Secret) {})
	secret("going1", func(s *corev1.Secret) { s.Finalizers = []string{"example.com/kept"} })
	must(t, r.admin(t).CoreV1().Secrets("kube-system").Delete(within(t), "bootstrap-token-going1", metav1.DeleteOptions{}))
	secret("opaque", func(s *corev1.Secret) { s.Type = corev1.SecretTypeOpaque })
	secret("other1", func(s *corev1.Secret) { s.StringData["token-id"] = "other2" })
	secret("ended1", func(s *corev1.Secret) { s.StringData["expiration"] = "2020-01-01T00:00:00Z" })
	secret("sign01", func(s *corev1.Secret) { s.StringData["usage-bootstrap-authentication"] = "True" })
	secret("group1", func(s *corev1.Secret) { s.StringData["auth-extra-groups"] = "system:bootstrappers:a,system:masters" })
	long := "system:bootstrappers:" + strings.Repeat("a", 256)
	secret("group2", func(s *corev1.Secret) { s.StringData["auth-extra-groups"] = long })
	secret("group3", func(s *corev1.Secret) { s.StringData["auth-extra-groups"] = long + "a" })

	client := r.anyone(t)
	look := func(path, token string) (code int, why, failure string) {
		t.Helper()
		headers := []string{"Accept: application/json"}
		if token != "" {
			headers = append(headers, "Authorization: Bearer "+token)
		}
		res, _ := ask(t, client, "GET", r.URL+path, nil, headers...)
		j := r.journeyOf(t, res.Header.Get("Kx-Journey"))
		text, err := json.Marshal(j)
		must(t, err)
		if strings.Contains(string(text), word[:15]) || token != "" && strings.Contains(string(text), token) {
			t.Errorf("the journey of %s has the token", token)
		}
		steps := stepsOf(j, "filter.authentication")
		if len(steps) != 1 {
			t.Fatalf("%+v", j.Status.Steps)
		}
		return res.StatusCode, steps[0].Why, steps[0].Error
	}
	until(t, "the issuer is reached", func() bool {
		code, _, _ := look("/version", one.Token(t, nil))
		return code != 401
	})
	jwt := func(payload string) string {
		return "eyJhbGciOiJFUzI1NiJ9." + base64.RawURLEncoding.EncodeToString([]byte(payload)) + ".AA"
	}
	in := " of the Secret kube-system/bootstrap-token-"
	for _, test := range []struct {
		path, token  string
		code         int
		why, failure string // parts
	}{
		{"/version", "good01." + word, 403, "by the bootstrap token" + in + "good01", ""},
		{"/version", "good01." + word[:15] + "e", 401, "token-secret" + in + "good01 is another one", "invalid bearer token"},
		{"/version", "nobody." + word, 401, "there is no Secret kube-system/bootstrap-token-nobody", "invalid bearer token"},
		{"/version", "going1." + word, 401, "its Secret kube-system/bootstrap-token-going1 is being deleted", "invalid bearer token"},
		{"/version", "opaque." + word, 401, "the type" + in + "opaque is not bootstrap.kubernetes.io/token", "invalid bearer token"},
		{"/version", "other1." + word, 401, "token-id" + in + "other1 is another one", "invalid bearer token"},
		{"/version", "ended1." + word, 401, "expiration" + in + "ended1 it has ended", "invalid bearer token"},
		{"/version", "sign01." + word, 401, "bootstrap-token-sign01 does not have usage-bootstrap-authentication as true", "invalid bearer token"},
		{"/version", "group1." + word, 401, "auth-extra-groups" + in + "group1 has more than groups", "invalid bearer token"},
		{"/version", "group2." + word, 403, "by the bootstrap token" + in + "group2", ""},
		{"/version", "group3." + word, 401, "auth-extra-groups" + in + "group3 has more than groups", "invalid bearer token"},
		{"/version", one.Token(t, nil), 403, "by a token of the issuer " + one.URL, ""},
		{"/version", one.Token(t, map[string]any{"aud": "vault"}), 401, "the token is to be of the issuer " + one.URL + ", and does not hold", `expected audience "kx" got ["vault"]`},
		{"/version", stranger.Token(t, map[string]any{"iss": "https://127.0.0.1:1"}), 401,
			`before it has reached its issuer: oidc: authenticator for issuer "https://127.0.0.1:1" is not healthy: Get "https://127.0.0.1:1/`, "oidc: authenticator not initialized"},
		{"/version", stranger.Token(t, nil), 401, "the token names the issuer " + stranger.URL + ", and that is none whom the server believes", "invalid bearer token"},
		{"/version", jwt(`{"iss":"\u001b[31mred"}`), 401, "", "invalid bearer token"},
		{"/version", "told-to-ann", 403, "by the token webhook " + webhook, ""},
		{"/version", "unheard-of", 401, "the token webhook " + webhook + " does not know the token", "invalid bearer token"},
		{"/version", "", 403, "the request has no credentials, so it is that of system:anonymous", ""},
		{"/api/v1/nodes", "", 401, "its path is none that the authentication configuration opens for such", "no credentials that this server knows"},
	} {
		code, why, failure := look(test.path, test.token)
		if code != test.code || !strings.Contains(why, test.why) || !strings.Contains(failure, test.failure) || (failure == "") != (test.failure == "") {
			t.Errorf("%s %.20s: %d %q %q, want %d %q %q", test.path, test.token, code, why, failure, test.code, test.why, test.failure)
		}
		if strings.Contains(why, "\x1b") {
			t.Errorf("%q", why)
		}
	}
	if text := logged.String(); strings.Contains(text, word[:15]) || !strings.Contains(text, `rejection="a bootstrap token, and by expiration of the Secret kube-system/bootstrap-token-ended1 it has ended"`) {
		t.Errorf("the log: %s", text)
	}
	if status := r.review(t, "ended1."+word); status.Authenticated || status.Error != "invalid bearer token" {
		t.Errorf("%+v", status)
	}

	// A file that is of no use is told.
	if _, ready := ask(t, r.httpClient(t), "GET", r.URL+"/readyz/authentication", nil); string(ready) != "ok" {
		t.Errorf("%s", ready)
	}
	must(t, os.WriteFile(file, []byte("jwt"), 0o600))
	until(t, "the server is not ready", func() bool {
		res, text := ask(t, r.httpClient(t), "GET", r.URL+"/readyz/authentication", nil)
		return res.StatusCode == 500 && strings.Contains(string(text), "the issuers of tokens are not as their file says: see the log")
	})
	if code, why, _ := look("/version", one.Token(t, nil)); code != 403 || !strings.Contains(why, one.URL) {
		t.Errorf("%d %s", code, why)
	}
}
