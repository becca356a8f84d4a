package authn

import (
	"context"
	"net"
	"net/http"
	"sync/atomic"
	"time"

	"k8s.io/apiserver/pkg/authentication/authenticator"
)

// verifiedFor is the time after which a connection's certificate is verified again: long enough to cost nothing, short
// enough to notice that it has expired.
const verifiedFor = time.Minute

type connectionKey struct{}

// verification is the user of a connection's certificate at its last verification.
type verification struct {
	response *authenticator.Response
	until    time.Time
}

// ConnContext is an http.Server's ConnContext: it gives each connection a place to cache its user. The certificate is
// the same for the whole connection, and verifying it costs as much as half a GET.
func ConnContext(ctx context.Context, _ net.Conn) context.Context {
	return context.WithValue(ctx, connectionKey{}, &atomic.Pointer[verification]{})
}

// onceAConnection caches the answer of next for the certificate of each connection.
func onceAConnection(next authenticator.Request) authenticator.Request {
	return authenticator.RequestFunc(func(r *http.Request) (*authenticator.Response, bool, error) {
		place, ok := r.Context().Value(connectionKey{}).(*atomic.Pointer[verification])
		if !ok || r.TLS == nil || len(r.TLS.PeerCertificates) == 0 {
			return next.AuthenticateRequest(r)
		}
		now := time.Now()
		if v := place.Load(); v != nil && now.Before(v.until) {
			return v.response, true, nil
		}
		response, ok, err := next.AuthenticateRequest(r)
		if ok && err == nil {
			place.Store(&verification{response: response, until: now.Add(verifiedFor)})
		}
		return response, ok, err
	})
}
