package serviceaccount

import (
	"context"
	"fmt"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"

	"github.com/kx-apiserver/kx/core/steps"
	"github.com/kx-apiserver/kx/core/trace"
)

// LegacyIssuer is the issuer of tokens in Secrets.
const LegacyIssuer = "kubernetes/serviceaccount"

// Signer signs tokens with one key, for one issuer.
type Signer struct {
	issuer, keyID string
	jose          jose.Signer
}

// Signer returns a signer for an issuer.
func (k *Keys) Signer(issuer string) (*Signer, error) {
	alg, err := algorithm(k.signing.Public())
	if err != nil {
		return nil, err
	}
	key := &jose.JSONWebKey{Key: k.signing, KeyID: k.signingID, Algorithm: string(alg), Use: "sig"}
	signer, err := jose.NewSigner(jose.SigningKey{Algorithm: alg, Key: key}, nil)
	if err != nil {
		return nil, fmt.Errorf("sign with the key %s: %w", k.signingID, err)
	}
	return &Signer{issuer: issuer, keyID: k.signingID, jose: signer}, nil
}

var (
	tokenSigned = trace.Because("token-signed",
		"signed with the key {key:word}: the token ends {seconds} s after it was made",
		"用密钥 {key:word} 签名：令牌在生成 {seconds} 秒后到期")
	tokenEndless = trace.Because("token-endless",
		"signed with the key {key:word}: the token has no end",
		"用密钥 {key:word} 签名：令牌不会到期")
)

// Sign returns a token with the claims and the issuer.
func (s *Signer) Sign(ctx context.Context, claims Claims) (token string, err error) {
	public := claims.Public
	_, step := trace.Start(ctx, steps.TokenSign, public.Subject)
	defer step.End(&err)
	if public.Expiry == 0 {
		step.WhyText(tokenEndless, s.keyID)
	} else {
		step.WhyText(tokenSigned, s.keyID, public.Expiry-public.IssuedAt)
	}
	step.TextList("audience", public.Audience)
	public.Issuer = s.issuer
	token, err = jwt.Signed(s.jose).Claims(claims.Private).Claims(public).Serialize()
	if err != nil {
		return "", fmt.Errorf("sign a token of %s: %w", public.Subject, err)
	}
	return token, nil
}
