package certificates

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kx-apiserver/kx/server/builtin"
)

// legacySigner signed for old kubelets. New requests can't name it.
const legacySigner = "kubernetes.io/legacy-unknown"

var (
	certificateSigningRequestSpecPath = field.NewPath("spec")
	conditionsPath                    = field.NewPath("status", "conditions")
	certificatePath                   = field.NewPath("status", "certificate")

	decisions = []certificatesv1.RequestConditionType{certificatesv1.CertificateApproved, certificatesv1.CertificateDenied}
	// final lists the conditions that must be true, and that no update may remove.
	final = append(slices.Clone(decisions), certificatesv1.CertificateFailed)
	// usages is sorted by name.
	usages = slices.Sorted(slices.Values([]certificatesv1.KeyUsage{
		certificatesv1.UsageSigning, certificatesv1.UsageDigitalSignature, certificatesv1.UsageContentCommitment,
		certificatesv1.UsageKeyEncipherment, certificatesv1.UsageKeyAgreement, certificatesv1.UsageDataEncipherment,
		certificatesv1.UsageCertSign, certificatesv1.UsageCRLSign, certificatesv1.UsageEncipherOnly, certificatesv1.UsageDecipherOnly,
		certificatesv1.UsageAny, certificatesv1.UsageServerAuth, certificatesv1.UsageClientAuth, certificatesv1.UsageCodeSigning,
		certificatesv1.UsageEmailProtection, certificatesv1.UsageSMIME, certificatesv1.UsageIPsecEndSystem,
		certificatesv1.UsageIPsecTunnel, certificatesv1.UsageIPsecUser, certificatesv1.UsageTimestamping,
		certificatesv1.UsageOCSPSigning, certificatesv1.UsageMicrosoftSGC, certificatesv1.UsageNetscapeSGC,
	}))
)

// leniency lists the mistakes that a stored request may keep and a new one may not have.
type leniency struct {
	bothDecisions, repeatedTypes, emptyTypes    bool
	legacySigner, repeatedUsages, unknownUsages bool
	anyCertificate                              bool
}

func leniencyFor(r, old *certificatesv1.CertificateSigningRequest) leniency {
	types := map[certificatesv1.RequestConditionType]int{}
	for _, c := range old.Status.Conditions {
		types[c.Type]++
	}
	l := leniency{
		bothDecisions: types[certificatesv1.CertificateApproved] > 0 && types[certificatesv1.CertificateDenied] > 0,
		emptyTypes:    types[""] > 0,
		legacySigner:  old.Spec.SignerName == legacySigner,
		anyCertificate: bytes.Equal(r.Status.Certificate, old.Status.Certificate) ||
			validateCertificate(old.Status.Certificate) != nil,
	}
	for _, n := range types {
		l.repeatedTypes = l.repeatedTypes || n > 1
	}
	l.repeatedUsages = sets.New(old.Spec.Usages...).Len() < len(old.Spec.Usages)
	for _, usage := range old.Spec.Usages {
		l.unknownUsages = l.unknownUsages || !slices.Contains(usages, usage)
	}
	return l
}

func validateCertificateSigningRequest(r *certificatesv1.CertificateSigningRequest, l leniency) field.ErrorList {
	anyName := func(string, bool) []string { return nil }
	errs := builtin.ValidateObjectMeta(&r.ObjectMeta, false, anyName)
	errs = append(errs, validateSpec(&r.Spec, l)...)
	errs = append(errs, validateCertificateSigningRequestConditions(r.Status.Conditions, l)...)
	if l.anyCertificate {
		return errs
	}
	if err := validateCertificate(r.Status.Certificate); err != nil {
		errs = append(errs, field.Invalid(certificatePath, "<certificate data>", err.Error()))
	}
	return errs
}

func validateSpec(spec *certificatesv1.CertificateSigningRequestSpec, l leniency) (errs field.ErrorList) {
	if err := validateRequest(spec.Request); err != nil {
		errs = append(errs, field.Invalid(certificateSigningRequestSpecPath.Child("request"), spec.Request, err.Error()))
	}
	path := certificateSigningRequestSpecPath.Child("usages")
	if len(spec.Usages) == 0 {
		errs = append(errs, field.Required(path, ""))
	}
	for i, usage := range spec.Usages {
		if !l.unknownUsages && !slices.Contains(usages, usage) {
			errs = append(errs, field.NotSupported(path.Index(i), usage, usages))
		}
	}
	seen := sets.New[certificatesv1.KeyUsage]()
	for i, usage := range spec.Usages {
		if !l.repeatedUsages && seen.Has(usage) {
			errs = append(errs, field.Duplicate(path.Index(i), usage))
		}
		seen.Insert(usage)
	}
	path = certificateSigningRequestSpecPath.Child("signerName")
	if !l.legacySigner && spec.SignerName == legacySigner {
		errs = append(errs, field.Invalid(path, spec.SignerName, "the legacy signerName is not allowed via this API version"))
	} else {
		errs = append(errs, builtin.ValidateSignerName(spec.SignerName, path)...)
	}
	if s := spec.ExpirationSeconds; s != nil && *s < 600 {
		errs = append(errs,
			field.Invalid(certificateSigningRequestSpecPath.Child("expirationSeconds"), *s,
				"may not specify a duration less than 600 seconds (10 minutes)"))
	}
	return errs
}

// ParseRequest reads a PKCS#10 request.
func ParseRequest(data []byte) (*x509.CertificateRequest, error) {
	block, _ := pem.Decode(data)
	if block == nil || block.Type != "CERTIFICATE REQUEST" {
		return nil, errors.New("PEM block type must be CERTIFICATE REQUEST")
	}
	return x509.ParseCertificateRequest(block.Bytes)
}

// validateRequest checks the form of a PKCS#10 request, and that it is signed with its own key.
func validateRequest(data []byte) error {
	request, err := ParseRequest(data)
	if err != nil {
		return err
	}
	return request.CheckSignature()
}

// validateCertificate accepts an empty value, or a chain of certificates in PEM.
func validateCertificate(data []byte) error {
	if len(data) == 0 {
		return nil
	}
	blocks := 0
	for block, rest := pem.Decode(data); block != nil; block, rest = pem.Decode(rest) {
		if block.Type != "CERTIFICATE" {
			return fmt.Errorf("only CERTIFICATE PEM blocks are allowed, found %q", block.Type)
		}
		if len(block.Headers) != 0 {
			return errors.New("no PEM block headers are permitted")
		}
		certificates, err := x509.ParseCertificates(block.Bytes)
		if err != nil {
			return err
		}
		if len(certificates) == 0 {
			return errors.New("found CERTIFICATE PEM block containing 0 certificates")
		}
		blocks++
	}
	if blocks == 0 {
		return errors.New("must contain at least one CERTIFICATE PEM block")
	}
	return nil
}

func validateCertificateSigningRequestConditions(conditions []certificatesv1.CertificateSigningRequestCondition,
	l leniency) (errs field.ErrorList) {
	seen := map[certificatesv1.RequestConditionType]bool{}
	for i, c := range conditions {
		path := conditionsPath.Index(i)
		if c.Type == "" && !l.emptyTypes {
			errs = append(errs, field.Required(path.Child("type"), ""))
		}
		allowed := []corev1.ConditionStatus{corev1.ConditionFalse, corev1.ConditionTrue, corev1.ConditionUnknown}
		if slices.Contains(final, c.Type) {
			allowed = []corev1.ConditionStatus{corev1.ConditionTrue}
		}
		if c.Status == "" {
			errs = append(errs, field.Required(path.Child("status"), ""))
		} else if !slices.Contains(allowed, c.Status) {
			errs = append(errs, field.NotSupported(path.Child("status"), c.Status, allowed))
		}
		if seen[c.Type] && !l.repeatedTypes {
			errs = append(errs, field.Duplicate(path.Child("type"), c.Type))
		}
		seen[c.Type] = true
	}
	if seen[certificatesv1.CertificateApproved] && seen[certificatesv1.CertificateDenied] && !l.bothDecisions {
		const both = `conditions[{"type": "Approved"}], conditions[{"type": "Denied"}]`
		errs = append(errs, field.Invalid(conditionsPath, "{"+both+"}", "must specify at most one of: `"+
			`conditions[{"type": "Approved"}]`+"`, `"+`conditions[{"type": "Denied"}]`+"`").MarkCoveredByDeclarative())
	}
	return errs
}

// part identifies the endpoint of an update, which limits the allowed changes.
type part int

const (
	ofObject part = iota
	ofStatus
	ofApproval
)

func checkUpdate(p part) func(r, old *certificatesv1.CertificateSigningRequest) field.ErrorList {
	return func(r, old *certificatesv1.CertificateSigningRequest) field.ErrorList {
		errs := validateCertificateSigningRequest(r, leniencyFor(r, old))
		for _, kind := range final {
			if len(indexes(r, kind)) < len(indexes(old, kind)) {
				errs = append(errs, field.Forbidden(conditionsPath, fmt.Sprintf("updates may not remove a condition of type %q", kind)))
			}
		}
		for _, kind := range decisions {
			if p != ofApproval && len(indexes(r, kind)) > len(indexes(old, kind)) {
				errs = append(errs, field.Forbidden(conditionsPath, fmt.Sprintf("updates may not add a condition of type %q", kind)))
			}
		}
		if !bytes.Equal(r.Status.Certificate, old.Status.Certificate) {
			if p != ofStatus {
				errs = append(errs, field.Forbidden(certificatePath, "updates may not set certificate content"))
			} else if len(old.Status.Certificate) > 0 {
				errs = append(errs, field.Forbidden(certificatePath, "updates may not modify existing certificate content"))
			}
		}
		return append(errs, builtin.ValidateObjectMetaUpdate(&r.ObjectMeta, &old.ObjectMeta)...)
	}
}
