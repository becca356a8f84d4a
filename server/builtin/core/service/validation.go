package service

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kx-apiserver/kx/server/builtin"
)

var specPath = field.NewPath("spec")

// The valid values of fields, in the order of the messages.
var (
	affinities = []corev1.ServiceAffinity{corev1.ServiceAffinityClientIP, corev1.ServiceAffinityNone}
	types      = []corev1.ServiceType{corev1.ServiceTypeClusterIP, corev1.ServiceTypeExternalName, corev1.ServiceTypeLoadBalancer,
		corev1.ServiceTypeNodePort}
	protocols        = []corev1.Protocol{corev1.ProtocolSCTP, corev1.ProtocolTCP, corev1.ProtocolUDP}
	externalPolicies = []corev1.ServiceExternalTrafficPolicy{corev1.ServiceExternalTrafficPolicyCluster,
		corev1.ServiceExternalTrafficPolicyLocal}
	internalPolicies = []corev1.ServiceInternalTrafficPolicy{corev1.ServiceInternalTrafficPolicyCluster,
		corev1.ServiceInternalTrafficPolicyLocal}
	trafficDistribution = []string{corev1.ServiceTrafficDistributionPreferClose, corev1.ServiceTrafficDistributionPreferSameZone,
		corev1.ServiceTrafficDistributionPreferSameNode}
	ipModes = []corev1.LoadBalancerIPMode{corev1.LoadBalancerIPModeProxy, corev1.LoadBalancerIPModeVIP}
)

const maxAffinitySeconds = 86400

// anyName accepts every name. It is the rule for stored services: their names can't change, but the rule for names
// has changed.
func anyName(string, bool) []string { return nil }

// validate checks svc. old is the stored service, or nil for a new one.
func validate(svc, old *corev1.Service) field.ErrorList {
	name := apivalidation.NameIsDNSLabel
	if old != nil {
		name = anyName
	}
	errs := builtin.ValidateObjectMeta(&svc.ObjectMeta, true, name)
	errs = append(errs, validateTopologyAnnotations(svc)...)
	errs = append(errs, validateType(svc)...)
	errs = append(errs, validatePorts(svc)...)
	if svc.Spec.Selector != nil {
		errs = append(errs, metavalidation.ValidateLabels(svc.Spec.Selector, specPath.Child("selector"))...)
	}
	errs = append(errs, validateAffinity(svc)...)
	errs = append(errs, validateClusterIPs(svc, old)...)
	errs = append(errs, validateExternalIPs(svc, old)...)
	switch {
	case svc.Spec.Type == "":
		errs = append(errs, field.Required(specPath.Child("type"), ""))
	default:
		errs = append(errs, oneOf(svc.Spec.Type, types, specPath.Child("type"))...)
	}
	errs = append(errs, validateNodePorts(svc)...)
	errs = append(errs, validateLoadBalancer(svc, old)...)
	errs = append(errs, validateExternalTraffic(svc)...)
	errs = append(errs, validateInternalTraffic(svc)...)
	if d := svc.Spec.TrafficDistribution; d != nil {
		errs = append(errs, oneOf(*d, trafficDistribution, specPath.Child("trafficDistribution"))...)
	}
	return errs
}

func oneOf[T ~string](value T, valid []T, path *field.Path) field.ErrorList {
	for _, v := range valid {
		if value == v {
			return nil
		}
	}
	return field.ErrorList{field.NotSupported(path, value, valid)}
}

func validateTopologyAnnotations(svc *corev1.Service) field.ErrorList {
	hints, hasHints := svc.Annotations[corev1.DeprecatedAnnotationTopologyAwareHints]
	mode, hasMode := svc.Annotations[corev1.AnnotationTopologyMode]
	if !hasHints || !hasMode || hints == mode {
		return nil
	}
	return field.ErrorList{field.Invalid(field.NewPath("metadata", "annotations").Key(corev1.AnnotationTopologyMode), mode,
		fmt.Sprintf("must match annotations[%s] when both are specified", corev1.DeprecatedAnnotationTopologyAwareHints))}
}

// validateType checks the fields that a service of this type must have or must not have.
func validateType(svc *corev1.Service) (errs field.ErrorList) {
	if len(svc.Spec.Ports) == 0 && !isHeadless(svc) && needsClusterIP(svc) {
		errs = append(errs, field.Required(specPath.Child("ports"), ""))
	}
	switch {
	case needsNodePort(svc) && isHeadless(svc):
		errs = append(errs, field.Invalid(specPath.Child("clusterIPs").Index(0), svc.Spec.ClusterIPs[0],
			fmt.Sprintf("may not be set to 'None' for %s services", svc.Spec.Type)))
	case !needsClusterIP(svc):
		const msg = "may not be set for ExternalName services"
		if len(svc.Spec.ClusterIPs) > 0 {
			errs = append(errs, field.Forbidden(specPath.Child("clusterIPs"), msg))
		}
		if len(svc.Spec.IPFamilies) > 0 {
			errs = append(errs, field.Forbidden(specPath.Child("ipFamilies"), msg))
		}
		if svc.Spec.IPFamilyPolicy != nil {
			errs = append(errs, field.Forbidden(specPath.Child("ipFamilyPolicy"), msg))
		}
		path := specPath.Child("externalName")
		name := strings.TrimSuffix(svc.Spec.ExternalName, ".")
		if name == "" {
			return append(errs, field.Required(path, ""))
		}
		errs = append(errs, invalid(path, name, validation.IsDNS1123Subdomain(name))...)
	}
	return errs
}

// invalid returns an error about value for each message.
func invalid(path *field.Path, value any, msgs []string) (errs field.ErrorList) {
	for _, msg := range msgs {
		errs = append(errs, field.Invalid(path, value, msg))
	}
	return errs
}

func validatePorts(svc *corev1.Service) (errs field.ErrorList) {
	names := map[string]bool{}
	for i := range svc.Spec.Ports {
		p, path := &svc.Spec.Ports[i], specPath.Child("ports").Index(i)
		switch {
		case p.Name != "":
			errs = append(errs, invalid(path.Child("name"), p.Name, validation.IsDNS1123Label(p.Name))...)
			if names[p.Name] {
				errs = append(errs, field.Duplicate(path.Child("name"), p.Name))
			}
			names[p.Name] = true
		case len(svc.Spec.Ports) > 1:
			errs = append(errs, field.Required(path.Child("name"), ""))
		}
		errs = append(errs, invalid(path.Child("port"), p.Port, validation.IsValidPortNum(int(p.Port)))...)
		if p.Protocol == "" {
			errs = append(errs, field.Required(path.Child("protocol"), ""))
		} else {
			errs = append(errs, oneOf(p.Protocol, protocols, path.Child("protocol"))...)
		}
		errs = append(errs, validateTargetPort(p.TargetPort, path.Child("targetPort"))...)
		if p.AppProtocol != nil {
			errs = append(errs, invalid(path.Child("appProtocol"), *p.AppProtocol, validation.IsQualifiedName(*p.AppProtocol))...)
		}
	}
	return errs
}

func validateTargetPort(port intstr.IntOrString, path *field.Path) field.ErrorList {
	switch port.Type {
	case intstr.Int:
		return invalid(path, port.IntValue(), validation.IsValidPortNum(port.IntValue()))
	case intstr.String:
		return invalid(path, port.StrVal, validation.IsValidPortName(port.StrVal))
	}
	return field.ErrorList{field.InternalError(path, fmt.Errorf("unknown type: %v", port.Type))}
}

func validateAffinity(svc *corev1.Service) field.ErrorList {
	path, configPath := specPath.Child("sessionAffinity"), specPath.Child("sessionAffinityConfig")
	affinity, config := svc.Spec.SessionAffinity, svc.Spec.SessionAffinityConfig
	if affinity == "" {
		return field.ErrorList{field.Required(path, "")}
	}
	errs := oneOf(affinity, affinities, path)
	if affinity == corev1.ServiceAffinityNone && config != nil {
		errs = append(errs, field.Forbidden(configPath, "must not be set when session affinity is None"))
	}
	if affinity != corev1.ServiceAffinityClientIP {
		return errs
	}
	const msg = "when session affinity type is ClientIP"
	timeoutPath := configPath.Child("clientIP").Child("timeoutSeconds")
	switch {
	case config == nil:
		return append(errs, field.Required(configPath, msg))
	case config.ClientIP == nil:
		return append(errs, field.Required(configPath.Child("clientIP"), msg))
	case config.ClientIP.TimeoutSeconds == nil:
		return append(errs, field.Required(timeoutPath, msg))
	}
	if t := *config.ClientIP.TimeoutSeconds; t <= 0 || t > maxAffinitySeconds {
		errs = append(errs, field.Invalid(timeoutPath, t,
			fmt.Sprintf("must be greater than 0 and less than %d", maxAffinitySeconds)))
	}
	return errs
}

// validateAddress refuses forms that can be read as several addresses, such as 010.0.0.1. Addresses that the stored
// service had may stay.
func validateAddress(ip string, path *field.Path, had sets.Set[string]) field.ErrorList {
	if had.Has(ip) {
		return nil
	}
	return validation.IsValidIPForLegacyField(path, ip, true, nil)
}

func validateExternalIPs(svc, old *corev1.Service) (errs field.ErrorList) {
	var had sets.Set[string]
	if old != nil {
		had = sets.New(old.Spec.ExternalIPs...)
	}
	for i, ip := range svc.Spec.ExternalIPs {
		path := specPath.Child("externalIPs").Index(i)
		if bad := validateAddress(ip, path, had); len(bad) > 0 {
			errs = append(errs, bad...)
			continue
		}
		errs = append(errs, invalid(path, ip, builtin.SpecialIP(ip))...)
	}
	return errs
}

// validateNodePorts requires that ports and node ports are unique for a protocol, and that types without node ports
// have none.
func validateNodePorts(svc *corev1.Service) (errs field.ErrorList) {
	type key struct {
		protocol corev1.Protocol
		port     int32
	}
	used, nodeUsed := map[key]bool{}, map[key]bool{}
	for i, p := range svc.Spec.Ports {
		if svc.Spec.Type == corev1.ServiceTypeClusterIP && p.NodePort != 0 {
			errs = append(errs, field.Forbidden(specPath.Child("ports").Index(i).Child("nodePort"),
				"may not be used when `type` is 'ClusterIP'"))
		}
	}
	for i, p := range svc.Spec.Ports {
		if k := (key{p.Protocol, p.NodePort}); p.NodePort != 0 {
			if nodeUsed[k] {
				errs = append(errs, field.Duplicate(specPath.Child("ports").Index(i).Child("nodePort"), p.NodePort))
			}
			nodeUsed[k] = true
		}
	}
	for i, p := range svc.Spec.Ports {
		k := key{p.Protocol, p.Port}
		if used[k] {
			errs = append(errs, field.Duplicate(specPath.Child("ports").Index(i), duplicatePort{Protocol: p.Protocol, Port: p.Port}))
		}
		used[k] = true
	}
	return errs
}

// duplicatePort is the form of a port in the message about a duplicate: its fields have their Go names.
type duplicatePort struct {
	Name        string
	Protocol    corev1.Protocol
	AppProtocol *string
	Port        int32
	TargetPort  intstr.IntOrString
	NodePort    int32
}
