package serviceaccount

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"slices"

	"github.com/go-jose/go-jose/v4"
)

// Keys holds the signing key, and all keys whose signatures are valid.
type Keys struct {
	signing   crypto.Signer
	signingID string
	public    []PublicKey
}

// PublicKey verifies tokens with its ID in their header.
type PublicKey struct {
	ID  string
	Key crypto.PublicKey
}

// NewKeys takes the signing key, and keys that verify. The signing key also verifies, and comes first unless it
// is among verifying.
func NewKeys(signing crypto.Signer, verifying []crypto.PublicKey) (*Keys, error) {
	id, err := KeyID(signing.Public())
	if err != nil {
		return nil, err
	}
	k := &Keys{signing: signing, signingID: id}
	for _, key := range verifying {
		id, err := KeyID(key)
		if err != nil {
			return nil, err
		}
		k.public = append(k.public, PublicKey{ID: id, Key: key})
	}
	if !slices.ContainsFunc(k.public, func(p PublicKey) bool { return p.ID == id }) {
		k.public = slices.Insert(k.public, 0, PublicKey{ID: id, Key: signing.Public()})
	}
	return k, nil
}

// Public returns the keys that verify tokens.
func (k *Keys) Public() []PublicKey { return k.public }

// KeyID identifies a public key without revealing it: the base64 of a hash of its PKIX form.
func KeyID(key crypto.PublicKey) (string, error) {
	der, err := x509.MarshalPKIXPublicKey(key)
	if err != nil {
		return "", fmt.Errorf("name a public key: %w", err)
	}
	hash := sha256.Sum256(der)
	return base64.RawURLEncoding.EncodeToString(hash[:]), nil
}

// algorithm returns the signature algorithm of a key. An elliptic curve has one hash that fits its size.
func algorithm(key crypto.PublicKey) (jose.SignatureAlgorithm, error) {
	switch key := key.(type) {
	case *rsa.PublicKey:
		return jose.RS256, nil
	case *ecdsa.PublicKey:
		switch key.Curve {
		case elliptic.P256():
			return jose.ES256, nil
		case elliptic.P384():
			return jose.ES384, nil
		case elliptic.P521():
			return jose.ES512, nil
		}
		return "", fmt.Errorf("the curve %s of an ECDSA key signs no tokens: P-256, P-384 and P-521 do", key.Params().Name)
	}
	return "", fmt.Errorf("a key of the type %T signs no tokens: RSA and ECDSA keys do", key)
}
