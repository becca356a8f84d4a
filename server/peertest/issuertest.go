package peertest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"encoding/json"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
)

// Issuer signs tokens by ES256, and serves the documents by which they are verified over TLS, at URL.
type Issuer struct {
	URL string
	// CA is its authority in PEM.
	CA  string
	key *ecdsa.PrivateKey
	// away says that it answers nothing but 503.
	away atomic.Bool
}

// NewIssuer starts an issuer.
func NewIssuer(t testing.TB) *Issuer {
	t.Helper()
	i := &Issuer{}
	var err error
	if i.key, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
		t.Fatal(err)
	}
	server := httptest.NewTLSServer(http.HandlerFunc(i.serve))
	t.Cleanup(server.Close)
	i.URL = server.URL
	i.CA = string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}))
	return i
}

// Leave has it answer 503 from now on.
func (i *Issuer) Leave() { i.away.Store(true) }

func (i *Issuer) serve(w http.ResponseWriter, r *http.Request) {
	if i.away.Load() {
		http.Error(w, "closed", http.StatusServiceUnavailable)
		return
	}
	var document any
	switch r.URL.Path {
	case "/.well-known/openid-configuration":
		document = map[string]any{
			"issuer": i.URL, "jwks_uri": i.URL + "/keys", "authorization_endpoint": i.URL + "/", "token_endpoint": i.URL + "/",
			"id_token_signing_alg_values_supported": []string{"ES256"},
		}
	case "/keys":
		document = jose.JSONWebKeySet{Keys: []jose.JSONWebKey{{Key: i.key.Public(), KeyID: "one", Algorithm: "ES256", Use: "sig"}}}
	default:
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(document) // whoever asks sees that it is cut
}

// Token signs the claims, and beside them those of a good token for the audience kx: iss, aud, sub, iat and exp. A
// claim that is nil is left out.
func (i *Issuer) Token(t testing.TB, claims map[string]any) string {
	t.Helper()
	all := map[string]any{"iss": i.URL, "aud": "kx", "sub": "ann", "iat": time.Now().Unix(), "exp": time.Now().Add(time.Hour).Unix()}
	for name, value := range claims {
		if all[name] = value; value == nil {
			delete(all, name)
		}
	}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: jose.ES256, Key: jose.JSONWebKey{Key: i.key, KeyID: "one"}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	token, err := jwt.Signed(signer).Claims(all).Serialize()
	if err != nil {
		t.Fatal(err)
	}
	return token
}
