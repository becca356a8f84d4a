package controller_test

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
)

type certificateStage struct{ *controllertest.Stage }

type signingRequest = certificatesv1.CertificateSigningRequest

const (
	clientSigner  = certificatesv1.KubeAPIServerClientSignerName
	kubeletSigner = certificatesv1.KubeAPIServerClientKubeletSignerName

	digital    = certificatesv1.UsageDigitalSignature
	encipher   = certificatesv1.UsageKeyEncipherment
	clientAuth = certificatesv1.UsageClientAuth
)

// requestPEM is a request in PEM, signed with its own key.
func requestPEM(t *testing.T, asked *x509.CertificateRequest) (request []byte, key *ecdsa.PrivateKey) {
	t.Helper()
	key = must[*ecdsa.PrivateKey](t)(ecdsa.GenerateKey(elliptic.P256(), rand.Reader))
	der := must[[]byte](t)(x509.CreateCertificateRequest(rand.Reader, asked, key))
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der}), key
}

func subject(name string, organizations ...string) *x509.CertificateRequest {
	return &x509.CertificateRequest{Subject: pkix.Name{CommonName: name, Organization: organizations}}
}

// ask makes a request, and returns the key of it.
func (s certificateStage) ask(
	name, signer string, seconds int32, asked *x509.CertificateRequest, usages ...certificatesv1.KeyUsage,
) *ecdsa.PrivateKey {
	s.T.Helper()
	data, key := requestPEM(s.T, asked)
	r := &signingRequest{
		ObjectMeta: metav1.ObjectMeta{Name: s.Namespace + "-" + name},
		Spec:       certificatesv1.CertificateSigningRequestSpec{Request: data, SignerName: signer, Usages: usages},
	}
	if seconds != 0 {
		r.Spec.ExpirationSeconds = &seconds
	}
	must[*signingRequest](s.T)(s.CertificatesV1().CertificateSigningRequests().Create(s.T.Context(), r, metav1.CreateOptions{}))
	return key
}

// decide approves or denies a request, unless somebody was faster.
func (s certificateStage) decide(name string, decision certificatesv1.RequestConditionType) {
	s.T.Helper()
	for {
		all := s.CertificatesV1().CertificateSigningRequests()
		r := must[*signingRequest](s.T)(all.Get(s.T.Context(), s.Namespace+"-"+name, metav1.GetOptions{}))
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
func (s certificateStage) approved(
	name, signer string, seconds int32, asked *x509.CertificateRequest, usages ...certificatesv1.KeyUsage,
) *ecdsa.PrivateKey {
	s.T.Helper()
	key := s.ask(name, signer, seconds, asked, usages...)
	s.decide(name, certificatesv1.CertificateApproved)
	return key
}

func nodeRequest(change func(*x509.CertificateRequest)) *x509.CertificateRequest {
	asked := subject("system:node:n", "system:nodes")
	change(asked)
	return asked
}

func asItIs(*x509.CertificateRequest) {}

var certificateScenes = map[string]func(s certificateStage){
	"clients": func(s certificateStage) {
		s.approved("all", clientSigner, 0, subject("ann", "a", "b"), digital, encipher, clientAuth)
		s.approved("one", clientSigner, 0, subject("ann"), clientAuth)
		s.approved("nobody", clientSigner, 0, &x509.CertificateRequest{}, digital, clientAuth)
		s.approved("names", clientSigner, 0, &x509.CertificateRequest{
			Subject:  pkix.Name{CommonName: "ann", OrganizationalUnit: []string{"u"}, Country: []string{"CN"}},
			DNSNames: []string{"example.com"}, IPAddresses: []net.IP{net.IPv4(192, 0, 2, 1).To4()}, EmailAddresses: []string{"ann@example.com"},
			URIs: []*url.URL{{Scheme: "spiffe", Host: "example.com", Path: "/ann"}},
		}, digital, clientAuth)
	},
	"how long": func(s certificateStage) {
		for name, seconds := range map[string]int32{"least": 600, "hour": 3600, "short": 8*3600 - 1, "long": 8 * 3600, "day": 86400, "too-long": 1 << 30} {
			s.approved(name, clientSigner, seconds, subject("ann"), digital, clientAuth)
		}
	},
	"usages that clients don't have": func(s certificateStage) {
		s.approved("server", clientSigner, 0, subject("ann"), clientAuth, certificatesv1.UsageServerAuth)
		s.approved("only-server", clientSigner, 0, subject("ann"), certificatesv1.UsageServerAuth)
		s.approved("none", clientSigner, 0, subject("ann"), digital, encipher)
		s.approved("any", clientSigner, 0, subject("ann"), certificatesv1.UsageAny)
		s.approved("authority", clientSigner, 0, subject("ann"), clientAuth, certificatesv1.UsageCertSign)
	},
	"not approved": func(s certificateStage) {
		s.ask("pending", clientSigner, 0, subject("ann"), clientAuth)
		s.ask("denied", clientSigner, 0, subject("ann"), clientAuth)
		s.decide("denied", certificatesv1.CertificateDenied)
		s.approved("other", "example.com/signer", 0, subject("ann"), clientAuth)
		s.approved("unknown", "kubernetes.io/unknown", 0, subject("ann"), clientAuth)
	},
	"kubelets": func(s certificateStage) {
		s.approved("all", kubeletSigner, 0, nodeRequest(asItIs), encipher, digital, clientAuth)
		s.approved("without-rsa", kubeletSigner, 3600, nodeRequest(asItIs), digital, clientAuth)
		s.approved("organization", kubeletSigner, 0, subject("system:node:n"), digital, clientAuth)
		s.approved("organizations", kubeletSigner, 0, subject("system:node:n", "system:nodes", "system:masters"), digital, clientAuth)
		s.approved("name", kubeletSigner, 0, subject("n", "system:nodes"), digital, clientAuth)
		s.approved("dns", kubeletSigner, 0, nodeRequest(func(r *x509.CertificateRequest) { r.DNSNames = []string{"n"} }), digital, clientAuth)
		s.approved("ip", kubeletSigner, 0, nodeRequest(func(r *x509.CertificateRequest) { r.IPAddresses = []net.IP{net.IPv4(192, 0, 2, 1)} }), digital, clientAuth)
		s.approved("email", kubeletSigner, 0, nodeRequest(func(r *x509.CertificateRequest) { r.EmailAddresses = []string{"n@example.com"} }), digital, clientAuth)
		s.approved("uri", kubeletSigner, 0, nodeRequest(func(r *x509.CertificateRequest) { r.URIs = []*url.URL{{Scheme: "a", Host: "b"}} }), digital, clientAuth)
		s.approved("usages", kubeletSigner, 0, nodeRequest(asItIs), clientAuth)
		s.approved("more-usages", kubeletSigner, 0, nodeRequest(asItIs), clientAuth, digital, encipher, certificatesv1.UsageServerAuth)
	},
	"kubelets that serve": func(s certificateStage) {
		s.approved("serving", certificatesv1.KubeletServingSignerName, 0, nodeRequest(func(r *x509.CertificateRequest) { r.DNSNames = []string{"n"} }),
			digital, certificatesv1.UsageServerAuth)
	},
}

// describeCertificate says what is in a certificate. Serial numbers, keys and signers differ, and times are told from the approval.
func describeCertificate(data []byte, approved time.Time) string {
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

func certificateState(s *controllertest.Stage) (lines []string) {
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
			name += ": " + describeCertificate(r.Status.Certificate, approved)
		}
		lines = append(lines, name)
	}
	return lines
}

// TestCertificateUpstream plays scenes, and waits for what is left of each with a kube-apiserver v1.37.1 and its kube-controller-manager.
func TestCertificateUpstream(t *testing.T) {
	t.Parallel()
	all := controllertest.Scenes{
		Answers: "certificates.json",
		Play:    map[string]func(*controllertest.Stage){}, State: certificateState, Quiet: 4 * time.Second,
		// kx's authority says who kx is, and signs for nobody else who serves.
		Differs: map[string]map[string]string{"kubelets that serve": {
			"serving Approved=True: CN=system:node:n,O=system:nodes [n] [] [] [] usage 1 [serverAuth], authority false (true), from -5 minutes on for 8760h0m0s": "serving Approved=True",
		}},
	}
	for name, play := range certificateScenes {
		all.Play[name] = func(s *controllertest.Stage) { play(certificateStage{s}) }
	}
	all.Compare(t, ordinary.Clients)
}
