package bootstrap

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/pem"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	authenticationMap = "extension-apiserver-authentication"
	systemMaps        = "/api/v1/namespaces/kube-system/configmaps"
	clientCAKey       = "client-ca-file"
	// expirySlack is how long an expired certificate is still published: clocks differ.
	expirySlack = 5 * time.Minute
)

// authentication publishes the authorities of clients' certificates for extension API servers: those of this server, and those
// that others have written and that have not expired. It keeps what others have written about request headers.
func (t *Tasks) authentication(ctx context.Context) error {
	var m corev1.ConfigMap
	err := t.client.get(ctx, systemMaps+"/"+authenticationMap, &m)
	missing := apierrors.IsNotFound(err)
	if err != nil && !missing {
		return err
	}
	bundle := combine(time.Now(), []byte(m.Data[clientCAKey]), t.config.ClientCAs())
	if !missing && m.Data[clientCAKey] == bundle {
		return nil
	}
	if m.Data == nil {
		m.Data = map[string]string{}
	}
	m.Data[clientCAKey] = bundle
	if missing {
		m.ObjectMeta = metav1.ObjectMeta{Name: authenticationMap, Namespace: metav1.NamespaceSystem}
		return t.client.create(ctx, systemMaps, &m)
	}
	return t.client.update(ctx, systemMaps+"/"+authenticationMap, &m)
}

// combine returns the certificates of all bundles, each once, without those that have expired.
func combine(now time.Time, bundles ...[]byte) string {
	var combined bytes.Buffer
	var known [][]byte
	for _, rest := range bundles {
		for {
			var block *pem.Block
			if block, rest = pem.Decode(rest); block == nil {
				break
			}
			cert, err := x509.ParseCertificate(block.Bytes)
			if err != nil || now.After(cert.NotAfter.Add(expirySlack)) ||
				slices.ContainsFunc(known, func(other []byte) bool { return bytes.Equal(other, cert.Raw) }) {
				continue
			}
			known = append(known, cert.Raw)
			_ = pem.Encode(&combined, &pem.Block{Type: "CERTIFICATE", Bytes: cert.Raw}) // a buffer takes everything
		}
	}
	return combined.String()
}
