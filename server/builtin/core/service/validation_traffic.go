package service

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kx-apiserver/kx/server/builtin"
)

const onlyLoadBalancer = "may only be used when `type` is 'LoadBalancer'"

func validateLoadBalancer(svc, old *corev1.Service) (errs field.ErrorList) {
	errs = validateSourceRanges(svc, old)
	allocate := svc.Spec.AllocateLoadBalancerNodePorts
	switch {
	case allocate != nil && !isLoadBalancer(svc):
		errs = append(errs, field.Forbidden(specPath.Child("allocateLoadBalancerNodePorts"), onlyLoadBalancer))
	case allocate == nil && isLoadBalancer(svc):
		// The path has no "spec", as in every Kubernetes API server.
		errs = append(errs, field.Required(field.NewPath("allocateLoadBalancerNodePorts"), ""))
	}
	return append(errs, validateLoadBalancerClass(svc)...)
}

// validateSourceRanges refuses forms that can be read as several ranges. What the stored service had may stay.
func validateSourceRanges(svc, old *corev1.Service) (errs field.ErrorList) {
	if len(svc.Spec.LoadBalancerSourceRanges) > 0 {
		path := specPath.Child("LoadBalancerSourceRanges")
		if !isLoadBalancer(svc) {
			errs = append(errs, field.Forbidden(path, onlyLoadBalancer))
		}
		had := sets.Set[string]{}
		if old != nil {
			for _, cidr := range old.Spec.LoadBalancerSourceRanges {
				had.Insert(strings.TrimSpace(cidr))
			}
		}
		for i, cidr := range svc.Spec.LoadBalancerSourceRanges {
			if cidr = strings.TrimSpace(cidr); !had.Has(cidr) {
				errs = append(errs, validation.IsValidCIDRForLegacyField(path.Index(i), cidr, true, nil)...)
			}
		}
		return errs
	}
	value, ok := svc.Annotations[corev1.AnnotationLoadBalancerSourceRangesKey]
	if !ok {
		return nil
	}
	path := field.NewPath("metadata", "annotations").Key(corev1.AnnotationLoadBalancerSourceRangesKey)
	if !isLoadBalancer(svc) {
		errs = append(errs, field.Forbidden(path, onlyLoadBalancer))
	}
	same := old != nil && old.Annotations[corev1.AnnotationLoadBalancerSourceRangesKey] == value
	if value = strings.TrimSpace(value); same || value == "" {
		return errs
	}
	for cidr := range strings.SplitSeq(value, ",") {
		errs = append(errs, validation.IsValidCIDRForLegacyField(path, strings.TrimSpace(cidr), true, nil)...)
	}
	return errs
}

func validateLoadBalancerClass(svc *corev1.Service) (errs field.ErrorList) {
	path, class := specPath.Child("loadBalancerClass"), svc.Spec.LoadBalancerClass
	if !isLoadBalancer(svc) {
		if class != nil {
			errs = append(errs, field.Forbidden(path, onlyLoadBalancer))
		}
		return errs
	}
	if class != nil {
		errs = append(errs, invalid(path, *class, validation.IsQualifiedName(*class))...)
	}
	return errs
}

func validateExternalTraffic(svc *corev1.Service) (errs field.ErrorList) {
	path, policy := specPath.Child("externalTrafficPolicy"), svc.Spec.ExternalTrafficPolicy
	switch {
	case !externallyAccessible(svc):
		if policy != "" {
			errs = append(errs, field.Invalid(path, policy, "may only be set for externally-accessible services"))
		}
	case policy == "":
		errs = append(errs, field.Required(path, ""))
	default:
		errs = append(errs, oneOf(policy, externalPolicies, path)...)
	}
	portPath, port := specPath.Child("healthCheckNodePort"), svc.Spec.HealthCheckNodePort
	switch {
	case !needsHealthCheck(svc):
		if port != 0 {
			errs = append(errs, field.Invalid(portPath, port,
				"may only be set when `type` is 'LoadBalancer' and `externalTrafficPolicy` is 'Local'"))
		}
	case port == 0:
		errs = append(errs, field.Required(portPath, ""))
	default:
		errs = append(errs, invalid(portPath, port, validation.IsValidPortNum(int(port)))...)
	}
	return errs
}

func validateInternalTraffic(svc *corev1.Service) field.ErrorList {
	path, policy := specPath.Child("internalTrafficPolicy"), svc.Spec.InternalTrafficPolicy
	if policy != nil {
		return oneOf(*policy, internalPolicies, path)
	}
	if needsNodePort(svc) || svc.Spec.Type == corev1.ServiceTypeClusterIP {
		return field.ErrorList{field.Required(path, "")}
	}
	return nil
}

func validateUpdate(svc, old *corev1.Service) field.ErrorList {
	errs := builtin.ValidateObjectMetaUpdate(&svc.ObjectMeta, &old.ObjectMeta)
	errs = append(errs, validateClusterIPsUpdate(svc, old)...)
	errs = append(errs, validateFamiliesUpdate(svc, old)...)
	if isLoadBalancer(svc) && isLoadBalancer(old) && !sameValue(svc.Spec.LoadBalancerClass, old.Spec.LoadBalancerClass) {
		errs = append(errs, field.Invalid(specPath.Child("loadBalancerClass"), svc.Spec.LoadBalancerClass, "may not change once set"))
	}
	if needsHealthCheck(svc) && needsHealthCheck(old) && svc.Spec.HealthCheckNodePort != old.Spec.HealthCheckNodePort {
		errs = append(errs, field.Forbidden(specPath.Child("healthCheckNodePort"), "field is immutable"))
	}
	return append(errs, validate(svc, old)...)
}

func validateStatusUpdate(svc, old *corev1.Service) field.ErrorList {
	errs := builtin.ValidateObjectMetaUpdate(&svc.ObjectMeta, &old.ObjectMeta)
	path := field.NewPath("status", "loadBalancer", "ingress")
	if !isLoadBalancer(svc) && len(svc.Status.LoadBalancer.Ingress) > 0 {
		return append(errs, field.Forbidden(path, "may only be used when `spec.type` is 'LoadBalancer'"))
	}
	had := sets.Set[string]{}
	for _, in := range old.Status.LoadBalancer.Ingress {
		had.Insert(in.IP)
	}
	for i := range svc.Status.LoadBalancer.Ingress {
		errs = append(errs, validateIngress(&svc.Status.LoadBalancer.Ingress[i], path.Index(i), had)...)
	}
	return errs
}

func validateIngress(in *corev1.LoadBalancerIngress, path *field.Path, had sets.Set[string]) (errs field.ErrorList) {
	if in.IP != "" {
		errs = append(errs, validateAddress(in.IP, path.Child("ip"), had)...)
	}
	modePath := path.Child("ipMode")
	switch {
	case in.IPMode == nil && in.IP != "":
		errs = append(errs, field.Required(modePath, "must be specified when `ip` is set"))
	case in.IPMode != nil && in.IP == "":
		errs = append(errs, field.Forbidden(modePath, "may not be specified when `ip` is not set"))
	case in.IPMode != nil:
		errs = append(errs, oneOf(*in.IPMode, ipModes, modePath)...)
	}
	if in.Hostname != "" {
		errs = append(errs, invalid(path.Child("hostname"), in.Hostname, validation.IsDNS1123Subdomain(in.Hostname))...)
		if len(validation.IsValidIPForLegacyField(nil, in.Hostname, false, nil)) == 0 {
			errs = append(errs, field.Invalid(path.Child("hostname"), in.Hostname, "must be a DNS name, not an IP address"))
		}
	}
	return errs
}
