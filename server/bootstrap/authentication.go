package bootstrap

import (
	"bytes"
	"context"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"maps"
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
	headerKeys        = "requestheader-" // the prefix of the keys about a proxy
	// expirySlack is the time for which an expired certificate is still published: clocks differ.
	expirySlack = 5 * time.Minute
)

// authentication publishes the authorities of client certificates for extension API servers: those of this
// server, and unexpired ones of other servers. It also publishes the proxy whose request headers they can
// trust. Without a proxy of its own, it keeps the entries of other servers.
func (t *Tasks) authentication(ctx context.Context, _ func()) error {
	var m corev1.ConfigMap
	err := t.client.get(ctx, systemMaps+"/"+authenticationMap, &m)
	missing := apierrors.IsNotFound(err)
	if err != nil && !missing {
		return err
	}
	all := maps.Clone(m.Data)
	if all == nil {
		all = map[string]string{}
	}
	all[clientCAKey] = combine(time.Now(), []byte(m.Data[clientCAKey]), t.config.ClientCAs())
	if err := t.config.Proxy.addTo(all); err != nil {
		return err
	}
	if !missing && maps.Equal(m.Data, all) {
		return nil
	}
	m.Data = all
	if missing {
		m.ObjectMeta = metav1.ObjectMeta{Name: authenticationMap, Namespace: metav1.NamespaceSystem}
		return t.client.create(ctx, systemMaps, &m)
	}
	return t.client.update(ctx, systemMaps+"/"+authenticationMap, &m)
}

// Proxy is a proxy in front of servers, which trust its headers because of its certificate.
type Proxy struct {
	// CAs returns the authorities of its certificate in PEM. AllowedNames lists the common names that it may
	// have; empty means any.
	CAs          func() ([]byte, error)
	AllowedNames []string

	UsernameHeaders, UIDHeaders, GroupHeaders, ExtraHeaderPrefixes []string
}

// addTo adds the proxy to those in a config map: other servers may be behind another one.
func (p *Proxy) addTo(data map[string]string) error {
	if p == nil {
		return nil
	}
	const ca = headerKeys + clientCAKey
	own, err := p.CAs()
	if err != nil {
		return err
	}
	data[ca] = combine(time.Now(), []byte(data[ca]), own)
	for _, of := range []struct {
		key    string
		values []string
	}{
		{"username-headers", p.UsernameHeaders}, {"uid-headers", p.UIDHeaders}, {"group-headers", p.GroupHeaders},
		{"extra-headers-prefix", p.ExtraHeaderPrefixes}, {"allowed-names", p.AllowedNames},
	} {
		key, all := headerKeys+of.key, []string{}
		if text := data[key]; text != "" {
			if err := json.Unmarshal([]byte(text), &all); err != nil {
				return fmt.Errorf("%s of the config map kube-system/%s is no list of texts: %w", key, authenticationMap, err)
			}
		}
		for _, value := range of.values {
			if !slices.Contains(all, value) {
				all = append(all, value)
			}
		}
		if len(all) == 0 && of.key == "uid-headers" {
			continue // as a kube-apiserver without such headers
		}
		text, err := json.Marshal(all)
		if err != nil {
			return err
		}
		data[key] = string(text)
	}
	return nil
}

// combine returns the unexpired certificates of all bundles, each once.
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
