package podspec

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kx-apiserver/kx/server/builtin"
)

// The kubelet writes the files of these volumes: secrets, config maps, the downward API, tokens, bundles,
// certificates.

func fileMode(mode *int32, path *field.Path) field.ErrorList {
	if mode != nil && (*mode < 0 || *mode > 0777) {
		return field.ErrorList{field.Invalid(path, *mode, "must be a number between 0 and 0777 (octal), both inclusive")}
	}
	return nil
}

func validateKeysToPaths(items []corev1.KeyToPath, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i, item := range items {
		at := path.Index(i)
		errs = append(errs, required(at, "key", item.Key, "path", item.Path)...)
		errs = append(errs, localPath(item.Path, at.Child("path"))...)
		errs = append(errs, fileMode(item.Mode, at.Child("mode"))...)
	}
	return errs
}

func validateDownwardFile(file *corev1.DownwardAPIVolumeFile, path *field.Path) field.ErrorList {
	errs := required(path, "path", file.Path)
	errs = append(errs, localPath(file.Path, path.Child("path"))...)
	switch {
	case file.FieldRef != nil:
		errs = append(errs, validateFieldRef(file.FieldRef, volumeFieldPaths, path.Child("fieldRef"))...)
		if file.ResourceFieldRef != nil {
			errs = append(errs, field.Invalid(path, "resource", "fieldRef and resourceFieldRef can not be specified simultaneously"))
		}
	case file.ResourceFieldRef != nil:
		errs = append(errs, validateResourceFieldRef(file.ResourceFieldRef, path.Child("resourceFieldRef"), true)...)
	default:
		errs = append(errs, field.Required(path, "one of fieldRef and resourceFieldRef is required"))
	}
	return append(errs, fileMode(file.Mode, path.Child("mode"))...)
}

// projection holds the files of one projected volume. No source may overwrite another's file.
type projection struct {
	*validator
	path  *field.Path
	files sets.Set[string]
}

func (v *validator) validateProjected(s *corev1.Volume, path *field.Path) field.ErrorList {
	p := &projection{validator: v, path: path, files: sets.New[string]()}
	errs := fileMode(s.Projected.DefaultMode, path.Child("defaultMode"))
	for i := range s.Projected.Sources {
		errs = append(errs, p.validatePart(&s.Projected.Sources[i], path.Child("sources").Index(i))...)
	}
	return errs
}

func (p *projection) validatePart(source *corev1.VolumeProjection, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	kinds := 0
	if s := source.Secret; s != nil {
		kinds++
		errs = append(errs, p.validateItems(s.Name, s.Items, path.Child("secret"))...)
	}
	if s := source.ConfigMap; s != nil {
		kinds++
		errs = append(errs, p.validateItems(s.Name, s.Items, path.Child("configMap"))...)
	}
	if s := source.DownwardAPI; s != nil {
		kinds++
		for i := range s.Items {
			errs = append(errs, validateDownwardFile(&s.Items[i], path.Child("downwardAPI"))...)
			errs = append(errs, p.add(s.Items[i].Path, s.Items[i].Path)...)
		}
	}
	if s := source.ServiceAccountToken; s != nil {
		kinds++
		errs = append(errs, p.validateToken(s, path.Child("serviceAccountToken"))...)
	}
	if s := source.ClusterTrustBundle; s != nil {
		kinds++
		errs = append(errs, validateTrustBundle(s, path.Child("clusterTrustBundle"))...)
		errs = append(errs, p.add(s.Path, s.Path)...)
	}
	if s := source.PodCertificate; s != nil {
		kinds++
		errs = append(errs, p.validateCertificate(s, path.Child("podCertificate"))...)
	}
	if kinds > 1 {
		errs = append(errs, field.Forbidden(path, "may not specify more than 1 volume type per source"))
	}
	return errs
}

// add claims a file's path for a source. The error for a path that is claimed already names the source.
func (p *projection) add(path, source string) field.ErrorList {
	if path == "" {
		return nil
	}
	if p.files.Has(path) {
		return field.ErrorList{field.Invalid(p.path, source, "conflicting duplicate paths")}
	}
	p.files.Insert(path)
	return nil
}

func (p *projection) validateItems(name string, items []corev1.KeyToPath, path *field.Path) field.ErrorList {
	errs := required(path, "name", name)
	errs = append(errs, validateKeysToPaths(items, path.Child("items"))...)
	for _, item := range items {
		errs = append(errs, p.add(item.Path, name)...)
	}
	return errs
}

const minTokenSeconds, maxTokenSeconds = 10 * 60, 1 << 32

func (p *projection) validateToken(s *corev1.ServiceAccountTokenProjection, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if s.ExpirationSeconds != nil {
		if *s.ExpirationSeconds < minTokenSeconds {
			errs = append(errs,
				field.Invalid(path.Child("expirationSeconds"), *s.ExpirationSeconds, "may not specify a duration less than 10 minutes"))
		}
		if *s.ExpirationSeconds > maxTokenSeconds {
			errs = append(errs,
				field.Invalid(path.Child("expirationSeconds"), *s.ExpirationSeconds, "may not specify a duration larger than 2^32 seconds"))
		}
	}
	switch {
	case s.Path == "":
		errs = append(errs, field.Required(p.path.Child("path"), ""))
	case !p.Tolerated.TokenPath:
		errs = append(errs, localPath(s.Path, p.path.Child("path"))...)
	}
	return errs
}

func validateTrustBundle(s *corev1.ClusterTrustBundleProjection, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	switch {
	case s.Name != nil && s.SignerName != nil:
		errs = append(errs, field.Invalid(path, builtin.Quote(s), "only one of name and signerName may be used"))
	case s.Name != nil:
		if *s.Name == "" {
			errs = append(errs, field.Required(path.Child("name"), "must be a valid object name"))
		}
		// The bundle of a signer is named signer:name, with a colon for the signer's slash.
		plain := (*s.Name)[strings.LastIndex(*s.Name, ":")+1:]
		for _, message := range apivalidation.NameIsDNSSubdomain(plain, false) {
			errs = append(errs, field.Invalid(path.Child("name"), *s.Name, fmt.Sprintf("not a valid clustertrustbundlename: %v", message)))
		}
		if s.LabelSelector != nil {
			errs = append(errs,
				field.Invalid(path.Child("labelSelector"), s.LabelSelector, "labelSelector must be unset if name is specified"))
		}
	case s.SignerName != nil:
		if *s.SignerName == "" {
			errs = append(errs, field.Required(path.Child("signerName"), "must be a valid signer name"))
		}
		errs = append(errs, builtin.ValidateSignerName(*s.SignerName, path.Child("signerName"))...)
		errs = append(errs,
			metav1validation.ValidateLabelSelector(s.LabelSelector, metav1validation.LabelSelectorValidationOptions{},
				path.Child("labelSelector"))...)
	default:
		errs = append(errs, field.Required(path, "either name or signerName must be specified"))
	}
	errs = append(errs, required(path, "path", s.Path)...)
	return append(errs, localPath(s.Path, path.Child("path"))...)
}

const (
	minCertificateSeconds = secondsPerHour
	maxCertificateSeconds = 91 * secondsPerDay
)

func (p *projection) validateCertificate(s *corev1.PodCertificateProjection, path *field.Path) field.ErrorList {
	errs := builtin.ValidateSignerName(s.SignerName, path.Child("signerName"))
	errs = append(errs, supportedOrEmpty(path.Child("keyType"), s.KeyType,
		"RSA3072", "RSA4096", "ECDSAP256", "ECDSAP384", "ECDSAP521", "ED25519")...)
	if m := s.MaxExpirationSeconds; m != nil && *m < minCertificateSeconds {
		errs = append(errs, field.Invalid(path.Child("maxExpirationSeconds"), *m, "if provided, maxExpirationSeconds must be >= 3600"))
	} else if m != nil && *m > maxCertificateSeconds {
		errs = append(errs, field.Invalid(path.Child("maxExpirationSeconds"), *m, "if provided, maxExpirationSeconds must be <= 7862400"))
	}
	written := 0
	for _, file := range []struct{ name, path string }{
		{"credentialBundlePath", s.CredentialBundlePath}, {"keyPath", s.KeyPath}, {"certificateChainPath", s.CertificateChainPath},
	} {
		if file.path != "" {
			written++
			errs = append(errs, localPath(file.path, path.Child(file.name))...)
			errs = append(errs, p.add(file.path, file.path)...)
		}
	}
	if written == 0 {
		errs = append(errs, field.Required(path, "specify at least one of credentialBundlePath, keyPath, and certificateChainPath"))
	}
	return errs
}
