package identity

import (
	"crypto/tls"
	"fmt"
	"sync"
	"time"
)

const (
	// proxyName is the base name of the files of the front proxy's authority. It differs from the authority of clients:
	// otherwise a user who may get a client certificate for any name could impersonate all users to extension API
	// servers.
	proxyName = "front-proxy-ca"

	// ProxyUser is the name in the certificate of a front proxy.
	ProxyUser = "front-proxy-client"
)

// FrontProxy holds the certificate by which extension API servers trust this server's headers about users. Its
// authority is made when it is first needed. mu guards authority and current.
type FrontProxy struct {
	dir *DataDir

	mu        sync.Mutex
	authority *Authority
	current   *tls.Certificate
}

// NewFrontProxy returns the front proxy of a directory.
func NewFrontProxy(d *DataDir) *FrontProxy { return &FrontProxy{dir: d} }

// CA returns the certificate, in PEM, that verifies its certificates.
func (p *FrontProxy) CA() ([]byte, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.load(); err != nil {
		return nil, err
	}
	return p.authority.CertPEM(), nil
}

// Certificate returns its client certificate, or a new one if that is about to end.
func (p *FrontProxy) Certificate() (*tls.Certificate, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.load(); err != nil {
		return nil, err
	}
	if p.current != nil && !ends(p.current.Leaf, p.authority.now(), renewBefore) {
		return p.current, nil
	}
	certPEM, keyPEM, err := p.authority.ClientCert(ProxyUser)
	if err != nil {
		return nil, fmt.Errorf("make the certificate of the front proxy: %w", err)
	}
	pair, err := tls.X509KeyPair(certPEM, keyPEM)
	if err != nil {
		return nil, fmt.Errorf("make the certificate of the front proxy: %w", err)
	}
	p.current = &pair
	return p.current, nil
}

// load loads the authority. The caller holds mu.
func (p *FrontProxy) load() (err error) {
	if p.authority == nil {
		p.authority, err = loadAuthority(p.dir, proxyName, time.Now)
	}
	return err
}
