package certificates

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

	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/server/controller/feed"
	"github.com/kx-apiserver/kx/server/controller/work"
)

const (
	// Signing is what kube-controller-manager calls the controller that signs.
	Signing = "certificatesigningrequest-signing-controller"
	account = "certificate-controller"

	// workers is how many requests are worked on at a time, as upstream.
	workers = 5

	// shortest is the least that a certificate is valid, and backdated how long before it was signed: a client's clock may be behind.
	shortest  = 10 * time.Minute
	backdated = 5 * time.Minute
	// short is how long a certificate is valid from now on, and not from when it was backdated to.
	short = 8 * time.Hour

	nodes      = "system:nodes"
	nodePrefix = "system:node:"
)

// Resource is what both controllers follow.
var Resource = certificatesv1.SchemeGroupVersion.WithResource("certificatesigningrequests")

// requests are the CertificateSigningRequests.
type requests = work.Objects[*certificatesv1.CertificateSigningRequest]

// names is a controller whose keys are names.
type names struct{ loop *work.Loop[string] }

// Run works until ctx ends.
func (c *names) Run(ctx context.Context) { c.loop.Run(ctx) }

// State returns what it is about.
func (c *names) State() work.State { return c.loop.State() }

// Begin begins a look at all requests.
func (c *names) Begin() {}

// End ends it.
func (c *names) End(int64) {}

// Put has a request looked at.
func (c *names) Put(p feed.Pair) {
	if p.Value != nil {
		_, name := p.Name(Resource.GroupResource())
		c.loop.Add(name, p.Revision)
	}
}

// Signer signs what was approved.
type Signer struct {
	names
	requests *requests
	sign     work.Sign
	longest  time.Duration
}

// NewSigner makes a controller that signs, which does nothing until it runs.
func NewSigner(kit *work.Kit) *Signer {
	s := &Signer{
		requests: work.ObjectsOf[*certificatesv1.CertificateSigningRequest](kit, kit.Writer(Signing, account), Resource),
		sign:     kit.SignClient, longest: kit.SigningDuration,
	}
	s.loop = work.NewLoop(Signing, workers, kit.Metrics, kit.Log, s.try)
	return s
}

func (s *Signer) try(ctx context.Context, name string, cause int64) error {
	r, found, err := s.requests.Get(ctx, "", name)
	if err != nil || !found {
		return err
	}
	check := checks[r.Spec.SignerName]
	if check == nil || !isWaiting(r) {
		return nil
	}
	asked, err := parse(r.Spec.Request)
	if err != nil {
		return fmt.Errorf("the request %s: %w", name, err)
	}
	if refused := check(asked, r.Spec.Usages); refused != "" {
		return s.requests.Update(ctx, r, "status", work.Decide(cause, trace.RequestFails), func(now *certificatesv1.CertificateSigningRequest) (bool, error) {
			if !isWaiting(now) {
				return false, nil
			}
			now.Status.Conditions = append(now.Status.Conditions, certificatesv1.CertificateSigningRequestCondition{
				Type: certificatesv1.CertificateFailed, Status: corev1.ConditionTrue, LastUpdateTime: metav1.Now(),
				Reason: "SignerValidationFailure", Message: refused,
			})
			return true, nil
		})
	}
	certificate, err := s.sign(template(asked, r.Spec.Usages, lifetime(r.Spec.ExpirationSeconds, s.longest), time.Now()), asked.PublicKey)
	if err != nil {
		return fmt.Errorf("the request %s: %w", name, err)
	}
	return s.requests.Update(ctx, r, "status", work.Decide(cause, trace.RequestSigned), func(now *certificatesv1.CertificateSigningRequest) (bool, error) {
		if !isWaiting(now) {
			return false, nil
		}
		now.Status.Certificate = certificate
		return true, nil
	})
}

// isWaiting says whether a request was approved and nothing came of it yet.
func isWaiting(r *certificatesv1.CertificateSigningRequest) bool {
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

// parse reads a request that is signed with its own key.
func parse(data []byte) (*x509.CertificateRequest, error) {
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

// checks are the signers, each with why it refuses to sign, if it does. The texts are upstream's: clients may look for them.
var checks = map[string]func(asked *x509.CertificateRequest, usages []certificatesv1.KeyUsage) string{
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

// clientUsages are those of a client's key, beside the one that makes it a client's.
var clientUsages = map[certificatesv1.KeyUsage]x509.KeyUsage{
	certificatesv1.UsageDigitalSignature: x509.KeyUsageDigitalSignature,
	certificatesv1.UsageKeyEncipherment:  x509.KeyUsageKeyEncipherment,
}

func checkKubelet(asked *x509.CertificateRequest, usages []certificatesv1.KeyUsage) string {
	switch {
	case !slices.Equal(asked.Subject.Organization, []string{nodes}):
		return "subject organization is not system:nodes"
	case len(asked.DNSNames) > 0:
		return "DNS subjectAltNames are not allowed"
	case len(asked.EmailAddresses) > 0:
		return "Email subjectAltNames are not allowed"
	case len(asked.IPAddresses) > 0:
		return "IP subjectAltNames are not allowed"
	case len(asked.URIs) > 0:
		return "URI subjectAltNames are not allowed"
	case !strings.HasPrefix(asked.Subject.CommonName, nodePrefix):
		return "subject common name does not begin with system:node:"
	}
	all := []certificatesv1.KeyUsage{certificatesv1.UsageClientAuth, certificatesv1.UsageDigitalSignature, certificatesv1.UsageKeyEncipherment}
	given := slices.Compact(slices.Sorted(slices.Values(usages)))
	if slices.Equal(given, all) || slices.Equal(given, all[:2]) {
		return ""
	}
	return fmt.Sprintf("usages did not match %v", all)
}

// lifetime is how long a certificate is valid: as long as it was asked for, between two limits.
func lifetime(seconds *int32, longest time.Duration) time.Duration {
	if seconds == nil {
		return longest
	}
	return min(max(time.Duration(*seconds)*time.Second, shortest), longest)
}

// template is the certificate that is signed. Of the extensions that were asked for it has only alternative names.
func template(asked *x509.CertificateRequest, usages []certificatesv1.KeyUsage, lives time.Duration, now time.Time) *x509.Certificate {
	t := &x509.Certificate{
		Subject: asked.Subject, DNSNames: asked.DNSNames, IPAddresses: asked.IPAddresses, EmailAddresses: asked.EmailAddresses, URIs: asked.URIs,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
		NotBefore:   now.Add(-backdated), NotAfter: now.Add(lives),
	}
	if lives >= short {
		t.NotAfter = t.NotBefore.Add(lives)
	}
	for _, usage := range usages {
		t.KeyUsage |= clientUsages[usage]
	}
	return t
}
