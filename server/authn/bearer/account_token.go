package bearer

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apiserver/pkg/audit"
	"k8s.io/apiserver/pkg/authentication/authenticator"
	accounts "k8s.io/apiserver/pkg/authentication/serviceaccount"

	"github.com/kx-apiserver/kx/server/serviceaccount"
)

// AccountConfig holds the conditions of a valid token.
type AccountConfig struct {
	Keys *serviceaccount.Keys
	// Issuers are this cluster's, apart from the issuer of tokens in secrets.
	Issuers []string
	// Audiences identify this API.
	Audiences authenticator.Audiences
	Objects   *Reader
}

// BoundTokens returns an authenticator of the tokens that serviceaccounts/token issues.
func BoundTokens(c AccountConfig) authenticator.Token {
	return &tokens[boundClaims]{AccountConfig: c, check: boundAccount}
}

// LegacyTokens returns an authenticator of the tokens that secrets hold.
func LegacyTokens(c AccountConfig) authenticator.Token {
	c.Issuers = []string{serviceaccount.LegacyIssuer}
	return &tokens[serviceaccount.LegacyPrivate]{AccountConfig: c, check: legacyAccount}
}

// algorithms are the algorithms of all keys that sign tokens of service accounts. All of them are asymmetric.
var algorithms = []jose.SignatureAlgorithm{
	jose.RS256, jose.RS384, jose.RS512, jose.PS256, jose.PS384, jose.PS512, jose.ES256, jose.ES384, jose.ES512,
}

// tokens authenticates one kind of token, whose claims are C.
type tokens[C any] struct {
	AccountConfig
	// check returns the account of a token, if all objects that the token depends on still exist.
	check func(ctx context.Context, o *Reader, token string, public *jwt.Claims, private *C) (*accounts.ServiceAccountInfo, error)
}

// AuthenticateToken has no opinion of tokens from other issuers.
func (t *tokens[C]) AuthenticateToken(ctx context.Context, token string) (*authenticator.Response, bool, error) {
	if !issuedBy(token, t.Issuers) {
		return nil, false, nil
	}
	parsed, err := jwt.ParseSigned(token, algorithms)
	if err != nil {
		return nil, false, nil // the next authenticator may know it
	}
	public, private := &jwt.Claims{}, new(C)
	if err := t.verify(parsed, public, private); err != nil {
		return nil, false, err
	}
	audiences, err := t.audiences(ctx, public)
	if err != nil {
		return nil, false, err
	}
	info, err := t.check(ctx, t.Objects, token, public, private)
	if err != nil {
		return nil, false, err
	}
	return &authenticator.Response{User: info.UserInfo(), Audiences: audiences}, true, nil
}

// verify checks the signature by the key that the token's header names, or by every key if it names none, and decodes
// the claims.
func (t *tokens[C]) verify(parsed *jwt.JSONWebToken, public *jwt.Claims, private *C) error {
	id := ""
	for _, header := range parsed.Headers {
		if id = header.KeyID; id != "" {
			break
		}
	}
	var errs []error
	for _, key := range t.Keys.Public() {
		if id != "" && id != key.ID {
			continue
		}
		err := parsed.Claims(key.Key, public, private)
		if err == nil {
			return nil
		}
		errs = append(errs, err)
	}
	if len(errs) == 0 {
		return errors.New("invalid signature, no keys found")
	}
	return utilerrors.NewAggregate(errs)
}

// audiences returns the audiences that the token and the request have in common. A token without audiences is for this
// API.
func (t *tokens[C]) audiences(ctx context.Context, public *jwt.Claims) (authenticator.Audiences, error) {
	of := authenticator.Audiences(public.Audience)
	if len(of) == 0 {
		audit.AddAuditAnnotation(ctx, "authentication.k8s.io/legacy-token", public.Subject)
		of = t.Audiences
	}
	wanted, ok := authenticator.AudiencesFrom(ctx)
	if !ok {
		wanted = t.Audiences
	}
	both := of.Intersect(wanted)
	if len(both) == 0 {
		return nil, fmt.Errorf("token audiences %q is invalid for the target audiences %q", of, wanted)
	}
	return both, nil
}

// issuedBy reports whether the token claims to be from one of the issuers. The signature of any other token can't be
// checked, because other issuers have their own keys.
func issuedBy(token string, issuers []string) bool {
	parts := strings.SplitN(token, ".", 4) // a client without credentials may send a megabyte of dots
	if len(parts) != 3 {
		return false
	}
	payload, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return false
	}
	var claims struct {
		Issuer string `json:"iss"`
	}
	if json.Unmarshal(payload, &claims) != nil {
		return false
	}
	return slices.Contains(issuers, claims.Issuer)
}
