package controller

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/server/controller/work"
)

// certificateCleaning removes requests for certificates that are over. Upstream looks at all of them once an hour; here
// each is looked at when its time comes, and in between nothing is done.
var certificateCleaning = controller{
	name: "certificatesigningrequest-cleaner-controller", short: "csrcleaner", does: "remove old requests for certificates",
	account: certificateAccount, follows: []schema.GroupVersionResource{certificateRequests}, workers: 1, make: each(cleanCertificate),
}

const (
	// overFor is how long a request stays that is over, and waitingFor one that still waits for somebody. They are
	// upstream's.
	overFor    = time.Hour
	waitingFor = 24 * time.Hour
)

// cleanCertificate deletes a request whose time has come.
func cleanCertificate(ctx context.Context, all *requests, r *certificatesv1.CertificateSigningRequest, cause int64) error {
	if r.DeletionTimestamp != nil {
		return nil
	}
	ends, ok := requestEnds(r)
	if !ok {
		return nil
	}
	if left := time.Until(ends); left > 0 {
		return work.After(left)
	}
	return all.Delete(ctx, r, metav1.DeletePropagationBackground, work.Decide(cause, trace.RequestOld))
}

// requestEnds is when a request is to be deleted; false if never, as far as is known.
func requestEnds(r *certificatesv1.CertificateSigningRequest) (first time.Time, ok bool) {
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
