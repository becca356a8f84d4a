package serviceaccount

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

const issuer = "https://issuer.test"

var algorithms = []jose.SignatureAlgorithm{jose.RS256, jose.ES256, jose.ES384, jose.ES512}

func ecdsaKey(t *testing.T, curve elliptic.Curve) *ecdsa.PrivateKey {
	t.Helper()
	key, err := ecdsa.GenerateKey(curve, rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func newKeys(t *testing.T, signing crypto.Signer, verifying ...crypto.PublicKey) *Keys {
	t.Helper()
	keys, err := NewKeys(signing, verifying)
	if err != nil {
		t.Fatal(err)
	}
	return keys
}

func sign(t *testing.T, keys *Keys, issuer string, claims Claims) string {
	t.Helper()
	signer, err := keys.Signer(issuer)
	if err != nil {
		t.Fatal(err)
	}
	token, err := signer.Sign(t.Context(), claims)
	if err != nil {
		t.Fatal(err)
	}
	return token
}

// read checks the token's signature with the key that its header names, and returns its algorithm and its claims as JSON.
func read(t *testing.T, keys *Keys, token string) (alg, claims string) {
	t.Helper()
	parsed, err := jwt.ParseSigned(token, algorithms)
	if err != nil {
		t.Fatal(err)
	}
	for _, key := range keys.Public() {
		if key.ID != parsed.Headers[0].KeyID {
			continue
		}
		var all json.RawMessage
		if err := parsed.Claims(key.Key, &all); err != nil {
			t.Fatal(err)
		}
		return parsed.Headers[0].Algorithm, string(all)
	}
	t.Fatalf("no public key is called %q", parsed.Headers[0].KeyID)
	return "", ""
}

func named(name, uid string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: "shop", Name: name, UID: types.UID(uid)}
}

func TestAlgorithms(t *testing.T) {
	t.Parallel()
	rsaKey, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	for want, key := range map[string]crypto.Signer{
		"RS256": rsaKey,
		"ES256": ecdsaKey(t, elliptic.P256()), "ES384": ecdsaKey(t, elliptic.P384()), "ES512": ecdsaKey(t, elliptic.P521()),
	} {
		keys := newKeys(t, key)
		if alg, _ := read(t, keys, sign(t, keys, issuer, Claims{Private: LegacyPrivate{}})); alg != want {
			t.Errorf("%s, want %s", alg, want)
		}
	}
	_, edwards, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	for want, key := range map[string]crypto.Signer{"P-224": ecdsaKey(t, elliptic.P224()), "ed25519": edwards} {
		if _, err := newKeys(t, key).Signer(issuer); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

// TestPlaceOfSigningKey: the key that signs is published once, also if no file names it.
func TestPlaceOfSigningKey(t *testing.T) {
	t.Parallel()
	mine, other := ecdsaKey(t, elliptic.P256()), ecdsaKey(t, elliptic.P256())
	for name, test := range map[string]struct{ given, want []crypto.PublicKey }{
		"alone":        {nil, []crypto.PublicKey{mine.Public()}},
		"beside":       {[]crypto.PublicKey{other.Public()}, []crypto.PublicKey{mine.Public(), other.Public()}},
		"among others": {[]crypto.PublicKey{other.Public(), mine.Public()}, []crypto.PublicKey{other.Public(), mine.Public()}},
	} {
		var got []crypto.PublicKey
		for _, key := range newKeys(t, mine, test.given...).Public() {
			got = append(got, key.Key)
		}
		if diff := cmp.Diff(test.want, got, cmp.Comparer(func(a, b *ecdsa.PublicKey) bool { return a.Equal(b) })); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestBoundClaims(t *testing.T) {
	t.Parallel()
	keys := newKeys(t, ecdsaKey(t, elliptic.P256()))
	sa := &corev1.ServiceAccount{ObjectMeta: named("robot", "1")}
	from := time.Unix(1_000_000, 999)
	claims := BoundClaims(sa, Binding{Pod: &corev1.Pod{ObjectMeta: named("p", "2")}, Node: &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}}},
		[]string{"a"}, Validity{From: from, For: time.Hour, WarnAfter: time.Minute})
	_, got := read(t, keys, sign(t, keys, issuer, claims))
	want := `{"aud":["a"],"exp":1003600,"iat":1000000,"iss":"https://issuer.test","jti":"` + claims.Public.ID + `",` +
		`"kubernetes.io":{"namespace":"shop","node":{"name":"n"},"pod":{"name":"p","uid":"2"},"serviceaccount":{"name":"robot","uid":"1"},"warnafter":1000060},` +
		`"nbf":1000000,"sub":"system:serviceaccount:shop:robot"}`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	claims = BoundClaims(sa, Binding{Secret: &corev1.Secret{ObjectMeta: named("s", "3")}}, nil, Validity{From: from, For: time.Hour})
	if got := claims.Private.(BoundPrivate).Kubernetes; got.Pod != nil || got.Node != nil || got.WarnAfter != 0 || *got.Secret != (Ref{"s", "3"}) {
		t.Errorf("%+v", got)
	}
}

func TestLegacyClaims(t *testing.T) {
	t.Parallel()
	keys := newKeys(t, ecdsaKey(t, elliptic.P256()))
	claims := LegacyClaims(&corev1.ServiceAccount{ObjectMeta: named("robot", "1")}, &corev1.Secret{ObjectMeta: named("robot-token", "2")})
	_, got := read(t, keys, sign(t, keys, LegacyIssuer, claims))
	want := `{"iss":"kubernetes/serviceaccount","kubernetes.io/serviceaccount/namespace":"shop","kubernetes.io/serviceaccount/secret.name":"robot-token",` +
		`"kubernetes.io/serviceaccount/service-account.name":"robot","kubernetes.io/serviceaccount/service-account.uid":"1","sub":"system:serviceaccount:shop:robot"}`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
