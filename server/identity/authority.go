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

	"github.com/kx-apiserver/kx/store/datadir/durable"
)

// Authority signs certificates. It is immutable: a renewed one is another Authority with the same key.
type Authority struct {
	dir *DataDir
	// name is the base name of its files.
	name    string
	cert    *x509.Certificate
	key     *ecdsa.PrivateKey
	certPEM []byte
	now     func() time.Time
	// renewed is true if its certificate replaced an older one.
	renewed bool
}

const (
	authorityName  = "ca"
	authorityYears = 10
	leafYears      = 1
	// clockSkew is the tolerated lag of a client's clock.
	clockSkew = 5 * time.Minute
	// renewBefore is the time before its end at which a certificate is renewed. If kx did not make it, kx warns at that
	// time.
	renewBefore = 30 * 24 * time.Hour
	// renewAuthorityBefore is long enough that no certificate outlives the authority beside it in a kubeconfig.
	renewAuthorityBefore = (leafYears*366 + 30) * 24 * time.Hour
)

// LoadAuthority reads the directory's authority, or makes it at the first start. If its certificate is about to end, or
// is not valid yet because a clock was wrong, LoadAuthority makes a new one for the same key: signatures of the key
// stay valid, and clients may keep the old certificate.
func LoadAuthority(d *DataDir) (*Authority, error) { return loadAuthority(d, authorityName, time.Now) }

func loadAuthority(d *DataDir, name string, now func() time.Time) (*Authority, error) {
	certFile, keyFile := d.File(name+".crt"), d.File(name+".key")
	certPEM, certErr := os.ReadFile(certFile)
	keyPEM, keyErr := os.ReadFile(keyFile)
	a := &Authority{dir: d, name: name, now: now}
	switch {
	case errors.Is(certErr, fs.ErrNotExist) && errors.Is(keyErr, fs.ErrNotExist):
		return a.make()
	case errors.Is(certErr, fs.ErrNotExist) && keyErr == nil:
		// A first start was interrupted, or the certificate was removed.
		key, err := parseKey(keyPEM)
		if err != nil {
			return nil, fmt.Errorf("read the authority's key in %s: %w; remove it to have a new one made", keyFile, err)
		}
		a.key = key
		return a.renew()
	case certErr != nil || keyErr != nil:
		return nil, fmt.Errorf("read the certificate authority: %w; remove both %s and %s to have a new one made",
			errors.Join(certErr, keyErr), certFile, keyFile)
	}
	pair, err := tls.X509KeyPair(certPEM, keyPEM)
	if err != nil {
		return nil, fmt.Errorf("read the certificate authority in %s and %s: %w; remove both to have a new one made", certFile,
			keyFile, err)
	}
	key, ok := pair.PrivateKey.(*ecdsa.PrivateKey)
	if !ok {
		return nil, fmt.Errorf("the key in %s is a %T, not an ECDSA key: remove it and %s to have new ones made", keyFile,
			pair.PrivateKey, certFile)
	}
	a.cert, a.key, a.certPEM = pair.Leaf, key, certPEM
	if a.ends() {
		return a.renew()
	}
	return a, nil
}

// make makes an authority and saves it, the key first: a key without a certificate gets one at the next start.
func (a *Authority) make() (*Authority, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("make the authority's key: %w", err)
	}
	keyPEM, err := encodeKey(key)
	if err != nil {
		return nil, fmt.Errorf("make the authority's key: %w", err)
	}
	if err := writeFile(a.dir.File(a.name+".key"), keyPEM, 0o600); err != nil {
		return nil, fmt.Errorf("keep the authority's key: %w", err)
	}
	return (&Authority{dir: a.dir, name: a.name, now: a.now, key: key}).renew()
}

// renew makes a certificate for the key and saves it.
func (a *Authority) renew() (*Authority, error) {
	template := &x509.Certificate{
		Subject:               pkix.Name{CommonName: a.commonName()},
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
		IsCA:                  true,
		BasicConstraintsValid: true,
	}
	if a.cert != nil {
		template.SubjectKeyId = a.cert.SubjectKeyId // signed certificates name their signer by it
	}
	der, err := a.sign(template, template, &a.key.PublicKey, authorityYears)
	if err != nil {
		return nil, fmt.Errorf("make the authority's certificate: %w", err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		return nil, fmt.Errorf("make the authority's certificate: %w", err)
	}
	next := &Authority{dir: a.dir, name: a.name, now: a.now, key: a.key, cert: cert, certPEM: encodeCert(der), renewed: a.cert != nil}
	file := a.dir.File(a.name + ".crt")
	err = writeFile(file, next.certPEM, 0o644)
	if err == nil {
		err = durable.SyncDir(filepath.Dir(file))
	}
	if err != nil {
		return nil, fmt.Errorf("keep the authority's certificate: %w", err)
	}
	return next, nil
}

// ends reports whether the authority's certificate must be renewed. It returns false for one that kx did not make.
func (a *Authority) ends() bool {
	return a.isOwn() && ends(a.cert, a.now(), renewAuthorityBefore)
}

func (a *Authority) isOwn() bool {
	return a.cert.Subject.CommonName == a.commonName() && a.cert.CheckSignatureFrom(a.cert) == nil
}

func (a *Authority) commonName() string { return "kx-" + a.name }

// ends reports whether a certificate ends within some time, or is not valid yet.
func ends(cert *x509.Certificate, now time.Time, within time.Duration) bool {
	return now.Before(cert.NotBefore) || now.Add(within).After(cert.NotAfter)
}

// CertPEM returns the authority's certificate.
func (a *Authority) CertPEM() []byte { return a.certPEM }

// ServingCert makes a certificate for a server at these hosts, with the names that every API server has. Each start
// makes a new one, which is not saved.
func (a *Authority) ServingCert(hosts []string) (tls.Certificate, error) {
	template := &x509.Certificate{
		Subject:     pkix.Name{CommonName: "kx"},
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		DNSNames: []string{"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc",
			"kubernetes.default.svc.cluster.local"},
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

// ClientCert makes a certificate for a user with groups.
func (a *Authority) ClientCert(user string, groups ...string) (certPEM, keyPEM []byte, err error) {
	return a.issue(&x509.Certificate{
		Subject:     pkix.Name{CommonName: user, Organization: groups},
		KeyUsage:    x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	})
}

// Sign signs a client certificate for a foreign key. It takes only the subject, the alternative names, the usages and
// the times from template, and cuts the validity to the authority's own.
func (a *Authority) Sign(template *x509.Certificate, public any) (certPEM []byte, err error) {
	leaf := &x509.Certificate{
		Subject: template.Subject, DNSNames: template.DNSNames, IPAddresses: template.IPAddresses, EmailAddresses: template.EmailAddresses,
		URIs: template.URIs, KeyUsage: template.KeyUsage, ExtKeyUsage: template.ExtKeyUsage, BasicConstraintsValid: true,
		NotBefore: template.NotBefore, NotAfter: template.NotAfter,
	}
	if ends := a.cert.NotAfter; leaf.NotAfter.After(ends) {
		leaf.NotAfter = ends
	}
	if !a.now().Before(leaf.NotAfter) {
		return nil, fmt.Errorf("the certificate authority ended at %v", leaf.NotAfter)
	}
	if leaf.SerialNumber, err = newSerial(); err != nil {
		return nil, err
	}
	der, err := x509.CreateCertificate(rand.Reader, leaf, a.cert, public, a.key)
	return encodeCert(der), err
}

func (a *Authority) issue(template *x509.Certificate) (certPEM, keyPEM []byte, err error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, err
	}
	der, err := a.sign(template, a.cert, &key.PublicKey, leafYears)
	if err != nil {
		return nil, nil, err
	}
	keyPEM, err = encodeKey(key)
	return encodeCert(der), keyPEM, err
}

func (a *Authority) sign(template, parent *x509.Certificate, public *ecdsa.PublicKey, years int) ([]byte, error) {
	serial, err := newSerial()
	if err != nil {
		return nil, err
	}
	template.SerialNumber = serial
	template.NotBefore = a.now().Add(-clockSkew)
	template.NotAfter = template.NotBefore.AddDate(years, 0, 0)
	return x509.CreateCertificate(rand.Reader, template, parent, public, a.key)
}

func newSerial() (*big.Int, error) {
	return rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120))
}

func encodeCert(der []byte) []byte {
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

func encodeKey(key *ecdsa.PrivateKey) ([]byte, error) {
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}), nil
}

func parseKey(data []byte) (*ecdsa.PrivateKey, error) {
	block, _ := pem.Decode(data)
	if block == nil {
		return nil, errors.New("it is not PEM")
	}
	return x509.ParseECPrivateKey(block.Bytes)
}
