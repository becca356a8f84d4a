package authn

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"
)

// authority signs certificates of clients.
type authority struct {
	key  *ecdsa.PrivateKey
	cert *x509.Certificate
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: t.Name()}, NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	a.key, a.cert = a.sign(t, template)
	return a
}

// sign signs with the authority's own key, or has the certificate sign itself if there is none yet.
func (a *authority) sign(t *testing.T, template *x509.Certificate) (*ecdsa.PrivateKey, *x509.Certificate) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	parent, signer := a.cert, a.key
	if parent == nil {
		parent, signer = template, key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), signer)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return key, cert
}

func (a *authority) pool() *x509.CertPool {
	pool := x509.NewCertPool()
	pool.AddCert(a.cert)
	return pool
}

// client is one whose certificate has the name.
func (a *authority) client(t *testing.T, name string, server *httptest.Server) *http.Client {
	t.Helper()
	key, cert := a.sign(t, &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: name}, NotAfter: time.Now().Add(time.Hour),
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	})
	config := server.Client().Transport.(*http.Transport).TLSClientConfig.Clone()
	config.GetClientCertificate = func(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
		return &tls.Certificate{Certificate: [][]byte{cert.Raw}, PrivateKey: key}, nil
	}
	transport := &http.Transport{TLSClientConfig: config}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport}
}

// TestFrontProxy: headers that say who asks are believed of the proxy alone, and nobody behind sees them.
func TestFrontProxy(t *testing.T) {
	users, proxies := newAuthority(t), newAuthority(t)
	serve := func(c Config) *httptest.Server {
		c.ClientCAs = users.pool
		a, err := New(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			answer, ok, _ := a.AuthenticateRequest(r)
			for name := range r.Header {
				if strings.HasPrefix(name, "X-") {
					t.Errorf("the handler sees %s", name)
				}
			}
			if !ok {
				io.WriteString(w, "nobody")
				return
			}
			u := answer.User
			groups := slices.DeleteFunc(slices.Clone(u.GetGroups()), func(g string) bool { return g == "system:authenticated" })
			fmt.Fprintf(w, "%s/%s/%s/%s", u.GetName(), u.GetUID(), strings.Join(groups, ","), strings.Join(u.GetExtra()["team"], ","))
		}))
		server.TLS = &tls.Config{ClientAuth: tls.RequestClientCert}
		server.Config.ConnContext = ConnContext
		server.StartTLS()
		t.Cleanup(server.Close)
		return server
	}
	proxy := FrontProxy{
		CAs: proxies.pool(), AllowedNames: []string{"front"}, UsernameHeaders: []string{"X-Who", "X-Remote-User"}, UIDHeaders: []string{"X-Remote-Uid"},
		GroupHeaders: []string{"X-Remote-Group"}, ExtraHeaderPrefixes: []string{"X-Remote-Extra-"},
	}
	with, without := serve(Config{FrontProxy: proxy}), serve(Config{})
	front := proxies.client(t, "front", with)
	const masters = "X-Remote-User: root; X-Remote-Group: system:masters; X-Remote-Uid: 1; X-Remote-Extra-Team: red"
	for _, test := range []struct {
		name    string
		client  *http.Client
		server  *httptest.Server
		headers string
		want    string
	}{
		{"the proxy", front, with, masters, "root/1/system:masters/red"},
		{"the proxy, for another user on the same connection", front, with, "X-Remote-User: ann", "ann///"},
		{"the proxy, by the first header", front, with, "X-Who: eve; X-Remote-User: ann", "eve///"},
		{"the proxy, for nobody", front, with, "X-Remote-Group: system:masters", "nobody"},
		{"the proxy, for a user without a name", front, with, "X-Who: ; X-Remote-User: ; X-Remote-Group: system:masters", "nobody"},
		{"the proxy, in capitals", front, with, "X-REMOTE-USER: ann; X-REMOTE-EXTRA-TEAM: red; X-REMOTE-GROUP: a; x-remote-group: b", "ann//a,b/red"},
		{"the proxy, with a key that is escaped", front, with, "X-Remote-User: ann; X-Remote-Extra-%74eam: red; X-Remote-Extra-Te%zzam: blue", "ann///red"},
		{"another name", proxies.client(t, "back", with), with, masters, "nobody"},
		{"a user, in the proxy's name", users.client(t, "front", with), with, masters, "front///"},
		{"a user, where no proxy is", users.client(t, "ann", without), without, masters + "; x-remote-extra-b: c", "ann///"},
		{"the proxy, where no proxy is", proxies.client(t, "front", without), without, masters, "nobody"},
		{"no certificate", with.Client(), with, masters, "nobody"},
		{"another authority", newAuthority(t).client(t, "front", with), with, masters, "nobody"},
	} {
		req, err := http.NewRequest("GET", test.server.URL, nil)
		if err != nil {
			t.Fatal(err)
		}
		for _, header := range strings.Split(test.headers, "; ") {
			name, value, _ := strings.Cut(header, ": ")
			req.Header.Add(name, value)
		}
		res, err := test.client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(res.Body)
		res.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		if string(body) != test.want {
			t.Errorf("%s: %s, want %s", test.name, body, test.want)
		}
	}
}
