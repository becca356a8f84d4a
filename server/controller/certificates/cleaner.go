package certificates

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/server/controller/work"
)

const (
	// Cleaning is what kube-controller-manager calls the controller that removes requests.
	Cleaning = "certificatesigningrequest-cleaner-controller"

	// overFor is how long a request stays that is over, and waitingFor one that still waits for somebody. They are upstream's.
	overFor    = time.Hour
	waitingFor = 24 * time.Hour
)

// Cleaner removes requests that are over. Upstream looks at all of them once an hour; here each is looked at when its time comes.
type Cleaner struct {
	names
	requests *requests
}

// NewCleaner makes a controller that removes requests, which does nothing until it runs.
func NewCleaner(kit *work.Kit) *Cleaner {
	c := &Cleaner{requests: work.ObjectsOf[*certificatesv1.CertificateSigningRequest](kit, kit.Writer(Cleaning, account), Resource)}
	c.loop = work.NewLoop(Cleaning, 1, kit.Metrics, kit.Log, c.try)
	return c
}

func (c *Cleaner) try(ctx context.Context, name string, cause int64) error {
	r, found, err := c.requests.Get(ctx, "", name)
	if err != nil || !found || r.DeletionTimestamp != nil {
		return err
	}
	ends, ok := ends(r)
	if !ok {
		return nil
	}
	if left := time.Until(ends); left > 0 {
		c.loop.AddAfter(name, cause, left)
		return nil
	}
	return c.requests.Delete(ctx, r, metav1.DeletePropagationBackground, work.Decide(cause, trace.RequestOld))
}

// ends is when a request is to be deleted; false if never, as far as is known.
func ends(r *certificatesv1.CertificateSigningRequest) (first time.Time, ok bool) {
	at := func(since metav1.Time, after time.Duration) {
		if t := since.Add(after); !since.IsZero() && (!ok || t.Before(first)) {
			first, ok = t, true
		}
	}
	if len(r.Status.Conditions) == 0 {
		at(r.CreationTimestamp, waitingFor)
	}
	for _, c := range r.Status.Conditions {
		switch c.Type {
		case certificatesv1.CertificateDenied, certificatesv1.CertificateFailed:
			at(c.LastUpdateTime, overFor)
		case certificatesv1.CertificateApproved:
			if len(r.Status.Certificate) == 0 {
				at(c.LastUpdateTime, waitingFor)
				break
			}
			at(c.LastUpdateTime, overFor)
			if block, _ := pem.Decode(r.Status.Certificate); block != nil {
				if certificate, err := x509.ParseCertificate(block.Bytes); err == nil {
					at(metav1.NewTime(certificate.NotAfter), 0)
				}
			}
		}
	}
	return first, ok
}
