//lint:file-ignore SA1019 requests may have the key in its old fields still

package certificates

import (
	"context"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net/mail"
	"slices"
	"strings"
	"time"

	certificatesv1beta1 "k8s.io/api/certificates/v1beta1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	apirequest "k8s.io/apiserver/pkg/endpoints/request"

	"github.com/kx-apiserver/kx/server/builtin"
)

const (
	issued = certificatesv1beta1.PodCertificateRequestConditionTypeIssued
	denied = certificatesv1beta1.PodCertificateRequestConditionTypeDenied
	failed = certificatesv1beta1.PodCertificateRequestConditionTypeFailed

	maxChain      = 100 << 10
	maxSkew       = 5 * time.Minute
	minLifetime   = time.Hour
	refreshMargin = 10 * time.Minute
)

var (
	statusPath  = field.NewPath("status")
	chainPath   = statusPath.Child("certificateChain")
	beforePath  = statusPath.Child("notBefore")
	afterPath   = statusPath.Child("notAfter")
	refreshPath = statusPath.Child("beginRefreshAt")
)

// ends reports whether a condition of this type ends a request.
func ends(kind string) bool { return kind == issued || kind == denied || kind == failed }

func is(r *podCertificateRequest, kinds ...string) bool {
	return slices.ContainsFunc(r.Status.Conditions, func(c metav1.Condition) bool {
		return c.Status == metav1.ConditionTrue && slices.Contains(kinds, c.Type)
	})
}

// signer checks a user's permission to sign, for one signer or for all signers of a domain.
type signer struct {
	authorizer authorizer.UnconditionalAuthorizer
}

// allow requires the permission to sign for a valid change. It leaves invalid changes to validation.
func (s signer) allow(ctx context.Context, r, old *podCertificateRequest) field.ErrorList {
	if apiequality.Semantic.DeepEqual(r.Status, old.Status) || len(validateStatus(r, old)) > 0 {
		return nil
	}
	path, name := podCertificateRequestSpecPath.Child("signerName"), old.Spec.SignerName
	who, ok := apirequest.UserFrom(ctx)
	if !ok {
		return field.ErrorList{field.InternalError(path, fmt.Errorf("cannot determine calling user to perform \"sign\" check"))}
	}
	domain, _, _ := strings.Cut(name, "/")
	for _, name := range []string{name, domain + "/*"} {
		decision, _, err := s.authorizer.Authorize(ctx, authorizer.AttributesRecord{
			User: who, Verb: "sign", Name: name, APIGroup: "certificates.k8s.io", APIVersion: "*", Resource: "signers",
			ResourceRequest: true,
		})
		if err == nil && decision == authorizer.DecisionAllow {
			return nil
		}
	}
	return field.ErrorList{field.Forbidden(path, fmt.Sprintf("User %q is not permitted to \"sign\" for signer %q", who.GetName(), name))}
}

// validateStatus lets a request end once: issued with a certificate, or denied or failed without one. If later checks
// depend on a value, only the first error is reported.
func validateStatus(r, old *podCertificateRequest) field.ErrorList {
	if errs := builtin.ValidateObjectMetaUpdate(&r.ObjectMeta, &old.ObjectMeta); len(errs) > 0 {
		return errs
	}
	if errs := validatePodCertificateRequestConditions(r.Status.Conditions); len(errs) > 0 {
		return errs
	}
	same := func(want certificatesv1beta1.PodCertificateRequestStatus, message string) field.ErrorList {
		if apiequality.Semantic.DeepEqual(r.Status, want) {
			return nil
		}
		return field.ErrorList{field.Invalid(statusPath, field.OmitValueType{}, message)}
	}
	switch {
	case is(old, issued, denied, failed):
		return same(old.Status, "immutable after PodCertificateRequest is issued, denied, or failed")
	case is(r, denied, failed):
		return same(certificatesv1beta1.PodCertificateRequestStatus{Conditions: r.Status.Conditions},
			"non-condition status fields must be empty when denying or failing the PodCertificateRequest")
	case is(r, issued):
		return validateIssued(r, old, time.Now())
	}
	return same(old.Status, `status is immutable unless transitioning to "Issued", "Denied", or "Failed"`)
}

func validatePodCertificateRequestConditions(conditions []metav1.Condition) (errs field.ErrorList) {
	known := 0
	for i, c := range conditions {
		// In Kubernetes this path has a dot before the brackets.
		path := statusPath.Child("conditions", fmt.Sprintf("[%d]", i))
		if !ends(c.Type) {
			errs = append(errs, field.NotSupported(path.Child("type"), c.Type, []string{issued, denied, failed}))
			continue
		}
		if known++; known > 1 {
			errs = append(errs,
				field.Invalid(path.Child("type"), c.Type, `There may be at most one condition with type "Issued", "Denied", or "Failed"`))
		}
		if c.Status != metav1.ConditionTrue {
			errs = append(errs, field.NotSupported(path.Child("status"), c.Status, []metav1.ConditionStatus{metav1.ConditionTrue}))
		}
	}
	return append(errs, metav1validation.ValidateConditions(conditions, statusPath.Child("conditions"))...)
}

// validateIssued compares the certificate with the request and with the times in the status.
func validateIssued(r, old *podCertificateRequest, now time.Time) field.ErrorList {
	chain := r.Status.CertificateChain
	if len(chain) > maxChain {
		return field.ErrorList{field.TooLong(chainPath, chain, maxChain)}
	}
	wrong := func(message string) field.ErrorList { return field.ErrorList{field.Invalid(chainPath, chain, message)} }
	block, rest := pem.Decode([]byte(chain))
	if block == nil {
		return wrong("issued certificate chain must contain at least one certificate")
	}
	if block.Type != "CERTIFICATE" {
		return wrong("issued certificate chain must consist entirely of CERTIFICATE PEM blocks")
	}
	leaf, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return wrong("leaf certificate does not parse as valid X.509")
	}
	errs := validateNames(leaf)
	ours, unreadable := isFor(leaf, &old.Spec)
	if unreadable != nil {
		return append(errs, unreadable)
	}
	if !ours {
		return append(errs, wrong("leaf certificate was not issued to the requested public key")...)
	}
	if errs := append(errs, validateTimes(r, leaf, now)...); len(errs) > 0 {
		return errs
	}
	for block, rest = pem.Decode(rest); block != nil; block, rest = pem.Decode(rest) {
		if block.Type != "CERTIFICATE" {
			return wrong("issued certificate chain must consist entirely of CERTFICATE PEM blocks")
		}
		if _, err := x509.ParseCertificate(block.Bytes); err != nil {
			return wrong("intermediate certificate does not parse as valid X.509")
		}
	}
	return nil
}

func validateNames(leaf *x509.Certificate) (errs field.ErrorList) {
	for _, name := range leaf.DNSNames {
		if name == "" {
			errs = append(errs, field.Invalid(chainPath, name, "leaf certificate should not contain empty DNSName"))
		}
		if strings.Contains(name, "..") {
			errs = append(errs, field.Invalid(chainPath, name, "leaf certificate's DNSName should not contain '..'"))
		}
		if strings.HasPrefix(name, ".") || strings.HasSuffix(name, ".") {
			errs = append(errs, field.Invalid(chainPath, name, "leaf certificate's DNSName should not start or end with '.'"))
		}
	}
	for _, address := range leaf.EmailAddresses {
		if _, err := mail.ParseAddress(address); err != nil {
			errs = append(errs, field.Invalid(chainPath, address, "leaf certificate should not contain invalid EmailAddress"))
		}
	}
	return errs
}

// isFor reports whether the certificate holds the key of the request.
func isFor(leaf *x509.Certificate, spec *certificatesv1beta1.PodCertificateRequestSpec) (bool, *field.Error) {
	var want any
	if len(spec.StubPKCS10Request) > 0 {
		parsed, err := x509.ParseCertificateRequest(spec.StubPKCS10Request)
		if err != nil {
			return false, field.Invalid(stubPath, field.OmitValueType{}, "must be a valid PKCS#10 CSR")
		}
		want = parsed.PublicKey
	} else {
		parsed, err := x509.ParsePKIXPublicKey(spec.PKIXPublicKey)
		if err != nil {
			return false, field.Invalid(keyPath, field.OmitValueType{}, "must be a valid PKIX-serialized public key")
		}
		want = parsed
	}
	switch want := want.(type) {
	case ed25519.PublicKey:
		return want.Equal(leaf.PublicKey), nil
	case *rsa.PublicKey:
		return want.Equal(leaf.PublicKey), nil
	case *ecdsa.PublicKey:
		return want.Equal(leaf.PublicKey), nil
	}
	return true, nil
}

func validateTimes(r *podCertificateRequest, leaf *x509.Certificate, now time.Time) (errs field.ErrorList) {
	s := &r.Status
	for _, t := range []struct {
		time    *metav1.Time
		path    *field.Path
		message string
	}{
		{s.NotBefore, beforePath, "must be present and consistent with the issued certificate"},
		{s.NotAfter, afterPath, "must be present and consistent with the issued certificate"},
		{s.BeginRefreshAt, refreshPath, "must be present and in the range [notbefore+10min, notafter-10min]"},
	} {
		if t.time == nil {
			errs = append(errs, field.Required(t.path, t.message))
		}
	}
	if len(errs) > 0 {
		return errs
	}
	before, after, refresh := s.NotBefore.Time, s.NotAfter.Time, s.BeginRefreshAt.Time
	lifetime, limit := leaf.NotAfter.Sub(leaf.NotBefore), time.Duration(*r.Spec.MaxExpirationSeconds)*time.Second
	for _, rule := range []struct {
		broken  bool
		path    *field.Path
		value   any
		message string
	}{
		{!before.Equal(leaf.NotBefore), beforePath, before, "must be set to the NotBefore time encoded in the leaf certificate"},
		{now.Sub(before).Abs() >= maxSkew, beforePath, before, "must be set to within 5 minutes of kube-apiserver's current time"},
		{!after.Equal(leaf.NotAfter), afterPath, after, "must be set to the NotAfter time encoded in the leaf certificate"},
		{lifetime < minLifetime, chainPath, lifetime, "leaf certificate lifetime must be >= 1 hour"},
		{lifetime > limit, chainPath, lifetime,
			fmt.Sprintf("leaf certificate lifetime must be <= spec.maxExpirationSeconds (%v)", *r.Spec.MaxExpirationSeconds)},
		{refresh.Before(before.Add(refreshMargin)), refreshPath, refresh, "must be at least 10 minutes after status.notBefore"},
		{refresh.After(after.Add(-refreshMargin)), refreshPath, refresh, "must be at least 10 minutes before status.notAfter"},
	} {
		if rule.broken {
			return field.ErrorList{field.Invalid(rule.path, rule.value, rule.message)}
		}
	}
	return nil
}
