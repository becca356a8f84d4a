//lint:file-ignore SA1019 requests may have the key in its old fields still

package certificates

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/x509"
	"fmt"
	"strings"

	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kx-apiserver/kx/server/builtin"
)

const (
	defaultSeconds   = 24 * 60 * 60
	minSeconds       = 60 * 60
	maxSeconds       = 91 * 24 * 60 * 60
	maxOfKubernetes  = 24 * 60 * 60 // for Kubernetes' own signers
	maxUID           = 128
	maxKey, maxProof = 10 << 10, 10 << 10
	maxStub          = 10 << 10
)

var (
	podCertificateRequestSpecPath = field.NewPath("spec")
	keyPath                       = podCertificateRequestSpecPath.Child("pkixPublicKey")
	proofPath                     = podCertificateRequestSpecPath.Child("proofOfPossession")
	stubPath                      = podCertificateRequestSpecPath.Child("stubPKCS10Request")
)

func setDefaultSeconds(seconds **int32) {
	if *seconds == nil {
		*seconds = new(int32(defaultSeconds))
	}
}

func validatePodCertificateRequest(r *podCertificateRequest) field.ErrorList {
	s := &r.Spec
	errs := builtin.ValidateObjectMeta(&r.ObjectMeta, true, apivalidation.NameIsDNSSubdomain)
	errs = append(errs, builtin.ValidateSignerName(s.SignerName, podCertificateRequestSpecPath.Child("signerName"))...)
	if s.UnverifiedUserAnnotations != nil {
		errs = append(errs,
			builtin.ValidateUserAnnotations(s.UnverifiedUserAnnotations,
				podCertificateRequestSpecPath.Child("unverifiedUserAnnotations"))...)
	}
	for _, who := range []struct {
		name, uid string
		path      string
		check     apivalidation.ValidateNameFunc
	}{
		{s.PodName, string(s.PodUID), "pod", apivalidation.NameIsDNSSubdomain},
		{s.ServiceAccountName, string(s.ServiceAccountUID), "serviceAccount", apivalidation.ValidateServiceAccountName},
		{string(s.NodeName), string(s.NodeUID), "node", apivalidation.NameIsDNSSubdomain},
	} {
		uidPath := podCertificateRequestSpecPath.Child(who.path + "UID")
		errs = append(errs, builtin.Invalids(podCertificateRequestSpecPath.Child(who.path+"Name"), who.name, who.check(who.name, false))...)
		if who.uid == "" {
			errs = append(errs, field.Invalid(uidPath, who.uid, "must not be empty"))
		}
		if len(who.uid) > maxUID {
			errs = append(errs, field.TooLong(uidPath, who.uid, maxUID))
		}
	}
	secondsPath, limit := podCertificateRequestSpecPath.Child("maxExpirationSeconds"), int32(maxSeconds)
	if s.MaxExpirationSeconds == nil {
		return append(errs, field.Required(secondsPath, "must be set"))
	}
	if domain, _, _ := strings.Cut(s.SignerName, "/"); domain == "kubernetes.io" || strings.HasSuffix(domain, ".kubernetes.io") {
		limit = maxOfKubernetes
	}
	if seconds := *s.MaxExpirationSeconds; seconds < minSeconds || seconds > limit {
		errs = append(errs, field.Invalid(secondsPath, seconds, fmt.Sprintf("must be in the range [%d, %d]", minSeconds, limit)))
	}
	return append(errs, validateProof(r)...)
}

// validateProof checks that the client holds the private key: it used the key to sign a certificate request, or its
// pod's UID.
func validateProof(r *podCertificateRequest) field.ErrorList {
	stub, key, proof := len(r.Spec.StubPKCS10Request) > 0, len(r.Spec.PKIXPublicKey) > 0, len(r.Spec.ProofOfPossession) > 0
	switch {
	case stub && !key && !proof:
		return validateStub(r.Spec.StubPKCS10Request)
	case !stub && key && proof:
		return validateKey(r)
	}
	return field.ErrorList{field.Invalid(podCertificateRequestSpecPath, field.OmitValueType{},
		"exactly one of (stubPKCS10Request) or (pkixPublicKey, proofOfPossession) must be set")}
}

func validateStub(stub []byte) field.ErrorList {
	if len(stub) > maxStub {
		return field.ErrorList{field.TooLong(stubPath, stub, maxStub)}
	}
	parsed, err := x509.ParseCertificateRequest(stub)
	if err != nil {
		return field.ErrorList{field.Invalid(stubPath, field.OmitValueType{}, "must be a valid PKCS#10 CSR")}
	}
	if err := weakness(parsed.PublicKey, stubPath, "elliptic public keys must use curve P256, P384, or P521",
		field.OmitValueType{}); err != nil {
		return field.ErrorList{err}
	}
	if parsed.CheckSignature() != nil {
		return field.ErrorList{field.Invalid(stubPath, field.OmitValueType{}, "invalid signature")}
	}
	return nil
}

// validateKey checks the deprecated form of a request.
func validateKey(r *podCertificateRequest) field.ErrorList {
	key, proof := r.Spec.PKIXPublicKey, r.Spec.ProofOfPossession
	if len(key) > maxKey {
		return field.ErrorList{field.TooLong(keyPath, key, maxKey)}
	}
	if len(proof) > maxProof {
		return field.ErrorList{field.TooLong(proofPath, proof, maxProof)}
	}
	public, err := x509.ParsePKIXPublicKey(key)
	if err != nil {
		return field.ErrorList{field.Invalid(keyPath, key, "must be a valid PKIX-serialized public key")}
	}
	if err := weakness(public, keyPath, "elliptic public keys must use curve P256 or P384", key); err != nil {
		return field.ErrorList{err}
	}
	uid := []byte(r.Spec.PodUID)
	hash := sha256.Sum256(uid)
	proven := false
	switch public := public.(type) {
	case ed25519.PublicKey:
		proven = ed25519.Verify(public, uid, proof)
	case *ecdsa.PublicKey:
		proven = ecdsa.VerifyASN1(public, hash[:], proof)
	case *rsa.PublicKey:
		proven = rsa.VerifyPSS(public, crypto.SHA256, hash[:], proof, nil) == nil
	}
	if !proven {
		return field.ErrorList{field.Invalid(proofPath, field.OmitValueType{}, "could not verify proof-of-possession signature")}
	}
	return nil
}

// weakness returns an error for a key of an unsupported type or size.
func weakness(public crypto.PublicKey, path *field.Path, curves string, value any) *field.Error {
	switch public := public.(type) {
	case ed25519.PublicKey:
	case *ecdsa.PublicKey:
		if public.Curve != elliptic.P256() && public.Curve != elliptic.P384() && public.Curve != elliptic.P521() {
			return field.Invalid(path, "curve "+public.Curve.Params().Name, curves)
		}
	case *rsa.PublicKey:
		if bits := public.Size() * 8; bits != 3072 && bits != 4096 {
			return field.Invalid(path, fmt.Sprintf("%d-bit modulus", bits), "RSA keys must have modulus size 3072 or 4096")
		}
	default:
		return field.Invalid(path, value, "unknown public key type; supported types are Ed25519, ECDSA, and RSA")
	}
	return nil
}

func validatePodCertificateRequestUpdate(r, old *podCertificateRequest) field.ErrorList {
	errs := builtin.ValidateObjectMetaUpdate(&r.ObjectMeta, &old.ObjectMeta)
	return append(errs, builtin.ValidateImmutable(r.Spec, old.Spec, podCertificateRequestSpecPath)...)
}
