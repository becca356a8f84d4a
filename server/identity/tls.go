package identity

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/kx-apiserver/kx/server/metrics"
	"github.com/kx-apiserver/kx/server/reload"
)

// Files names files with keys and certificates that kx did not make. Each name may be empty.
type Files struct {
	TLSCert, TLSKey string
	ClientCA        string
	// RequestHeaderCA has the authorities of proxies that name users in headers. Their certificates identify no users.
	RequestHeaderCA string
	// EtcdCert and EtcdCA are read only to know when they end.
	EtcdCert, EtcdCA string
}

// TLS holds a server's serving certificate and the authorities that it accepts. Keep renews the certificates that the
// directory's authority signed, and Reload takes over what changes in given files.
type TLS struct {
	Config *tls.Config
	// Metrics (optional) record the ends of certificates.
	Metrics *metrics.Metrics

	requestHeaderCAs *x509.CertPool
	// requestHeaderCA is the PEM of requestHeaderCAs.
	requestHeaderCA []byte

	log   *slog.Logger
	now   func() time.Time
	hosts []string
	files Files
	// keepers have an entry for each file that Reload reads.
	keepers []*reload.Keeper
	// changed replaces Config for new connections once a file has changed.
	changed atomic.Pointer[tls.Config]
	serving atomic.Pointer[tls.Certificate]
	// ownServing is true if the directory's authority signed the serving certificate.
	ownServing bool
	clientCAs  atomic.Pointer[x509.CertPool]

	// mu guards the fields below it.
	mu        sync.Mutex
	authority *Authority
	given     []fileCertificate
	serverCA  []byte
	// renewedCA closes when serverCA changes, and is replaced then.
	renewedCA chan struct{}
	// clientCA is the PEM of the authorities in --client-ca-file.
	clientCA   []byte
	kubeconfig struct {
		file, server string
		cert         *x509.Certificate
		// stale is true if the file could not be written after a change.
		stale bool
	}
	warned time.Time
}

// NewTLS makes the server's TLS configuration from files, and from the directory's own authority in place of missing
// files. The directory's authority is always accepted, since it signed the administrator's certificate.
func NewTLS(a *Authority, files Files, hosts []string, log *slog.Logger) (*TLS, error) {
	t := &TLS{log: log, now: a.now, hosts: hosts, files: files, authority: a, serverCA: a.CertPEM(), renewedCA: make(chan struct{})}
	t.believe(a)
	if files.ClientCA != "" {
		if err := t.load("the authorities of client certificates", reload.OneFile(files.ClientCA), t.takeClientCA); err != nil {
			return nil, fmt.Errorf("read --client-ca-file: %w", err)
		}
	}
	if files.RequestHeaderCA != "" {
		if err := t.readRequestHeaderCA(files.RequestHeaderCA); err != nil {
			return nil, err
		}
	}
	if a.renewed {
		t.tellRenewal("authority", a.cert, nil)
	}
	if err := t.serve(a, files); err != nil {
		return nil, err
	}
	t.given = files.certificates(a)
	t.Config = &tls.Config{
		GetCertificate: t.certificate,
		// The authenticator verifies certificates, so that a bad one is a 401 and not a broken connection.
		ClientAuth: tls.RequestClientCert,
		// Clients send a certificate only if one of these has signed it.
		ClientCAs:  t.hint(),
		MinVersion: tls.VersionTLS12,
		NextProtos: []string{"h2", "http/1.1"},
		GetConfigForClient: func(*tls.ClientHelloInfo) (*tls.Config, error) {
			return t.changed.Load(), nil
		},
	}
	return t, nil
}

// ClientCAs returns the authorities whose client certificates are accepted now.
func (t *TLS) ClientCAs() *x509.CertPool { return t.clientCAs.Load() }

// RequestHeaderCAs returns the authorities of proxies that name users in headers, nil for none.
func (t *TLS) RequestHeaderCAs() *x509.CertPool { return t.requestHeaderCAs }

// ClientCAsPEM returns the authorities of ClientCAs in PEM.
func (t *TLS) ClientCAsPEM() []byte {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Concat(t.authority.CertPEM(), t.clientCA)
}

// SignClient signs a client certificate. This server accepts it as long as it is valid.
func (t *TLS) SignClient(template *x509.Certificate, public any) (certPEM []byte, err error) {
	t.mu.Lock()
	authority := t.authority
	t.mu.Unlock()
	return authority.Sign(template, public)
}

// ServerCAPEM returns the certificates by which clients verify the server: its authority's, or those of the given file,
// which may hold its own authority or a chain. renewed closes when they change.
func (t *TLS) ServerCAPEM() (pem []byte, renewed <-chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.serverCA, t.renewedCA
}

func (t *TLS) believe(a *Authority) {
	pool := x509.NewCertPool()
	pool.AddCert(a.cert)
	pool.AppendCertsFromPEM(t.clientCA)
	t.clientCAs.Store(pool)
}

// serve reads the given serving certificate, or makes one.
func (t *TLS) serve(a *Authority, files Files) error {
	if files.TLSCert == "" && files.TLSKey == "" {
		t.ownServing = true
		return t.serveOwn(a)
	}
	source := reload.Pair(files.TLSCert, files.TLSKey)
	if err := t.load("the serving certificate and its key", source, t.takeServing); err != nil {
		return fmt.Errorf("read --tls-cert-file and --tls-private-key-file (both are needed): %w", err)
	}
	return nil
}

func (t *TLS) serveOwn(a *Authority) error {
	cert, err := a.ServingCert(t.hosts)
	if err != nil {
		return err
	}
	t.serving.Store(&cert)
	return nil
}

// certificate returns the serving certificate for a connection. It renews one that a jump of the clock has made
// invalid.
func (t *TLS) certificate(*tls.ClientHelloInfo) (*tls.Certificate, error) {
	if cert := t.serving.Load(); !t.ownServing || !ends(cert.Leaf, t.now(), 0) {
		return cert, nil
	}
	t.renew()
	return t.serving.Load(), nil
}
