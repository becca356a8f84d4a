package networking

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	netutils "k8s.io/utils/net"

	"github.com/kx-apiserver/kx/server/builtin"
)

var specPath = field.NewPath("spec")

// leniency lists the mistakes that a stored policy may keep and a new one may not have.
type leniency struct {
	selectors metav1validation.LabelSelectorValidationOptions
	cidrs     []string
}

func validateNetworkPolicy(p *networkingv1.NetworkPolicy) field.ErrorList {
	errs := builtin.ValidateObjectMeta(&p.ObjectMeta, true, apivalidation.NameIsDNSSubdomain)
	return append(errs, leniency{}.spec(&p.Spec)...)
}

func validateNetworkPolicyUpdate(p, old *networkingv1.NetworkPolicy) field.ErrorList {
	var keep leniency
	wrong := metav1validation.ValidateLabelSelector(&old.Spec.PodSelector, keep.selectors, nil)
	keep.selectors.AllowInvalidLabelValueInSelector = len(wrong) > 0
	for _, rule := range rulesOf(&old.Spec) {
		for _, peer := range rule.peers {
			if peer.IPBlock != nil {
				keep.cidrs = append(append(keep.cidrs, peer.IPBlock.CIDR), peer.IPBlock.Except...)
			}
		}
	}
	errs := builtin.ValidateObjectMetaUpdate(&p.ObjectMeta, &old.ObjectMeta)
	return append(errs, keep.spec(&p.Spec)...)
}

func (l leniency) spec(spec *networkingv1.NetworkPolicySpec) field.ErrorList {
	errs := metav1validation.ValidateLabelSelector(&spec.PodSelector, l.selectors, specPath.Child("podSelector"))
	for _, rule := range rulesOf(spec) {
		for i := range rule.ports {
			errs = append(errs, validatePort(&rule.ports[i], rule.path.Child("ports").Index(i))...)
		}
		for i := range rule.peers {
			errs = append(errs, l.peer(&rule.peers[i], rule.peersPath.Index(i))...)
		}
	}
	types := []networkingv1.PolicyType{networkingv1.PolicyTypeIngress, networkingv1.PolicyTypeEgress}
	path := specPath.Child("policyTypes")
	if len(spec.PolicyTypes) > len(types) {
		return append(errs, field.Invalid(path, spec.PolicyTypes, "may not specify more than two policyTypes"))
	}
	for i, t := range spec.PolicyTypes {
		if !slices.Contains(types, t) {
			errs = append(errs, field.NotSupported(path.Index(i), t, types))
		}
	}
	return errs
}

func validatePort(p *networkingv1.NetworkPolicyPort, path *field.Path) (errs field.ErrorList) {
	protocols := []corev1.Protocol{corev1.ProtocolTCP, corev1.ProtocolUDP, corev1.ProtocolSCTP}
	if p.Protocol != nil && !slices.Contains(protocols, *p.Protocol) {
		errs = append(errs, field.NotSupported(path.Child("protocol"), *p.Protocol, protocols))
	}
	at, end := path.Child("port"), path.Child("endPort")
	switch {
	case p.Port == nil:
		if p.EndPort != nil {
			errs = append(errs, field.Invalid(end, *p.EndPort, "may not be specified when `port` is not specified"))
		}
	case p.Port.Type == intstr.String:
		if p.EndPort != nil {
			errs = append(errs, field.Invalid(end, *p.EndPort, "may not be specified when `port` is non-numeric"))
		}
		errs = append(errs, builtin.Invalids(at, p.Port.StrVal, validation.IsValidPortName(p.Port.StrVal))...)
	default:
		errs = append(errs, builtin.Invalids(at, p.Port.IntVal, validation.IsValidPortNum(int(p.Port.IntVal)))...)
		if p.EndPort == nil {
			break
		}
		if *p.EndPort < p.Port.IntVal {
			errs = append(errs, field.Invalid(end, *p.EndPort, "must be greater than or equal to `port`"))
		}
		errs = append(errs, builtin.Invalids(end, *p.EndPort, validation.IsValidPortNum(int(*p.EndPort)))...)
	}
	return errs
}

func (l leniency) peer(p *networkingv1.NetworkPolicyPeer, path *field.Path) (errs field.ErrorList) {
	if p.PodSelector != nil {
		errs = append(errs, metav1validation.ValidateLabelSelector(p.PodSelector, l.selectors, path.Child("podSelector"))...)
	}
	if p.NamespaceSelector != nil {
		errs = append(errs, metav1validation.ValidateLabelSelector(p.NamespaceSelector, l.selectors, path.Child("namespaceSelector"))...)
	}
	selects := p.PodSelector != nil || p.NamespaceSelector != nil
	switch {
	case p.IPBlock != nil:
		errs = append(errs, l.block(p.IPBlock, path.Child("ipBlock"))...)
		if selects {
			errs = append(errs, field.Forbidden(path, "may not specify both ipBlock and another peer"))
		}
	case !selects:
		errs = append(errs, field.Required(path, "must specify a peer"))
	}
	return errs
}

// block checks a range and the ranges that it excludes.
func (l leniency) block(b *networkingv1.IPBlock, path *field.Path) field.ErrorList {
	if b.CIDR == "" {
		return field.ErrorList{field.Required(path.Child("cidr"), "").MarkCoveredByDeclarative()}
	}
	errs := validation.IsValidCIDRForLegacyField(path.Child("cidr"), b.CIDR, true, l.cidrs)
	_, whole, err := netutils.ParseCIDRSloppy(b.CIDR)
	if err != nil {
		return errs
	}
	length, _ := whole.Mask.Size()
	for i, text := range b.Except {
		at := path.Child("except").Index(i)
		errs = append(errs, validation.IsValidCIDRForLegacyField(at, text, true, l.cidrs)...)
		_, except, err := netutils.ParseCIDRSloppy(text)
		if err != nil {
			continue
		}
		if exceptLength, _ := except.Mask.Size(); !whole.Contains(except.IP) || length >= exceptLength {
			errs = append(errs, field.Invalid(at, text, "must be a strict subset of `cidr`"))
		}
	}
	return errs
}
