package certificates

import (
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"strings"

	certificatesv1 "k8s.io/api/certificates/v1"
	certificatesv1beta1 "k8s.io/api/certificates/v1beta1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kx-apiserver/kx/server/builtin"
)

// ClusterTrustBundle declares clustertrustbundles.certificates.k8s.io: the certificate authorities that a signer's
// clients trust. They are stored in v1beta1, which the previous version of kube-apiserver can read.
var ClusterTrustBundle = builtin.Resource[*certificatesv1beta1.ClusterTrustBundle]{
	Names:         builtin.Names{Plural: "clustertrustbundles", Singular: "clustertrustbundle"},
	List:          &certificatesv1beta1.ClusterTrustBundleList{},
	Stored:        certificatesv1beta1.SchemeGroupVersion,
	Served:        []schema.GroupVersion{certificatesv1.SchemeGroupVersion, certificatesv1beta1.SchemeGroupVersion},
	Alike:         []schema.GroupVersion{certificatesv1.SchemeGroupVersion},
	ClusterScoped: true,
	Fields: []builtin.Field[*certificatesv1beta1.ClusterTrustBundle]{
		{Label: "spec.signerName", Value: func(b *certificatesv1beta1.ClusterTrustBundle) string { return b.Spec.SignerName }},
	},
	Validate: func(b *certificatesv1beta1.ClusterTrustBundle) field.ErrorList {
		return validateClusterTrustBundle(b, nil)
	},
	ValidateUpdate:    validateClusterTrustBundleUpdate,
	ConditionalUpdate: true,
	Columns: []builtin.Column{
		builtin.NameColumn,
		{Name: "SignerName", Type: "string", Description: certificatesv1.ClusterTrustBundleSpec{}.SwaggerDoc()["signerName"]},
	},
	Row: func(b *certificatesv1beta1.ClusterTrustBundle) metav1.TableRow {
		if b.Spec.SignerName == "" {
			return builtin.Row(b.Name, "<none>")
		}
		return builtin.Row(b.Name, b.Spec.SignerName)
	},
}

var (
	signerPath = field.NewPath("spec", "signerName")
	bundlePath = field.NewPath("spec", "trustBundle")
)

func validateClusterTrustBundleUpdate(b, old *certificatesv1beta1.ClusterTrustBundle) field.ErrorList {
	errs := validateClusterTrustBundle(b, old)
	errs = append(errs, builtin.ValidateObjectMetaUpdate(&b.ObjectMeta, &old.ObjectMeta)...)
	return append(errs, apivalidation.ValidateImmutableField(b.Spec.SignerName, old.Spec.SignerName, signerPath)...)
}

// validateClusterTrustBundle does not check an unchanged bundle: it was accepted before.
func validateClusterTrustBundle(b, old *certificatesv1beta1.ClusterTrustBundle) field.ErrorList {
	errs := builtin.ValidateObjectMeta(&b.ObjectMeta, false, nameFor(b.Spec.SignerName))
	if b.Spec.SignerName != "" {
		errs = append(errs, builtin.ValidateSignerName(b.Spec.SignerName, signerPath)...)
	}
	if old != nil && b.Spec.TrustBundle == old.Spec.TrustBundle {
		return errs
	}
	return append(errs, validateBundle(b.Spec.TrustBundle)...)
}

// nameFor requires that a bundle's name begins with its signer's.
func nameFor(signer string) apivalidation.ValidateNameFunc {
	return func(name string, prefix bool) []string {
		begin := strings.ReplaceAll(signer, "/", ":") + ":"
		switch {
		case signer == "" && strings.Contains(name, ":"):
			return []string{`ClusterTrustBundle without signer name must not have ":" in its name`}
		case signer == "":
			return apivalidation.NameIsDNSSubdomain(name, prefix)
		case !strings.HasPrefix(name, begin):
			return []string{fmt.Sprintf("ClusterTrustBundle for signerName %s must be named with prefix %s", signer, begin)}
		}
		return apivalidation.NameIsDNSSubdomain(strings.TrimPrefix(name, begin), prefix)
	}
}

// maxBundle is the size limit of a bundle in bytes.
const maxBundle = 1 << 20

// validateBundle requires certificates of authorities without duplicates. The errors do not quote the bundle.
func validateBundle(text string) (errs field.ErrorList) {
	if len(text) > maxBundle {
		return field.ErrorList{field.TooLong(bundlePath, "", maxBundle)}
	}
	wrong := func(format string, args ...any) {
		errs = append(errs, field.Invalid(bundlePath, "<value omitted>", fmt.Sprintf(format, args...)))
	}
	var order []string
	entries := map[string][]int{}
	i := 0
	for block, rest := pem.Decode([]byte(text)); block != nil; block, rest = pem.Decode(rest) {
		if mistake := mistakeIn(block); mistake != "" {
			wrong("entry %d %s", i, mistake)
		} else {
			if entries[string(block.Bytes)] == nil {
				order = append(order, string(block.Bytes))
			}
			entries[string(block.Bytes)] = append(entries[string(block.Bytes)], i)
		}
		i++
	}
	if len(errs) > 0 {
		return errs
	}
	if len(entries) == 0 {
		wrong("at least one trust anchor must be provided")
	}
	for _, entry := range order {
		if at := entries[entry]; len(at) > 1 {
			wrong("duplicate trust anchor (indices %v)", at)
		}
	}
	return errs
}

func mistakeIn(block *pem.Block) string {
	if block.Type != "CERTIFICATE" {
		return "has bad block type: " + block.Type
	}
	if len(block.Headers) != 0 {
		return "has PEM block headers"
	}
	certificate, err := x509.ParseCertificate(block.Bytes)
	switch {
	case err != nil:
		return "does not parse as X.509"
	case !certificate.IsCA:
		return "does not have the CA bit set"
	case !certificate.BasicConstraintsValid:
		return "has invalid basic constraints"
	}
	return ""
}
