package identity

import (
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"os"
	"path/filepath"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// AdminUser and AdminGroup are the names in the kubeconfig's certificate.
const (
	AdminUser  = "kx-admin"
	AdminGroup = "system:masters"
)

// writeKubeconfig makes an administrator's client certificate and writes it to file with the server's address and the
// authority that signed the server's certificate.
func (a *Authority) writeKubeconfig(file, server string, serverCA []byte) (*x509.Certificate, error) {
	certPEM, keyPEM, err := a.ClientCert(AdminUser, AdminGroup)
	if err != nil {
		return nil, fmt.Errorf("make the administrator's certificate: %w", err)
	}
	pair, err := tls.X509KeyPair(certPEM, keyPEM)
	if err != nil {
		return nil, fmt.Errorf("make the administrator's certificate: %w", err)
	}
	config := clientcmdapi.NewConfig()
	config.Clusters["kx"] = &clientcmdapi.Cluster{Server: server, CertificateAuthorityData: serverCA}
	config.AuthInfos[AdminUser] = &clientcmdapi.AuthInfo{ClientCertificateData: certPEM, ClientKeyData: keyPEM}
	config.Contexts["kx"] = &clientcmdapi.Context{Cluster: "kx", AuthInfo: AdminUser}
	config.CurrentContext = "kx"
	data, err := clientcmd.Write(*config)
	if err != nil {
		return nil, fmt.Errorf("make the kubeconfig: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		return nil, fmt.Errorf("write the kubeconfig: %w; choose another place with --kubeconfig-out", err)
	}
	if err := writeFile(file, data, 0o600); err != nil {
		return nil, fmt.Errorf("write the kubeconfig: %w; choose another place with --kubeconfig-out", err)
	}
	return pair.Leaf, nil
}
