package certificates_test

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"net"
	"net/url"
	"strings"
	"testing"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kx-apiserver/kx/server/internal/controllertest"
	"github.com/kx-apiserver/kx/server/options"
)

type stage struct{ *controllertest.Stage }

func must[T any](t *testing.T) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

type request = certificatesv1.CertificateSigningRequest

const (
	client  = certificatesv1.KubeAPIServerClientSignerName
	kubelet = certificatesv1.KubeAPIServerClientKubeletSignerName

	digital  = certificatesv1.UsageDigitalSignature
	encipher = certificatesv1.UsageKeyEncipherment
	auth     = certificatesv1.UsageClientAuth
)

// pemOf is a request in PEM, signed with its own key.
func pemOf(t *testing.T, asked *x509.CertificateRequest) (request []byte, key *ecdsa.PrivateKey) {
	t.Helper()
	key = must[*ecdsa.PrivateKey](t)(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))
	der := must[[]byte](t)(x509.CreateCertificateRequest(rand.Reader, asked, key))
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der}), key
}

func subject(name string, organizations ...string) *x509.CertificateRequest {
	return &x509.CertificateRequest{Subject: pkix.Name{CommonName: name, Organization: organizations}}
}

// ask makes a request, and returns the key of it.
func (s stage) ask(name, signer string, seconds int32, asked *x509.CertificateRequest, usages ...certificatesv1.KeyUsage) *ecdsa.PrivateKey {
	s.T.Helper()
	data, key := pemOf(s.T, asked)
	r := &request{
		ObjectMeta: metav1.ObjectMeta{Name: s.Namespace + "-" + name},
		Spec:       certificatesv1.CertificateSigningRequestSpec{Request: data, SignerName: signer, Usages: usages},
	}
	if seconds != 0 {
		r.Spec.ExpirationSeconds = &seconds
	}
	must[*request](s.T)(s.CertificatesV1().CertificateSigningRequests().Create(s.T.Context(), r, metav1.CreateOptions{}))
	return key
}

// decide approves or denies a request, unless somebody was faster.
func (s stage) decide(name string, decision certificatesv1.RequestConditionType) {
	s.T.Helper()
	for {
		all := s.CertificatesV1().CertificateSigningRequests()
		r := must[*request](s.T)(all.Get(s.T.Context(), s.Namespace+"-"+name, metav1.GetOptions{}))
		if len(r.Status.Conditions) > 0 {
			return
		}
		r.Status.Conditions = []certificatesv1.CertificateSigningRequestCondition{{Type: decision, Status: corev1.ConditionTrue, Reason: "Test"}}
		_, err := all.UpdateApproval(s.T.Context(), r.Name, r, metav1.UpdateOptions{})
		if err == nil {
			return
		}
		if !apierrors.IsConflict(err) {
			s.T.Fatal(err)
		}
	}
}

// approved makes a request and approves it.
func (s stage) approved(name, signer string, seconds int32, asked *x509.CertificateRequest, usages ...certificatesv1.KeyUsage) *ecdsa.PrivateKey {
	s.T.Helper()
	key := s.ask(name, signer, seconds, asked, usages...)
	s.decide(name, certificatesv1.CertificateApproved)
	return key
}

func node(change func(*x509.CertificateRequest)) *x509.CertificateRequest {
	asked := subject("system:node:n", "system:nodes")
	change(asked)
	return asked
}

func plain(*x509.CertificateRequest) {}

var scenes = map[string]func(s stage){
	"clients": func(s stage) {
		s.approved("all", client, 0, subject("ann", "a", "b"), digital, encipher, auth)
		s.approved("one", client, 0, subject("ann"), auth)
		s.approved("nobody", client, 0, &x509.CertificateRequest{}, digital, auth)
		s.approved("names", client, 0, &x509.CertificateRequest{
			Subject:  pkix.Name{CommonName: "ann", OrganizationalUnit: []string{"u"}, Country: []string{"CN"}},
			DNSNames: []string{"example.com"}, IPAddresses: []net.IP{net.IPv4(192, 0, 2, 1).To4()}, EmailAddresses: []string{"ann@example.com"},
			URIs: []*url.URL{{Scheme: "spiffe", Host: "example.com", Path: "/ann"}},
		}, digital, auth)
	},
	"how long": func(s stage) {
		for name, seconds := range map[string]int32{"least": 600, "hour": 3600, "short": 8*3600 - 1, "long": 8 * 3600, "day": 86400, "too-long": 1 << 30} {
			s.approved(name, client, seconds, subject("ann"), digital, auth)
		}
	},
	"usages that clients don't have": func(s stage) {
		s.approved("server", client, 0, subject("ann"), auth, certificatesv1.UsageServerAuth)
		s.approved("only-server", client, 0, subject("ann"), certificatesv1.UsageServerAuth)
		s.approved("none", client, 0, subject("ann"), digital, encipher)
		s.approved("any", client, 0, subject("ann"), certificatesv1.UsageAny)
		s.approved("authority", client, 0, subject("ann"), auth, certificatesv1.UsageCertSign)
	},
	"not approved": func(s stage) {
		s.ask("pending", client, 0, subject("ann"), auth)
		s.ask("denied", client, 0, subject("ann"), auth)
		s.decide("denied", certificatesv1.CertificateDenied)
		s.approved("other", "example.com/signer", 0, subject("ann"), auth)
		s.approved("unknown", "kubernetes.io/unknown", 0, subject("ann"), auth)
	},
	"kubelets": func(s stage) {
		s.approved("all", kubelet, 0, node(plain), encipher, digital, auth)
		s.approved("without-rsa", kubelet, 3600, node(plain), digital, auth)
		s.approved("organization", kubelet, 0, subject("system:node:n"), digital, auth)
		s.approved("organizations", kubelet, 0, subject("system:node:n", "system:nodes", "system:masters"), digital, auth)
		s.approved("name", kubelet, 0, subject("n", "system:nodes"), digital, auth)
		s.approved("dns", kubelet, 0, node(func(r *x509.CertificateRequest) { r.DNSNames = []string{"n"} }), digital, auth)
		s.approved("ip", kubelet, 0, node(func(r *x509.CertificateRequest) { r.IPAddresses = []net.IP{net.IPv4(192, 0, 2, 1)} }), digital, auth)
		s.approved("email", kubelet, 0, node(func(r *x509.CertificateRequest) { r.EmailAddresses = []string{"n@example.com"} }), digital, auth)
		s.approved("uri", kubelet, 0, node(func(r *x509.CertificateRequest) { r.URIs = []*url.URL{{Scheme: "a", Host: "b"}} }), digital, auth)
		s.approved("usages", kubelet, 0, node(plain), auth)
		s.approved("more-usages", kubelet, 0, node(plain), auth, digital, encipher, certificatesv1.UsageServerAuth)
	},
	"kubelets that serve": func(s stage) {
		s.approved("serving", certificatesv1.KubeletServingSignerName, 0, node(func(r *x509.CertificateRequest) { r.DNSNames = []string{"n"} }),
			digital, certificatesv1.UsageServerAuth)
	},
}

// describe says what is in a certificate. Serial numbers, keys and signers differ, and times are told from the approval.
func describe(data []byte, approved time.Time) string {
	block, rest := pem.Decode(data)
	if block == nil || len(rest) > 0 {
		return fmt.Sprintf("is not one certificate: %q", data)
	}
	c, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("%s %v %v %v %v usage %d %v, authority %v (%v), from %.0f minutes on for %v", c.Subject, c.DNSNames, c.IPAddresses, c.EmailAddresses, c.URIs,
		c.KeyUsage, c.ExtKeyUsage, c.IsCA, c.BasicConstraintsValid, c.NotBefore.Sub(approved).Minutes(), c.NotAfter.Sub(c.NotBefore))
}

func state(s *controllertest.Stage) (lines []string) {
	s.T.Helper()
	for _, r := range must[*certificatesv1.CertificateSigningRequestList](s.T)(s.CertificatesV1().CertificateSigningRequests().List(s.T.Context(), metav1.ListOptions{})).Items {
		name, ok := strings.CutPrefix(r.Name, s.Namespace+"-")
		if !ok {
			continue
		}
		var approved time.Time
		for _, c := range r.Status.Conditions {
			name += fmt.Sprintf(" %s=%s", c.Type, c.Status)
			switch c.Type {
			case certificatesv1.CertificateApproved:
				approved = c.LastUpdateTime.Time
			case certificatesv1.CertificateFailed:
				name += fmt.Sprintf(" %s %q", c.Reason, c.Message)
			}
		}
		if len(r.Status.Certificate) > 0 {
			name += ": " + describe(r.Status.Certificate, approved)
		}
		lines = append(lines, name)
	}
	return lines
}

// TestUpstream plays scenes, and waits for what is left of each with a kube-apiserver v1.37.1 and its kube-controller-manager.
func TestUpstream(t *testing.T) {
	all := controllertest.Scenes{
		Play: map[string]func(*controllertest.Stage){}, State: state, Quiet: 4 * time.Second,
		// kx's authority says who kx is, and signs for nobody else who serves.
		Differs: map[string]map[string]string{"kubelets that serve": {
			"serving Approved=True: CN=system:node:n,O=system:nodes [n] [] [] [] usage 1 [serverAuth], authority false (true), from -5 minutes on for 8760h0m0s": "serving Approved=True",
		}},
	}
	for name, play := range scenes {
		all.Play[name] = func(s *controllertest.Stage) { play(stage{s}) }
	}
	all.Compare(t, func(t *testing.T) controllertest.Clients {
		o := options.New()
		o.InitialObjects = false
		clients, _ := controllertest.Serve(t, o, controllertest.ShortDir(t))
		return clients
	})
}
