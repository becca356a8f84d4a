package identity

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io/fs"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

// Authority signs certificates.
type Authority struct {
	cert    *x509.Certificate
	key     *ecdsa.PrivateKey
	certPEM []byte
}

const (
	authorityYears = 10
	leafYears      = 1
	// clockSkew is how far behind a client's clock may be.
	clockSkew = 5 * time.Minute
)

// LoadAuthority reads the directory's authority, or makes it on the first start.
func LoadAuthority(d *DataDir) (*Authority, error) {
	certFile, keyFile := d.File("ca.crt"), d.File("ca.key")
	certPEM, certErr := os.ReadFile(certFile)
	keyPEM, keyErr := os.ReadFile(keyFile)
	// A key without its certificate is what a first start left that was cut short: nothing was ever signed with it.
	if errors.Is(certErr, fs.ErrNotExist) && (keyErr == nil || errors.Is(keyErr, fs.ErrNotExist)) {
		return makeAuthority(certFile, keyFile)
	}
	if err := errors.Join(certErr, keyErr); err != nil {
		return nil, fmt.Errorf("read the certificate authority: %w; remove both %s and %s to have a new one made", err, certFile, keyFile)
	}
	pair, err := tls.X509KeyPair(certPEM, keyPEM)
	if err != nil {
		return nil, fmt.Errorf("read the certificate authority in %s and %s: %w; remove both to have a new one made", certFile, keyFile, err)
	}
	key, ok := pair.PrivateKey.(*ecdsa.PrivateKey)
	if !ok {
		return nil, fmt.Errorf("the key in %s is a %T, not an ECDSA key: remove it and %s to have new ones made", keyFile, pair.PrivateKey, certFile)
	}
	return &Authority{cert: pair.Leaf, key: key, certPEM: certPEM}, nil
}

func makeAuthority(certFile, keyFile string) (*Authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make the authority's key: %w", err)
	}
	template := &x509.Certificate{
		Subject:               pkix.Name{CommonName: "kx-ca"},
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
		IsCA:                  true,
		BasicConstraintsValid: true,
	}
	der, err := sign(template, template, &key.PublicKey, key, authorityYears)
	if err != nil {
		return nil, fmt.Errorf("make the authority's certificate: %w", err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, err
	}
	certPEM, keyPEM, err := encode(der, key)
	if err != nil {
		return nil, err
	}
	if err := writeFile(keyFile, keyPEM, 0o600); err != nil {
		return nil, fmt.Errorf("keep the authority's key: %w", err)
	}
	if err := writeFile(certFile, certPEM, 0o644); err != nil {
		return nil, fmt.Errorf("keep the authority's certificate: %w", err)
	}
	if err := syncDir(filepath.Dir(certFile)); err != nil {
		return nil, fmt.Errorf("keep the authority: %w", err)
	}
	return &Authority{cert: cert, key: key, certPEM: certPEM}, nil
}

// CertPEM is the authority's certificate.
func (a *Authority) CertPEM() []byte { return a.certPEM }

// ServingCert makes a certificate for a server at these hosts and the names that every API server has. It is made anew
// at each start, and kept nowhere.
func (a *Authority) ServingCert(hosts []string) (tls.Certificate, error) {
	template := &x509.Certificate{
		Subject:     pkix.Name{CommonName: "kx"},
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		DNSNames:    []string{"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local"},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback},
	}
	if name, err := os.Hostname(); err == nil {
		template.DNSNames = append(template.DNSNames, name)
	}
	for _, h := range hosts {
		if ip := net.ParseIP(h); ip != nil {
			template.IPAddresses = append(template.IPAddresses, ip)
		} else if h != "" {
			template.DNSNames = append(template.DNSNames, h)
		}
	}
	certPEM, keyPEM, err := a.issue(template)
	if err != nil {
		return tls.Certificate{}, fmt.Errorf("make the serving certificate: %w", err)
	}
	return tls.X509KeyPair(append(certPEM, a.certPEM...), keyPEM)
}

// ClientCert makes a certificate that names a user and their groups.
func (a *Authority) ClientCert(user string, groups ...string) (certPEM, keyPEM []byte, err error) {
	return a.issue(&x509.Certificate{
		Subject:     pkix.Name{CommonName: user, Organization: groups},
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	})
}

func (a *Authority) issue(template *x509.Certificate) (certPEM, keyPEM []byte, err error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	der, err := sign(template, a.cert, &key.PublicKey, a.key, leafYears)
	if err != nil {
		return nil, nil, err
	}
	return encode(der, key)
}

func sign(template, parent *x509.Certificate, public *ecdsa.PublicKey, by *ecdsa.PrivateKey, years int) ([]byte, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
	if err != nil {
		return nil, err
	}
	template.SerialNumber = serial
	template.NotBefore = time.Now().Add(-clockSkew)
	template.NotAfter = template.NotBefore.AddDate(years, 0, 0)
	return x509.CreateCertificate(rand.Reader, template, parent, public, by)
}

func encode(der []byte, key *ecdsa.PrivateKey) (certPEM, keyPEM []byte, err error) {
	keyDER, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: keyDER}), nil
}
