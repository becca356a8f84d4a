package webhook

import (
	"crypto/tls"
	"crypto/x509"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"syscall"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/core/trace"
)

// outage is a server that is down because a fault says so. Its errors are those that Go's transport has of a server
// that really is, so that clients and logs can't tell them apart.
type outage struct {
	trace.Outage
	next http.RoundTripper
}

func (d outage) RoundTrip(req *http.Request) (*http.Response, error) {
	if d.How == string(v1alpha1.OutageSilent) {
		select {
		case <-req.Context().Done():
		case <-d.Over: // it answers after all
			return d.next.RoundTrip(req)
		}
	}
	if req.Body != nil {
		_ = req.Body.Close() // it is not read
	}
	switch v1alpha1.Outage(d.How) {
	case v1alpha1.OutageSilent:
		return nil, req.Context().Err()
	case v1alpha1.OutageError:
		return &http.Response{
			Status: "500 Internal Server Error", StatusCode: http.StatusInternalServerError,
			Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
			Header: http.Header{}, Body: io.NopCloser(strings.NewReader("")), Request: req,
		}, nil
	case v1alpha1.OutageCertificate:
		return nil, &tls.CertificateVerificationError{Err: x509.UnknownAuthorityError{}}
	default: // OutageRefused
		refused := os.NewSyscallError("connect", syscall.ECONNREFUSED)
		return nil, &net.OpError{Op: "dial", Net: "tcp", Addr: address(req.URL.Host), Err: refused}
	}
}

// address is where a server would be, if it could be found.
type address string

func (address) Network() string  { return "tcp" }
func (a address) String() string { return string(a) }
