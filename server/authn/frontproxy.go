package authn

import (
	"crypto/x509"
	"net/http"
	"slices"

	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/request/headerrequest"
	x509request "k8s.io/apiserver/pkg/authentication/request/x509"
)

// FrontProxy is a proxy in front of the server that authenticates users.
type FrontProxy struct {
	// CAs are the authorities of its certificate, nil for no proxy.
	CAs *x509.CertPool
	// AllowedNames are the common names of its certificate, empty for any.
	AllowedNames []string

	UsernameHeaders, UIDHeaders, GroupHeaders, ExtraHeaderPrefixes []string
}

func (p FrontProxy) authenticator() authenticator.Request {
	verify := func() (x509.VerifyOptions, bool) {
		o := x509request.DefaultVerifyOptions()
		o.Roots = p.CAs
		return o, true
	}
	return headerrequest.NewDynamicVerifyOptionsSecure(verify,
		headerrequest.StaticStringSlice(p.AllowedNames), headerrequest.StaticStringSlice(p.UsernameHeaders),
		headerrequest.StaticStringSlice(p.UIDHeaders), headerrequest.StaticStringSlice(p.GroupHeaders),
		headerrequest.StaticStringSlice(p.ExtraHeaderPrefixes))
}

// headers returns the headers of the flags plus the standard ones, by which API servers behind this one identify users.
func (p FrontProxy) headers() FrontProxy {
	return FrontProxy{
		UsernameHeaders:     append(slices.Clone(p.UsernameHeaders), "X-Remote-User"),
		UIDHeaders:          append(slices.Clone(p.UIDHeaders), "X-Remote-Uid"),
		GroupHeaders:        append(slices.Clone(p.GroupHeaders), "X-Remote-Group"),
		ExtraHeaderPrefixes: append(slices.Clone(p.ExtraHeaderPrefixes), "X-Remote-Extra-"),
	}
}

func (a *Authenticator) clear(h http.Header) {
	headerrequest.ClearAuthenticationHeaders(h, headerrequest.StaticStringSlice(a.proxy.UsernameHeaders),
		headerrequest.StaticStringSlice(a.proxy.UIDHeaders), headerrequest.StaticStringSlice(a.proxy.GroupHeaders),
		headerrequest.StaticStringSlice(a.proxy.ExtraHeaderPrefixes))
}
