package options

import (
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"
)

// DefaultIssuer is the issuer in clusters of kubeadm.
const DefaultIssuer = "https://kubernetes.default.svc.cluster.local"

// Tokens configures how tokens of service accounts are issued and verified.
type Tokens struct {
	SigningKeyFile string
	KeyFiles       []string
	// Issuers are the valid issuers. The first one issues the tokens.
	Issuers []string
	// APIAudiences are the audiences of tokens for this server; if empty, the Issuers.
	APIAudiences []string
	// MaxExpiration limits the lifetime that a client may request; 0 is no limit.
	MaxExpiration    time.Duration
	ExtendExpiration bool
	JWKSURI          string
}

// The limits of MaxExpiration.
const minMaxExpiration, maxMaxExpiration = time.Hour, time.Duration(1<<32) * time.Second

// Audiences returns the audiences of a token that names none.
func (t *Tokens) Audiences() []string {
	if len(t.APIAudiences) == 0 {
		return t.Issuers
	}
	return t.APIAudiences
}

func (t *Tokens) addFlags(fs *pflag.FlagSet) {
	fs.StringVar(&t.SigningKeyFile, "service-account-signing-key-file", t.SigningKeyFile,
		"private key in PEM, RSA or ECDSA, that signs tokens of service accounts (default: one made in the data directory)")
	fs.StringArrayVar(&t.KeyFiles, "service-account-key-file", t.KeyFiles,
		"public or private keys in PEM, RSA or ECDSA, that verify tokens of service accounts, beside the one that signs "+
			"them; may be given more than once")
	fs.StringArrayVar(&t.Issuers, "service-account-issuer", t.Issuers,
		"who issues tokens of service accounts, best an https URL; may be given more than once: the first issues tokens, "+
			"and those of all are valid")
	fs.StringSliceVar(&t.APIAudiences, "api-audiences", t.APIAudiences,
		"whom tokens are for that say nothing else: names of this API (default: the issuers)")
	fs.DurationVar(&t.MaxExpiration, "service-account-max-token-expiration", t.MaxExpiration,
		"how long a token of a service account may live at most: an hour or more; 0 for no limit")
	fs.BoolVar(&t.ExtendExpiration, "service-account-extend-token-expiration", t.ExtendExpiration,
		"let the tokens that kubelets ask for live for a year, whatever --service-account-max-token-expiration says")
	fs.StringVar(&t.JWKSURI, "service-account-jwks-uri", t.JWKSURI,
		"https URL of the public keys in /.well-known/openid-configuration (default: this server's /openid/v1/jwks)")
}

// validate checks the same conditions as a kube-apiserver.
func (t *Tokens) validate() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if len(t.Issuers) == 0 {
		bad("--service-account-issuer: tokens need an issuer")
	}
	for i, issuer := range t.Issuers {
		_, err := url.Parse(issuer)
		switch {
		case issuer == "":
			bad("--service-account-issuer: an issuer can't be empty")
		case strings.Contains(issuer, ":") && err != nil:
			bad("--service-account-issuer: %q has a colon and is not a URL: %w", issuer, err)
		case slices.Contains(t.Issuers[:i], issuer):
			bad("--service-account-issuer: %q is given twice", issuer)
		}
	}
	if t.MaxExpiration != 0 && (t.MaxExpiration < minMaxExpiration || t.MaxExpiration > maxMaxExpiration) {
		bad("--service-account-max-token-expiration: %v is not between 1 hour and 2^32 seconds", t.MaxExpiration)
	}
	if t.JWKSURI != "" {
		if u, err := url.Parse(t.JWKSURI); err != nil {
			bad("--service-account-jwks-uri: %w", err)
		} else if u.Scheme != "https" {
			bad("--service-account-jwks-uri: %q is not an https URL", t.JWKSURI)
		}
	}
	return errors.Join(errs...)
}
