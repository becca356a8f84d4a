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

// DefaultIssuer is the issuer of clusters that kubeadm makes.
const DefaultIssuer = "https://kubernetes.default.svc.cluster.local"

// Tokens says how tokens of service accounts are made, and by which keys they can be verified.
type Tokens struct {
	SigningKeyFile string
	KeyFiles       []string
	// Issuers: the first makes tokens, and those of all are valid.
	Issuers []string
	// APIAudiences are those of tokens that are for this server, the Issuers if empty.
	APIAudiences []string
	// MaxExpiration bounds what a client may ask for, unless it is 0.
	MaxExpiration    time.Duration
	ExtendExpiration bool
	JWKSURI          string
}

// The bounds of MaxExpiration.
const minMaxExpiration, maxMaxExpiration = time.Hour, time.Duration(1<<32) * time.Second

// Audiences are those of tokens that do not say whom they are for.
func (t *Tokens) Audiences() []string {
	if len(t.APIAudiences) == 0 {
		return t.Issuers
	}
	return t.APIAudiences
}

func (t *Tokens) addFlags(fs *pflag.FlagSet) {
	fs.StringVar(&t.SigningKeyFile, "service-account-signing-key-file", t.SigningKeyFile, "private key in PEM, RSA or ECDSA, that signs tokens of service accounts (default: one made in the data directory)")
	fs.StringArrayVar(&t.KeyFiles, "service-account-key-file", t.KeyFiles, "public or private keys in PEM, RSA or ECDSA, that verify tokens of service accounts, beside the one that signs them; may be given more than once")
	fs.StringArrayVar(&t.Issuers, "service-account-issuer", t.Issuers, "who issues tokens of service accounts, best an https URL; may be given more than once: the first issues tokens, and those of all are valid")
	fs.StringSliceVar(&t.APIAudiences, "api-audiences", t.APIAudiences, "whom tokens are for that say nothing else: names of this API (default: the issuers)")
	fs.DurationVar(&t.MaxExpiration, "service-account-max-token-expiration", t.MaxExpiration, "how long a token of a service account may live at most: an hour or more; 0 for no limit")
	fs.BoolVar(&t.ExtendExpiration, "service-account-extend-token-expiration", t.ExtendExpiration, "let the tokens that kubelets ask for live for a year, whatever --service-account-max-token-expiration says")
	fs.StringVar(&t.JWKSURI, "service-account-jwks-uri", t.JWKSURI, "https URL of the public keys in /.well-known/openid-configuration (default: this server's /openid/v1/jwks)")
}

// validate has the conditions of a kube-apiserver.
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
