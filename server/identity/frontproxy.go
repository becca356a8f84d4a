package identity

import (
	"crypto/tls"
	"fmt"
	"sync"
	"time"
)

const (
	// proxyName is that of the files of the front proxy's authority. It is not the authority of clients: who may get a certificate of
	// that one for any name could say to extension API servers that they are anybody.
	proxyName = "front-proxy-ca"

	// ProxyUser is who the certificate of a front proxy names.
	ProxyUser = "front-proxy-client"
)

// FrontProxy is this server as extension API servers see it, which believe it when it says in headers who asks. Its authority is made
// when it is first needed.
type FrontProxy struct {
	dir *DataDir

	mu        sync.Mutex
	authority *Authority
	current   *tls.Certificate
}

// NewFrontProxy makes the one of a directory.
func NewFrontProxy(d *DataDir) *FrontProxy { return &FrontProxy{dir: d} }

// CA returns the certificate, in PEM, by which its certificates are verified.
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

// load is for who holds mu.
func (p *FrontProxy) load() (err error) {
	if p.authority == nil {
		p.authority, err = loadAuthority(p.dir, proxyName, time.Now)
	}
	return err
}
