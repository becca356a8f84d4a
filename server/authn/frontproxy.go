package authn

import (
	"crypto/x509"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"k8s.io/apiserver/pkg/authentication/authenticator"
	x509request "k8s.io/apiserver/pkg/authentication/request/x509"
	"k8s.io/apiserver/pkg/authentication/user"
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
	names := x509request.StaticStringSlice(p.AllowedNames)
	return x509request.NewDynamicCAVerifier(verify, authenticator.RequestFunc(p.authenticate), names)
}

// authenticate returns the user that the headers of a request name. The certificate of the proxy has been verified.
func (p FrontProxy) authenticate(r *http.Request) (*authenticator.Response, bool, error) {
	name := first(r.Header, p.UsernameHeaders)
	if name == "" {
		return nil, false, nil
	}
	who := &user.DefaultInfo{Name: name, UID: first(r.Header, p.UIDHeaders), Groups: []string{}, Extra: map[string][]string{}}
	for _, header := range p.GroupHeaders {
		for _, group := range r.Header.Values(header) {
			if group != "" {
				who.Groups = append(who.Groups, group)
			}
		}
	}
	for _, prefix := range p.ExtraHeaderPrefixes {
		for header, values := range r.Header {
			if key, ok := CutExtraKey(header, prefix); ok {
				who.Extra[key] = append(who.Extra[key], values...)
			}
		}
	}
	return &authenticator.Response{User: who}, true, nil
}

// first returns the first value of the first header that has one.
func first(h http.Header, names []string) string {
	for _, name := range names {
		if value := h.Get(name); value != "" {
			return value
		}
	}
	return ""
}

// CutExtraKey returns the key of an extra value of a user from the name of a header that begins with prefix. The key
// has no upper case, and escapes for characters that are illegal in names of headers. An invalid escape stays as it is.
func CutExtraKey(header, prefix string) (key string, ok bool) {
	if len(header) < len(prefix) || !strings.EqualFold(header[:len(prefix)], prefix) {
		return "", false
	}
	key = strings.ToLower(header[len(prefix):])
	if plain, err := url.PathUnescape(key); err == nil {
		return plain, true
	}
	return key, true
}

// clear removes the headers that name a user.
func (p FrontProxy) clear(h http.Header) {
	for _, names := range [][]string{p.UsernameHeaders, p.UIDHeaders, p.GroupHeaders} {
		for _, name := range names {
			h.Del(name)
		}
	}
	for _, prefix := range p.ExtraHeaderPrefixes {
		maps.DeleteFunc(h, func(header string, _ []string) bool {
			_, ok := CutExtraKey(header, prefix)
			return ok
		})
	}
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
