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

// certificateCleaning removes old requests for certificates. Upstream checks all of them once an hour. Here
// each is checked when its time comes, and in between there is nothing to do.
var certificateCleaning = controller{
	name: "certificatesigningrequest-cleaner-controller", short: "csrcleaner", does: "remove old requests for certificates",
	account: certificateAccount, follows: []schema.GroupVersionResource{certificateRequests}, workers: 1, make: each(cleanCertificate),
}

const (
	// overFor is the time that a decided request stays, and waitingFor the time for an undecided one. Both are
	// upstream's.
	overFor    = time.Hour
	waitingFor = 24 * time.Hour
)

var requestOld = trace.Because("request-old",
	"the request has been as it is for long enough, or its certificate has ended",
	"该请求保持现状已足够久，或者它的证书已经过期")

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
	return all.Delete(ctx, r, metav1.DeletePropagationBackground, work.Decide(cause, requestOld))
}

// requestEnds returns the time to delete a request; ok is false if the request has no end as it is.
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
