package identity

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
)

// Files are keys and certificates given from outside. Each may be empty.
type Files struct {
	TLSCert, TLSKey string
	ClientCA        string
}

// TLS is how a server shows who it is and whom it believes.
type TLS struct {
	Config *tls.Config
	// ClientCAs are the authorities whose client certificates are believed.
	ClientCAs *x509.CertPool
	// ServerCA is what a client needs to believe the server.
	ServerCA []byte
}

// NewTLS makes the server's TLS configuration: from the files that are given, and from the directory's own authority
// where none is. The directory's authority is believed in any case, since the administrator's certificate is its.
func NewTLS(a *Authority, files Files, hosts []string) (*TLS, error) {
	t := &TLS{ClientCAs: x509.NewCertPool(), ServerCA: a.CertPEM()}
	t.ClientCAs.AddCert(a.cert)
	if files.ClientCA != "" {
		data, err := os.ReadFile(files.ClientCA)
		if err != nil {
			return nil, fmt.Errorf("read --client-ca-file: %w", err)
		}
		if !t.ClientCAs.AppendCertsFromPEM(data) {
			return nil, fmt.Errorf("read --client-ca-file: %s holds no certificate in PEM", files.ClientCA)
		}
	}
	cert, err := t.servingCert(a, files, hosts)
	if err != nil {
		return nil, err
	}
	t.Config = &tls.Config{
		Certificates: []tls.Certificate{cert},
		// Certificates are verified by the authenticator, so that a bad one is a 401 and not a broken connection.
		ClientAuth: tls.RequestClientCert,
		ClientCAs:  t.ClientCAs,
		MinVersion: tls.VersionTLS12,
		NextProtos: []string{"h2", "http/1.1"},
	}
	return t, nil
}

func (t *TLS) servingCert(a *Authority, files Files, hosts []string) (tls.Certificate, error) {
	if files.TLSCert == "" && files.TLSKey == "" {
		return a.ServingCert(hosts)
	}
	cert, err := tls.LoadX509KeyPair(files.TLSCert, files.TLSKey)
	if err != nil {
		return cert, fmt.Errorf("read --tls-cert-file and --tls-private-key-file (both are needed): %w", err)
	}
	// A certificate that is given may be its own authority or bring its chain: clients are told to believe the file.
	t.ServerCA, err = os.ReadFile(files.TLSCert)
	return cert, err
}
