package authn

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"k8s.io/apiserver/pkg/authentication/authenticator"
	"k8s.io/apiserver/pkg/authentication/user"
)

// TestOnceAConnection counts how often a certificate is verified.
func TestOnceAConnection(t *testing.T) {
	asked, broken := 0, false
	a := onceAConnection(authenticator.RequestFunc(func(*http.Request) (*authenticator.Response, bool, error) {
		asked++
		if broken {
			return nil, false, errors.New("bad certificate")
		}
		return &authenticator.Response{User: &user.DefaultInfo{Name: "u"}}, true, nil
	}))
	request := func(certificate bool) *http.Request {
		r := httptest.NewRequest("GET", "/", nil)
		if certificate {
			r.TLS = &tls.ConnectionState{PeerCertificates: []*x509.Certificate{{}}}
		}
		return r
	}
	first, second := request(true), request(true)
	first = first.WithContext(ConnContext(first.Context(), nil))
	second = second.WithContext(ConnContext(second.Context(), nil))
	for i, step := range []struct {
		r      *http.Request
		broken bool
		asked  int
		ok     bool
	}{
		{r: first, asked: 1, ok: true},
		{r: first, asked: 1, ok: true},
		{r: first, asked: 1, ok: true, broken: true},
		{r: second, asked: 2, broken: true},
		{r: second, asked: 3, broken: true},
		{r: second, asked: 4, ok: true},
		{r: second, asked: 4, ok: true},
		{r: request(true), asked: 5, ok: true},
		{r: request(true), asked: 6, ok: true},
		{r: request(false), asked: 7, ok: true},
	} {
		broken = step.broken
		_, ok, err := a.AuthenticateRequest(step.r)
		if asked != step.asked || ok != step.ok || (err == nil) != step.ok {
			t.Errorf("step %d: asked %d times, ok %v, %v; want %+v", i, asked, ok, err, step)
		}
	}
}
