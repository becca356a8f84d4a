package options

import (
	"errors"
	"fmt"
	"time"

	"github.com/spf13/pflag"
	cliflag "k8s.io/component-base/cli/flag"

	"github.com/kx-apiserver/kx/server/authn"
	"github.com/kx-apiserver/kx/server/authn/issuer"
)

// Issuers configures the issuers of accepted tokens, besides the server itself.
type Issuers struct {
	// ConfigFile is an AuthenticationConfiguration.
	ConfigFile string
	// OIDC describes one issuer by flags. OIDCGiven is true if any of them is given.
	OIDC      issuer.Flags
	OIDCGiven bool
	// Webhook is consulted about other tokens.
	Webhook authn.Webhook
}

// defaultIssuers returns the defaults of a Kubernetes API server.
func defaultIssuers() Issuers {
	return Issuers{
		OIDC:    issuer.Flags{UsernameClaim: "sub", SigningAlgs: []string{"RS256"}},
		Webhook: authn.Webhook{Version: "v1beta1", CacheTTL: 2 * time.Minute},
	}
}

// Flags returns the issuer of the flags, or nil.
func (i *Issuers) Flags() *issuer.Flags {
	if i.OIDC.IssuerURL == "" {
		return nil
	}
	return &i.OIDC
}

func (i *Issuers) addFlags(fs *pflag.FlagSet) {
	fs.StringVar(&i.ConfigFile, "authentication-config", i.ConfigFile,
		"file with an AuthenticationConfiguration: issuers of JSON Web Tokens, instead of --oidc-*, and what of requests "+
			"without credentials, instead of --anonymous-auth; read again when it changes")
	o := &i.OIDC
	fs.StringVar(&o.IssuerURL, "oidc-issuer-url", o.IssuerURL, "https URL of an OpenID Connect issuer whose JSON Web Tokens are believed")
	fs.StringVar(&o.ClientID, "oidc-client-id", o.ClientID, "audience that its tokens must have")
	fs.StringVar(&o.CAFile, "oidc-ca-file", o.CAFile, "authority of the issuer's certificate (default: those of this machine)")
	fs.StringVar(&o.UsernameClaim, "oidc-username-claim", o.UsernameClaim, "claim with the user's name")
	fs.StringVar(&o.UsernamePrefix, "oidc-username-prefix", o.UsernamePrefix,
		"what names of its users begin with; - for nothing (default: the issuer's URL and #, and nothing for the claim email)")
	fs.StringVar(&o.GroupsClaim, "oidc-groups-claim", o.GroupsClaim, "claim with the user's groups, a text or a list")
	fs.StringVar(&o.GroupsPrefix, "oidc-groups-prefix", o.GroupsPrefix, "what names of its groups begin with")
	fs.StringSliceVar(&o.SigningAlgs, "oidc-signing-algs", o.SigningAlgs,
		"algorithms that its tokens may be signed by: RS256, RS384, RS512, ES256, ES384, ES512, PS256, PS384, PS512")
	fs.Var(cliflag.NewMapStringStringNoSplit(&o.RequiredClaims), "oidc-required-claim",
		"claim=value that its tokens must have; may be given more than once")
	for _, name := range []string{
		"issuer-url", "client-id", "ca-file", "username-claim", "username-prefix", "groups-claim", "groups-prefix",
		"signing-algs", "required-claim",
	} {
		track(fs, "oidc-"+name, &i.OIDCGiven)
	}
	w := &i.Webhook
	fs.StringVar(&w.File, "authentication-token-webhook-config-file", w.File,
		"kubeconfig that reaches a webhook which is asked about tokens that nobody else knows")
	fs.StringVar(&w.Version, "authentication-token-webhook-version", w.Version, "version of the TokenReviews that it gets: v1 or v1beta1")
	fs.DurationVar(&w.CacheTTL, "authentication-token-webhook-cache-ttl", w.CacheTTL,
		"how long it is not asked again about the same token; 0 to ask every time")
}

// track notes that a flag was given, whatever its value.
func track(fs *pflag.FlagSet, name string, given *bool) {
	f := fs.Lookup(name)
	f.Value = cliflag.NewTracker(f.Value, given)
}

// validate checks the same conditions as a kube-apiserver.
func (i *Issuers) validate() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	switch {
	case i.ConfigFile != "" && i.OIDCGiven:
		bad("--authentication-config and --oidc-* exclude each other: leave out --oidc-*")
	case i.OIDCGiven && (i.OIDC.IssuerURL == "" || i.OIDC.ClientID == ""):
		bad("--oidc-*: --oidc-issuer-url and --oidc-client-id go together, and have to be there with any of these flags")
	}
	if i.Webhook.Version != "v1" && i.Webhook.Version != "v1beta1" {
		bad("--authentication-token-webhook-version: %q is neither v1 nor v1beta1", i.Webhook.Version)
	}
	if i.Webhook.CacheTTL < 0 {
		bad("--authentication-token-webhook-cache-ttl: %v can't be negative: give 0 to ask every time", i.Webhook.CacheTTL)
	}
	return errors.Join(errs...)
}
