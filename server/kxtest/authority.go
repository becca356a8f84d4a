package kxtest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"time"
)

// authority signs certificates: of users, or of webhooks.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pem  []byte
}

// Certificates count from an hour ago, since clocks differ, and for a year: kx warns of those that end soon.
const before, lifetime = time.Hour, 365 * 24 * time.Hour

func newAuthority(name string) (*authority, error) {
	template := &x509.Certificate{
		Subject: pkix.Name{CommonName: name}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	a := &authority{cert: template}
	cert, _, key, err := a.make(template)
	if err != nil {
		return nil, err
	}
	a.pem, a.key = cert, key
	block, _ := pem.Decode(cert)
	a.cert, err = x509.ParseCertificate(block.Bytes)
	return a, err
}

// client returns the certificate and the key of a user.
func (a *authority) client(user string, groups []string) (cert, key []byte, err error) {
	cert, key, _, err = a.make(&x509.Certificate{
		Subject:  pkix.Name{CommonName: user, Organization: groups},
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	})
	return cert, key, err
}

// server returns the certificate and the key of a server on a host.
func (a *authority) server(host string) (cert, key []byte, err error) {
	template := &x509.Certificate{
		Subject: pkix.Name{CommonName: host}, DNSNames: []string{host, "localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
	}
	cert, key, _, err = a.make(template)
	return cert, key, err
}

// make signs a certificate for a new key. Without a key of its own, the authority signs itself.
func (a *authority) make(template *x509.Certificate) (cert, key []byte, private *ecdsa.PrivateKey, err error) {
	if private, err = ecdsa.GenerateKey(elliptic.P256(), rand.Reader); err != nil {
		return nil, nil, nil, fmt.Errorf("make a key: %w", err)
	}
	if template.SerialNumber, err = rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 120)); err != nil {
		return nil, nil, nil, err
	}
	template.NotBefore, template.NotAfter = time.Now().Add(-before), time.Now().Add(lifetime)
	signer := a.key
	if signer == nil {
		signer = private
	}
	signed, err := x509.CreateCertificate(rand.Reader, template, a.cert, private.Public(), signer)
	if err != nil {
		return nil, nil, nil, fmt.Errorf("sign a certificate: %w", err)
	}
	der, err := x509.MarshalECPrivateKey(private)
	if err != nil {
		return nil, nil, nil, err
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: signed}),
		pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}), private, nil
}
