package server_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kx-apiserver/kx/server/options"
	"github.com/kx-apiserver/kx/server/serviceaccount"
)

// whoami asks who the user of a token is.
func (r *running) whoami(t *testing.T, token string) (authenticationv1.UserInfo, error) {
	t.Helper()
	review, err := r.as(t, token).AuthenticationV1().SelfSubjectReviews().Create(t.Context(), &authenticationv1.SelfSubjectReview{}, metav1.CreateOptions{})
	if err != nil {
		return authenticationv1.UserInfo{}, err
	}
	return review.Status.UserInfo, nil
}

// review asks what the server thinks of a token.
func (r *running) review(t *testing.T, token string, audiences ...string) authenticationv1.TokenReviewStatus {
	t.Helper()
	review, err := r.admin(t).AuthenticationV1().TokenReviews().Create(t.Context(), &authenticationv1.TokenReview{
		Spec: authenticationv1.TokenReviewSpec{Token: token, Audiences: audiences},
	}, metav1.CreateOptions{})
	must(t, err)
	return review.Status
}

// forger signs tokens with the server's own key, or with another.
type forger struct {
	key *ecdsa.PrivateKey
}

func newForger(t *testing.T) *forger {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	return &forger{key}
}

// serve starts a server that signs with the forger's key.
func (f *forger) serve(t *testing.T, edit ...func(*options.Options)) *running {
	t.Helper()
	der, err := x509.MarshalECPrivateKey(f.key)
	must(t, err)
	file := filepath.Join(t.TempDir(), "sa.key")
	must(t, os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}), 0o600))
	return start(t, append(edit, func(o *options.Options) { o.Tokens.SigningKeyFile = file })...)
}

// sign signs claims, which may say anything.
func (f *forger) sign(t *testing.T, claims ...any) string {
	t.Helper()
	id, err := serviceaccount.KeyID(f.key.Public())
	must(t, err)
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: jose.JSONWebKey{Key: f.key, KeyID: id}}, nil)
	must(t, err)
	b := jwt.Signed(signer)
	for _, c := range claims {
		b = b.Claims(c)
	}
	token, err := b.Serialize()
	must(t, err)
	return token
}

// robotClaims are those of a good token of the account.
func robotClaims(robot *corev1.ServiceAccount) (serviceaccount.Public, serviceaccount.Kubernetes) {
	now := time.Now()
	return serviceaccount.Public{
			Issuer: options.DefaultIssuer, Subject: "system:serviceaccount:default:robot", Audience: []string{options.DefaultIssuer},
			IssuedAt: now.Unix(), NotBefore: now.Unix(), Expiry: now.Add(time.Hour).Unix(),
		}, serviceaccount.Kubernetes{
			Namespace: "default", ServiceAccount: serviceaccount.Ref{Name: "robot", UID: string(robot.UID)},
		}
}

// TestAccountIsBelieved: a token of an account is as good as a certificate, and says what it is bound to.
func TestAccountIsBelieved(t *testing.T) {
	t.Parallel()
	r := start(t)
	robot := r.newRobot(t)
	pods, ns := r.admin(t).CoreV1().Pods("default"), "default"
	node, err := r.admin(t).CoreV1().Nodes().Create(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}}, metav1.CreateOptions{})
	must(t, err)
	pod, err := pods.Create(t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "p", Namespace: ns},
		Spec:       corev1.PodSpec{ServiceAccountName: "robot", NodeName: "n", Containers: []corev1.Container{{Name: "c", Image: "i"}}},
	}, metav1.CreateOptions{})
	must(t, err)
	for bound, extra := range map[string]map[string]string{
		"":     {},
		"Pod":  {"pod-name": "p", "pod-uid": string(pod.UID), "node-name": "n", "node-uid": string(node.UID)},
		"Node": {"node-name": "n", "node-uid": string(node.UID)},
	} {
		spec := authenticationv1.TokenRequestSpec{}
		if bound != "" {
			spec.BoundObjectRef = &authenticationv1.BoundObjectReference{APIVersion: "v1", Kind: bound, Name: strings.ToLower(bound[:1])}
		}
		token := r.newToken(t, spec).Status.Token
		who, err := r.whoami(t, token)
		must(t, err)
		if who.Username != "system:serviceaccount:default:robot" || who.UID != string(robot.UID) ||
			strings.Join(who.Groups, " ") != "system:serviceaccounts system:serviceaccounts:default system:authenticated" {
			t.Errorf("%q: %+v", bound, who)
		}
		extra["credential-id"] = "JTI=" + r.verify(t, token).Public.ID
		for key, want := range extra {
			if got := who.Extra["authentication.kubernetes.io/"+key]; len(got) != 1 || got[0] != want {
				t.Errorf("%q: %s is %q, want %q", bound, key, got, want)
			}
		}
		if len(who.Extra) != len(extra) {
			t.Errorf("%q: %v, want %v", bound, who.Extra, extra)
		}
		if status := r.review(t, token); !status.Authenticated || status.User.Username != who.Username || strings.Join(status.Audiences, " ") != options.DefaultIssuer {
			t.Errorf("%q: %+v", bound, status)
		}
		_, err = r.as(t, token).CoreV1().Secrets("default").List(t.Context(), metav1.ListOptions{})
		if !apierrors.IsForbidden(err) {
			t.Errorf("%q: %v, want 403", bound, err)
		}
	}
}

// TestTokenOfLastIssuer: all issuers and keys that the flags name are believed, and audiences decide.
func TestTokenOfLastIssuer(t *testing.T) {
	t.Parallel()
	f := newForger(t)
	r := f.serve(t, func(o *options.Options) {
		o.Tokens.Issuers = []string{"https://new.example", "https://old.example"}
		o.Tokens.APIAudiences = []string{"api", "also"}
	})
	public, private := robotClaims(r.newRobot(t))
	public.Issuer, public.Audience = "https://old.example", []string{"also", "vault"}
	token := f.sign(t, serviceaccount.BoundPrivate{Kubernetes: private}, public)
	if status := r.review(t, token); !status.Authenticated || strings.Join(status.Audiences, " ") != "also" {
		t.Errorf("%+v", status)
	}
	if status := r.review(t, token, "vault", "x"); !status.Authenticated || strings.Join(status.Audiences, " ") != "vault" {
		t.Errorf("%+v", status)
	}
	if status := r.review(t, token, "x"); status.Authenticated || !strings.Contains(status.Error, `token audiences ["also" "vault"] is invalid for the target audiences ["x"]`) {
		t.Errorf("%+v", status)
	}
}

// TestForgedTokens: who shows any of these is nobody, and the answer to a review says why. The words are a kube-apiserver's.
func TestForgedTokens(t *testing.T) {
	t.Parallel()
	f := newForger(t)
	r := f.serve(t)
	robot := r.newRobot(t)
	hour := time.Hour.Milliseconds() / 1000
	for name, test := range map[string]struct {
		edit func(*serviceaccount.Public, *serviceaccount.Kubernetes)
		want string
	}{
		"audience":   {func(p *serviceaccount.Public, _ *serviceaccount.Kubernetes) { p.Audience = []string{"vault"} }, `token audiences ["vault"] is invalid for the target audiences ["https://kubernetes.default.svc.cluster.local"]`},
		"issuer":     {func(p *serviceaccount.Public, _ *serviceaccount.Kubernetes) { p.Issuer = "https://other.example" }, "invalid bearer token"},
		"expired":    {func(p *serviceaccount.Public, _ *serviceaccount.Kubernetes) { p.Expiry -= 2 * hour }, "service account token has expired"},
		"early":      {func(p *serviceaccount.Public, _ *serviceaccount.Kubernetes) { p.NotBefore += hour }, "service account token is not valid yet"},
		"future":     {func(p *serviceaccount.Public, _ *serviceaccount.Kubernetes) { p.IssuedAt += hour }, "service account token is issued in the future"},
		"no account": {func(_ *serviceaccount.Public, k *serviceaccount.Kubernetes) { k.ServiceAccount.Name = "ghost" }, `serviceaccounts "ghost" not found`},
		"other uid":  {func(_ *serviceaccount.Public, k *serviceaccount.Kubernetes) { k.ServiceAccount.UID = "1" }, "does not match claim (1)"},
		"no claims":  {func(_ *serviceaccount.Public, k *serviceaccount.Kubernetes) { *k = serviceaccount.Kubernetes{} }, "Namespace parameter required"},
		"no pod": {func(_ *serviceaccount.Public, k *serviceaccount.Kubernetes) {
			k.Pod = &serviceaccount.Ref{Name: "ghost", UID: "1"}
		}, "service account token has been invalidated"},
		"no secret": {func(_ *serviceaccount.Public, k *serviceaccount.Kubernetes) {
			k.Secret = &serviceaccount.Ref{Name: "ghost", UID: "1"}
		}, "service account token has been invalidated"},
		"no node": {func(_ *serviceaccount.Public, k *serviceaccount.Kubernetes) {
			k.Node = &serviceaccount.Ref{Name: "ghost", UID: "1"}
		}, "service account token has been invalidated"},
		"other cluster": {func(_ *serviceaccount.Public, k *serviceaccount.Kubernetes) { k.Namespace = "elsewhere" }, `serviceaccounts "robot" not found`},
	} {
		public, private := robotClaims(robot)
		test.edit(&public, &private)
		r.isRefused(t, name, f.sign(t, serviceaccount.BoundPrivate{Kubernetes: private}, public), test.want)
	}

	public, private := robotClaims(robot)
	good := f.sign(t, serviceaccount.BoundPrivate{Kubernetes: private}, public)
	if _, err := r.whoami(t, good); err != nil {
		t.Fatalf("the good one: %v", err)
	}
	parts := strings.Split(good, ".")
	r.isRefused(t, "other key", newForger(t).sign(t, serviceaccount.BoundPrivate{Kubernetes: private}, public), "invalid signature, no keys found")
	r.isRefused(t, "no signature", parts[0]+"."+parts[1]+".", "error in cryptographic primitive")
	none := base64.RawURLEncoding.EncodeToString([]byte(`{"alg":"none"}`))
	r.isRefused(t, "alg none", none+"."+parts[1]+".", "invalid bearer token")
	r.isRefused(t, "alg none, signed", none+"."+parts[1]+"."+parts[2], "invalid bearer token")
	// Whoever signs with the public key, as if it were a secret that both sides know, has no key.
	public509, err := x509.MarshalPKIXPublicKey(f.key.Public())
	must(t, err)
	symmetric, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.HS256, Key: public509}, nil)
	must(t, err)
	hmac, err := jwt.Signed(symmetric).Claims(serviceaccount.BoundPrivate{Kubernetes: private}).Claims(public).Serialize()
	must(t, err)
	r.isRefused(t, "alg HS256", hmac, "invalid bearer token")
	claims, err := json.Marshal(map[string]string{"iss": options.DefaultIssuer, "sub": "system:admin"})
	must(t, err)
	r.isRefused(t, "other claims", parts[0]+"."+base64.RawURLEncoding.EncodeToString(claims)+"."+parts[2], "error in cryptographic primitive")
	// A node beside a pod, and a webhook that this server does not bind tokens to.
	r.isRefused(t, "webhook", f.sign(t, map[string]any{"kubernetes.io": map[string]any{
		"namespace": "default", "serviceaccount": private.ServiceAccount, "validatingwebhookconfiguration": serviceaccount.Ref{Name: "w"},
	}}, public), "token is webhook bound")
}

// isRefused wants a token to be of nobody, and a review to say why, without the token.
func (r *running) isRefused(t *testing.T, name, token, want string) {
	t.Helper()
	if who, err := r.whoami(t, token); !apierrors.IsUnauthorized(err) || err.Error() != "Unauthorized" {
		t.Errorf("%s: %+v, %v", name, who, err)
	}
	status := r.review(t, token)
	if status.Authenticated || !strings.Contains(status.Error, want) || strings.Contains(status.Error, token) || status.User.Username != "" {
		t.Errorf("%s: %+v, want %s", name, status, want)
	}
}

// TestTokenEndsWithItsObject deletes what tokens depend on.
func TestTokenEndsWithItsObject(t *testing.T) {
	t.Parallel()
	r := start(t)
	robot := r.newRobot(t)
	admin := r.admin(t).CoreV1()
	_, err := admin.Secrets("default").Create(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "s"}}, metav1.CreateOptions{})
	must(t, err)
	_, err = admin.Nodes().Create(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "s"}}, metav1.CreateOptions{})
	must(t, err)
	_, err = admin.Pods("default").Create(t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "s"}, Spec: corev1.PodSpec{ServiceAccountName: "robot", Containers: []corev1.Container{{Name: "c", Image: "i"}}},
	}, metav1.CreateOptions{})
	must(t, err)
	tokens := map[string]string{}
	for _, kind := range []string{"", "Secret", "Node", "Pod"} {
		spec := authenticationv1.TokenRequestSpec{}
		if kind != "" {
			spec.BoundObjectRef = &authenticationv1.BoundObjectReference{APIVersion: "v1", Kind: kind, Name: "s"}
		}
		tokens[kind] = r.newToken(t, spec).Status.Token
	}
	if status := r.review(t, tokens["Secret"], options.DefaultIssuer); !status.Authenticated {
		t.Errorf("before: %+v", status)
	}
	// Another one of the same name does not stand in.
	must(t, admin.Secrets("default").Delete(t.Context(), "s", metav1.DeleteOptions{}))
	must(t, admin.Nodes().Delete(t.Context(), "s", metav1.DeleteOptions{}))
	must(t, admin.Pods("default").Delete(t.Context(), "s", metav1.DeleteOptions{})) // it runs on no node: it goes at once
	r.isRefused(t, "Node", tokens["Node"], "service account token has been invalidated")
	r.isRefused(t, "Pod", tokens["Pod"], "service account token has been invalidated")
	_, err = admin.Nodes().Create(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "s"}}, metav1.CreateOptions{})
	must(t, err)
	r.isRefused(t, "a second node", tokens["Node"], "does not match service account node ref claim")

	// What was shown before may be remembered for a while.
	until(t, "the token of a deleted secret is refused", func() bool {
		_, err := r.whoami(t, tokens["Secret"])
		return apierrors.IsUnauthorized(err)
	})
	must(t, admin.ServiceAccounts("default").Delete(t.Context(), "robot", metav1.DeleteOptions{}))
	r.isRefused(t, "account", tokens[""], `serviceaccounts "robot" not found`)
	if r.newRobot(t).UID == robot.UID {
		t.Fatal("the same UID twice")
	}
	r.isRefused(t, "a second account", tokens[""], "does not match claim")
}

// TestTokenOfASecret: a secret that holds a token is what makes it valid.
func TestTokenOfASecret(t *testing.T) {
	t.Parallel()
	f := newForger(t)
	r := f.serve(t)
	robot := r.newRobot(t)
	secrets := r.admin(t).CoreV1().Secrets("default")
	token := f.sign(t, serviceaccount.LegacyPrivate{
		ServiceAccountName: "robot", ServiceAccountUID: string(robot.UID), SecretName: "robot-token", Namespace: "default",
	}, serviceaccount.Public{Issuer: serviceaccount.LegacyIssuer, Subject: "system:serviceaccount:default:robot"})
	r.isRefused(t, "no secret", token, "Token has been invalidated")
	secret, err := secrets.Create(t.Context(), &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "robot-token", Annotations: map[string]string{corev1.ServiceAccountNameKey: "robot", corev1.ServiceAccountUIDKey: string(robot.UID)}},
		Type:       corev1.SecretTypeServiceAccountToken,
		Data:       map[string][]byte{corev1.ServiceAccountTokenKey: []byte("another")},
	}, metav1.CreateOptions{})
	must(t, err)
	r.isRefused(t, "another token", token, "Token does not match server's copy")
	secret.Data[corev1.ServiceAccountTokenKey] = []byte(token)
	secret.Labels = map[string]string{"kubernetes.io/legacy-token-invalid-since": "2026-01-01"}
	secret, err = secrets.Update(t.Context(), secret, metav1.UpdateOptions{})
	must(t, err)
	r.isRefused(t, "marked", token, "the token in secret default/robot-token for service account default/robot has been marked invalid")
	secret.Labels, secret.ResourceVersion = nil, "" // a refused token is labelled with its last use
	_, err = secrets.Update(t.Context(), secret, metav1.UpdateOptions{})
	must(t, err)
	who, err := r.whoami(t, token)
	must(t, err)
	if who.Username != "system:serviceaccount:default:robot" || who.UID != string(robot.UID) || len(who.Extra) != 0 {
		t.Errorf("%+v", who)
	}
	wrong := f.sign(t, serviceaccount.LegacyPrivate{
		ServiceAccountName: "robot", ServiceAccountUID: string(robot.UID), SecretName: "robot-token", Namespace: "default",
	}, serviceaccount.Public{Issuer: serviceaccount.LegacyIssuer, Subject: "system:serviceaccount:kube-system:robot"})
	r.isRefused(t, "another subject", wrong, "sub claim is invalid")
}

// TestTokenIsNotKept: no journey has a token, and the step says whose it was.
func TestTokenIsNotKept(t *testing.T) {
	t.Parallel()
	r := start(t)
	r.newRobot(t)
	token := r.newToken(t, authenticationv1.TokenRequestSpec{}).Status.Token
	_, err := r.whoami(t, token)
	must(t, err)
	found := false
	changes, _ := r.Journeys.List()
	for _, change := range changes {
		text, err := json.Marshal(change.Journey.Record())
		must(t, err)
		if strings.Contains(string(text), token) {
			t.Errorf("%s has the token", change.Journey.ID())
		}
		found = found || strings.Contains(string(text), "default/robot")
	}
	if !found {
		t.Error("no step names the account")
	}
}
