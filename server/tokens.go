package server

import (
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kx-apiserver/kx/server/builtin/core"
	"github.com/kx-apiserver/kx/server/builtin/scheme"
	"github.com/kx-apiserver/kx/server/endpoint"
	"github.com/kx-apiserver/kx/server/handler/responsewriters"
	"github.com/kx-apiserver/kx/server/identity"
	"github.com/kx-apiserver/kx/server/options"
	tokens "github.com/kx-apiserver/kx/server/serviceaccount"
)

// tokenKeys reads the keys for tokens of service accounts. Without a signing key it creates one.
func tokenKeys(o *options.Options, dir *identity.DataDir) (*tokens.Keys, error) {
	signing, err := identity.TokenKey(dir, o.Tokens.SigningKeyFile)
	if err != nil {
		return nil, err
	}
	verifying, err := identity.VerificationKeys(o.Tokens.KeyFiles)
	if err != nil {
		return nil, err
	}
	return tokens.NewKeys(signing, verifying)
}

// makeTokens configures the token subresource of service accounts by the options.
func (c *Config) makeTokens() error {
	o := &c.Options.Tokens
	signer, err := c.TokenKeys.Signer(o.Issuers[0])
	if err != nil {
		return fmt.Errorf("--service-account-signing-key-file: %s: %w", o.SigningKeyFile, err)
	}
	if o.ExtendExpiration && o.MaxExpiration != 0 && o.MaxExpiration < core.ExtendedLifetime {
		c.Logger.Warn("tokens that kubelets ask for live longer than --service-account-max-token-expiration, as "+
			"--service-account-extend-token-expiration says",
			"most", o.MaxExpiration, "theirs", core.ExtendedLifetime)
	}
	if c.secretTokens, err = c.TokenKeys.Signer(tokens.LegacyIssuer); err != nil {
		return fmt.Errorf("--service-account-signing-key-file: %s: %w", o.SigningKeyFile, err)
	}
	c.Tokens = core.Tokens{
		Signer: signer, Audiences: o.Audiences(), MaxLifetime: o.MaxExpiration, Extend: o.ExtendExpiration,
	}
	return nil
}

// discovery returns the paths of the OIDC documents that verifiers of tokens read, and describes them in OpenAPI. An
// issuer that is no https URL has no such documents.
func (c *Config) discovery() (paths []path) {
	o := &c.Options.Tokens
	documents, err := c.TokenKeys.Discovery(o.Issuers[0], c.keySetURI())
	if err != nil {
		c.Logger.Warn("the documents that verify tokens of service accounts are not served", "paths",
			[]string{tokens.ConfigurationPath, tokens.KeySetPath}, "reason", err)
		return nil
	}
	for _, d := range []struct {
		path, mediaType string
		body            []byte
	}{
		{tokens.ConfigurationPath, "application/json", documents.Configuration},
		{tokens.KeySetPath, "application/jwk-set+json", documents.KeySet},
	} {
		handler := serveDocument(d.path, d.mediaType, d.body)
		paths = append(paths, path{d.path, handler}, path{d.path + "/", handler})
	}
	c.OpenAPI.InstallIssuer()
	return paths
}

// keySetURI returns the URI of the public keys: the one of the flag, else one at this server.
func (c *Config) keySetURI() string {
	if uri := c.Options.Tokens.JWKSURI; uri != "" {
		return uri
	}
	host := c.address
	if ip := c.Options.AdvertiseAddress; len(ip) > 0 {
		_, port, _ := net.SplitHostPort(host)
		host = net.JoinHostPort(ip.String(), port)
	}
	return (&url.URL{Scheme: "https", Host: host, Path: tokens.KeySetPath}).String()
}

// serveDocument serves a document that proxies may cache for an hour: the keys in it do not change while the process
// runs.
func serveDocument(at, mediaType string, body []byte) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.TrimSuffix(r.URL.Path, "/") != at:
			endpoint.Fail(http.StatusNotFound, scheme.Codecs, w, r)
		case r.Method != http.MethodGet:
			endpoint.Fail(http.StatusMethodNotAllowed, scheme.Codecs, w, r)
		case !accepts(r, mediaType):
			responsewriters.ErrorNegotiated(&apierrors.StatusError{ErrStatus: metav1.Status{
				Status: metav1.StatusFailure, Code: http.StatusNotAcceptable, Reason: metav1.StatusReasonNotAcceptable,
				Message: "406: Not Acceptable\n\nAvailable representations: " + mediaType, Details: &metav1.StatusDetails{},
			}}, scheme.Codecs, schema.GroupVersion{}, w, r)
		default:
			w.Header().Set("Content-Type", mediaType)
			w.Header().Set("Cache-Control", "public, max-age=3600")
			_, _ = w.Write(body) // the client went away
		}
	})
}

// accepts reports whether the Accept header allows the media type. An absent header allows every type.
func accepts(r *http.Request, mediaType string) bool {
	asked := r.Header.Get("Accept")
	for clause := range strings.SplitSeq(asked, ",") {
		name, _, _ := strings.Cut(clause, ";")
		if name = strings.TrimSpace(name); name == mediaType || name == "*/*" || asked == "" {
			return true
		}
	}
	return false
}
