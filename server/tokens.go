package server

import (
	"net"
	"net/http"
	"net/url"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kx-apiserver/kx/server/builtin/scheme"
	"github.com/kx-apiserver/kx/server/endpoint"
	"github.com/kx-apiserver/kx/server/handler/responsewriters"
	"github.com/kx-apiserver/kx/server/options"
	"github.com/kx-apiserver/kx/server/serviceaccount"
)

// issuer returns the paths of the OIDC documents that verifiers of tokens read, and describes them in OpenAPI. An
// issuer that is no https URL has no such documents.
func (s *Server) issuer() (paths []path) {
	documents, err := s.authentication.keys.Discovery(s.options.Tokens.Issuers[0], keySetURI(s.options, s.home.address))
	if err != nil {
		s.log.Warn("the documents that verify tokens of service accounts are not served", "paths",
			[]string{serviceaccount.ConfigurationPath, serviceaccount.KeySetPath}, "reason", err)
		return nil
	}
	for _, d := range []struct {
		path, mediaType string
		body            []byte
	}{
		{serviceaccount.ConfigurationPath, "application/json", documents.Configuration},
		{serviceaccount.KeySetPath, "application/jwk-set+json", documents.KeySet},
	} {
		handler := serveDocument(d.path, d.mediaType, d.body)
		paths = append(paths, path{d.path, handler}, path{d.path + "/", handler})
	}
	s.chain.openAPI.InstallIssuer()
	return paths
}

// keySetURI returns the URI of the public keys: the one of the flag, else one at this server.
func keySetURI(o *options.Options, host string) string {
	if uri := o.Tokens.JWKSURI; uri != "" {
		return uri
	}
	if ip := o.AdvertiseAddress; len(ip) > 0 {
		_, port, _ := net.SplitHostPort(host)
		host = net.JoinHostPort(ip.String(), port)
	}
	return (&url.URL{Scheme: "https", Host: host, Path: serviceaccount.KeySetPath}).String()
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
