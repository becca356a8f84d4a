package networking

import (
	"fmt"
	"strings"

	networkingv1 "k8s.io/api/networking/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	netutils "k8s.io/utils/net"

	"github.com/kx-apiserver/kx/server/builtin"
)

// rules sets the strictness of a validation. A stored ingress may keep values that older rules allowed.
type rules struct {
	anySecretName bool
	// anyWildcard leaves the paths of hosts with a wildcard unchecked.
	anyWildcard bool
	serviceName apivalidation.ValidateNameFunc
}

func validateIngressCreate(i *networkingv1.Ingress) field.ErrorList {
	errs := validateIngress(i, rules{serviceName: apivalidation.NameIsDNSLabel})
	class, annotated := i.Annotations[classAnnotation]
	if annotated && i.Spec.IngressClassName != nil && class != *i.Spec.IngressClassName {
		errs = append(errs, field.Invalid(field.NewPath("annotations").Child(classAnnotation), class,
			"must match `ingressClassName` when both are specified"))
	}
	return errs
}

func validateIngressUpdate(i, old *networkingv1.Ingress) field.ErrorList {
	errs := builtin.ValidateObjectMetaUpdate(&i.ObjectMeta, &old.ObjectMeta)
	return append(errs, validateIngress(i, rulesFor(old))...)
}

// rulesFor returns the rules for an update of old.
func rulesFor(old *networkingv1.Ingress) rules {
	r := rules{serviceName: apivalidation.NameIsDNSLabel}
	for _, tls := range old.Spec.TLS {
		r.anySecretName = r.anySecretName || len(secretNameMistakes(tls.SecretName)) > 0
	}
	strict := rules{serviceName: apivalidation.NameIsDNS1035Label}
	for _, rule := range old.Spec.Rules {
		r.anyWildcard = r.anyWildcard || strings.Contains(rule.Host, "*") && len(strict.http(rule.HTTP, nil)) > 0
	}
	return r
}

func validateIngress(i *networkingv1.Ingress, r rules) field.ErrorList {
	errs := builtin.ValidateObjectMeta(&i.ObjectMeta, true, apivalidation.NameIsDNSSubdomain)
	spec, path := &i.Spec, field.NewPath("spec")
	if len(spec.Rules) == 0 && spec.DefaultBackend == nil {
		errs = append(errs, field.Invalid(path, spec.Rules, "either `defaultBackend` or `rules` must be specified"))
	}
	if spec.DefaultBackend != nil {
		errs = append(errs, r.backend(spec.DefaultBackend, path.Child("defaultBackend"))...)
	}
	for n := range spec.Rules {
		errs = append(errs, r.rule(&spec.Rules[n], path.Child("rules").Index(n))...)
	}
	for n := range spec.TLS {
		errs = append(errs, r.tls(&spec.TLS[n], path.Child("tls").Index(n))...)
	}
	if class := spec.IngressClassName; class != nil {
		errs = append(errs, builtin.Invalids(path.Child("ingressClassName"), *class, apivalidation.NameIsDNSSubdomain(*class, false))...)
	}
	return errs
}

func (r rules) rule(rule *networkingv1.IngressRule, path *field.Path) (errs field.ErrorList) {
	if rule.Host != "" {
		if netutils.ParseIPSloppy(rule.Host) != nil {
			errs = append(errs, field.Invalid(path.Child("host"), rule.Host, "must be a DNS name, not an IP address"))
		}
		errs = append(errs, validateHost(rule.Host, path.Child("host"))...)
	}
	if strings.Contains(rule.Host, "*") && r.anyWildcard {
		return errs
	}
	return append(errs, r.http(rule.HTTP, path.Child("http"))...)
}

func validateHost(host string, path *field.Path) field.ErrorList {
	check := validation.IsDNS1123Subdomain
	if strings.Contains(host, "*") {
		check = validation.IsWildcardDNS1123Subdomain
	}
	return builtin.Invalids(path, host, check(host))
}

func (r rules) tls(tls *networkingv1.IngressTLS, path *field.Path) (errs field.ErrorList) {
	for n, host := range tls.Hosts {
		errs = append(errs, validateHost(host, path.Child("hosts").Index(n))...)
	}
	if !r.anySecretName {
		errs = append(errs, builtin.Invalids(path.Child("secretName"), tls.SecretName, secretNameMistakes(tls.SecretName))...)
	}
	return errs
}

func secretNameMistakes(name string) []string {
	if name == "" {
		return nil
	}
	return apivalidation.NameIsDNSSubdomain(name, false)
}

func (r rules) http(http *networkingv1.HTTPIngressRuleValue, path *field.Path) (errs field.ErrorList) {
	if http == nil {
		return nil
	}
	path = path.Child("paths")
	if len(http.Paths) == 0 {
		errs = append(errs, field.Required(path, ""))
	}
	for n := range http.Paths {
		errs = append(errs, r.path(&http.Paths[n], path.Index(n))...)
	}
	return errs
}

func (r rules) path(p *networkingv1.HTTPIngressPath, path *field.Path) (errs field.ErrorList) {
	if p.PathType == nil {
		return field.ErrorList{field.Required(path.Child("pathType"), "pathType must be specified")}
	}
	switch *p.PathType {
	case networkingv1.PathTypeExact, networkingv1.PathTypePrefix:
		errs = validatePath(p.Path, path.Child("path"))
	case networkingv1.PathTypeImplementationSpecific:
		if p.Path != "" && !strings.HasPrefix(p.Path, "/") {
			errs = append(errs, field.Invalid(path.Child("path"), p.Path, "must be an absolute path"))
		}
	default:
		known := []networkingv1.PathType{networkingv1.PathTypeExact, networkingv1.PathTypeImplementationSpecific,
			networkingv1.PathTypePrefix}
		errs = append(errs, field.NotSupported(path.Child("pathType"), *p.PathType, known))
	}
	return append(errs, r.backend(&p.Backend, path.Child("backend"))...)
}

// validatePath refuses paths that a proxy would normalise before comparing them.
func validatePath(value string, path *field.Path) (errs field.ErrorList) {
	if !strings.HasPrefix(value, "/") {
		errs = append(errs, field.Invalid(path, value, "must be an absolute path"))
	}
	for _, part := range []string{"//", "/./", "/../", "%2f", "%2F"} {
		if strings.Contains(value, part) {
			errs = append(errs, field.Invalid(path, value, fmt.Sprintf("must not contain '%s'", part)))
		}
	}
	for _, end := range []string{"/..", "/."} {
		if strings.HasSuffix(value, end) {
			errs = append(errs, field.Invalid(path, value, fmt.Sprintf("cannot end with '%s'", end)))
		}
	}
	return errs
}
