package controller

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/server/controller/work"
)

// certificateSigning signs approved requests for client certificates of this server, and fails requests that a
// signer refuses.
//
// It has two of upstream's four signers: kubernetes.io/kube-apiserver-client and
// kubernetes.io/kube-apiserver-client-kubelet. They use the authority in the server's data directory, which
// signs certificates of clients and of the server itself; clients verify the server by it. So it signs for no
// other servers: requests for kubernetes.io/kubelet-serving and the legacy signer are left to controllers that
// have an authority for them.
//
// A request that is not approved, is denied, has failed, or has a certificate, is never signed. The certificate
// matches the approved request, since a request can't be changed after its creation. Each server signs with its
// own authority. If several share an etcd, the one that runs the controllers signs, and the others accept the
// certificate only if they accept that authority (--client-ca-file).
var certificateSigning = controller{
	name: "certificatesigningrequest-signing-controller", short: "csrsigning", does: "sign approved requests for client certificates",
	account: certificateAccount, follows: []schema.GroupVersionResource{certificateRequests}, workers: 5, make: each(signCertificate),
}

// certificateRequests wakes both the signing and the cleaning controller. Both write as one account.
var certificateRequests = certificatesv1.SchemeGroupVersion.WithResource("certificatesigningrequests")

const (
	certificateAccount = "certificate-controller"

	// shortestLife is the minimal lifetime of a certificate. It starts backdated before the signature, since a
	// client's clock may be behind.
	shortestLife = 10 * time.Minute
	backdated    = 5 * time.Minute
	// Up to shortLife, a lifetime counts from now, and not from the backdated start.
	shortLife = 8 * time.Hour
)

// requests reads and writes the CertificateSigningRequests.
type requests = work.Objects[*certificatesv1.CertificateSigningRequest]

var (
	requestSigned = trace.Because("request-signed",
		"the request was approved, and may have what it asks for",
		"该请求已获批准，可以得到它所要的证书")
	requestFails = trace.Because("request-fails",
		"the request was approved, but its signer gives nobody such a certificate",
		"该请求已获批准，但签发者不签发这样的证书")
)

// signCertificate signs an approved request.
func signCertificate(ctx context.Context, all *requests, r *certificatesv1.CertificateSigningRequest, cause int64) error {
	check := signers[r.Spec.SignerName]
	if check == nil || !waitsForCertificate(r) {
		return nil
	}
	asked, err := parseRequest(r.Spec.Request)
	if err != nil {
		return fmt.Errorf("the request %s: %w", r.Name, err)
	}
	if refused := check(asked, r.Spec.Usages); refused != "" {
		return all.Update(ctx, r, "status", work.Decide(cause, requestFails),
			func(now *certificatesv1.CertificateSigningRequest) (bool, error) {
				if !waitsForCertificate(now) {
					return false, nil
				}
				now.Status.Conditions = append(now.Status.Conditions, certificatesv1.CertificateSigningRequestCondition{
					Type: certificatesv1.CertificateFailed, Status: corev1.ConditionTrue, LastUpdateTime: metav1.Now(),
					Reason: "SignerValidationFailure", Message: refused,
				})
				return true, nil
			})
	}
	certificate, err := all.Kit.SignClient(
		certificateOf(asked, r.Spec.Usages, lifetime(r.Spec.ExpirationSeconds, all.Kit.SigningDuration), time.Now()), asked.PublicKey)
	if err != nil {
		return fmt.Errorf("the request %s: %w", r.Name, err)
	}
	return all.Update(ctx, r, "status", work.Decide(cause, requestSigned),
		func(now *certificatesv1.CertificateSigningRequest) (bool, error) {
			if !waitsForCertificate(now) {
				return false, nil
			}
			now.Status.Certificate = certificate
			return true, nil
		})
}

// waitsForCertificate reports whether a request is approved, has not failed, and has no certificate yet.
func waitsForCertificate(r *certificatesv1.CertificateSigningRequest) bool {
	approved := false
	for _, c := range r.Status.Conditions {
		switch {
		case c.Type == certificatesv1.CertificateApproved:
			approved = true
		case c.Type == certificatesv1.CertificateDenied, c.Type == certificatesv1.CertificateFailed && c.Status == corev1.ConditionTrue:
			return false
		}
	}
	return approved && len(r.Status.Certificate) == 0
}

// parseRequest reads a request and verifies its signature by its own key.
func parseRequest(data []byte) (*x509.CertificateRequest, error) {
	block, _ := pem.Decode(data)
	if block == nil || block.Type != "CERTIFICATE REQUEST" {
		return nil, errors.New("it is not a PKCS#10 request in PEM")
	}
	asked, err := x509.ParseCertificateRequest(block.Bytes)
	if err != nil {
		return nil, err
	}
	return asked, asked.CheckSignature()
}

// signers maps the signers' names to functions that return the reason for a refusal, or "". The texts are
// upstream's: clients may search for them.
var signers = map[string]func(asked *x509.CertificateRequest, usages []certificatesv1.KeyUsage) string{
	certificatesv1.KubeAPIServerClientSignerName: func(_ *x509.CertificateRequest, usages []certificatesv1.KeyUsage) string {
		for _, usage := range usages {
			if _, ok := clientUsages[usage]; !ok && usage != certificatesv1.UsageClientAuth {
				return fmt.Sprintf("invalid usage for client certificate: %s", usage)
			}
		}
		if !slices.Contains(usages, certificatesv1.UsageClientAuth) {
			return fmt.Sprintf("missing required usage for client certificate: %s", certificatesv1.UsageClientAuth)
		}
		return ""
	},
	certificatesv1.KubeAPIServerClientKubeletSignerName: checkKubelet,
}

// clientUsages maps the usages that a client's key may have beside client authentication.
var clientUsages = map[certificatesv1.KeyUsage]x509.KeyUsage{
	certificatesv1.UsageDigitalSignature: x509.KeyUsageDigitalSignature,
	certificatesv1.UsageKeyEncipherment:  x509.KeyUsageKeyEncipherment,
}

func checkKubelet(asked *x509.CertificateRequest, usages []certificatesv1.KeyUsage) string {
	switch {
	case !slices.Equal(asked.Subject.Organization, []string{"system:nodes"}):
		return "subject organization is not system:nodes"
	case len(asked.DNSNames) > 0:
		return "DNS subjectAltNames are not allowed"
	case len(asked.EmailAddresses) > 0:
		return "Email subjectAltNames are not allowed"
	case len(asked.IPAddresses) > 0:
		return "IP subjectAltNames are not allowed"
	case len(asked.URIs) > 0:
		return "URI subjectAltNames are not allowed"
	case !strings.HasPrefix(asked.Subject.CommonName, "system:node:"):
		return "subject common name does not begin with system:node:"
	}
	all := []certificatesv1.KeyUsage{certificatesv1.UsageClientAuth, certificatesv1.UsageDigitalSignature,
		certificatesv1.UsageKeyEncipherment}
	given := slices.Compact(slices.Sorted(slices.Values(usages)))
	if slices.Equal(given, all) || slices.Equal(given, all[:2]) {
		return ""
	}
	return fmt.Sprintf("usages did not match %v", all)
}

// lifetime returns the requested lifetime of a certificate, within two limits.
func lifetime(seconds *int32, longest time.Duration) time.Duration {
	if seconds == nil {
		return longest
	}
	return min(max(time.Duration(*seconds)*time.Second, shortestLife), longest)
}

// certificateOf returns the certificate to sign. Of the requested extensions it keeps only alternative names.
func certificateOf(asked *x509.CertificateRequest, usages []certificatesv1.KeyUsage, lives time.Duration, now time.Time) *x509.Certificate {
	t := &x509.Certificate{
		Subject: asked.Subject, DNSNames: asked.DNSNames, IPAddresses: asked.IPAddresses, EmailAddresses: asked.EmailAddresses,
		URIs:        asked.URIs,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
		NotBefore:   now.Add(-backdated), NotAfter: now.Add(lives),
	}
	if lives >= shortLife {
		t.NotAfter = t.NotBefore.Add(lives)
	}
	for _, usage := range usages {
		t.KeyUsage |= clientUsages[usage]
	}
	return t
}
