package networking

import (
	"context"
	"reflect"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kx-apiserver/kx/server/builtin"
)

// NetworkPolicy declares networkpolicies.networking.k8s.io: the allowed traffic from and to pods.
var NetworkPolicy = builtin.Resource[*networkingv1.NetworkPolicy]{
	Names:          builtin.Names{Plural: "networkpolicies", Singular: "networkpolicy", Short: []string{"netpol"}},
	List:           &networkingv1.NetworkPolicyList{},
	Stored:         networkingv1.SchemeGroupVersion,
	Default:        setNetworkPolicyDefaults,
	PrepareCreate:  func(_ context.Context, p *networkingv1.NetworkPolicy) { p.Generation = 1 },
	PrepareUpdate:  countGeneration,
	Validate:       validateNetworkPolicy,
	ValidateUpdate: validateNetworkPolicyUpdate,
	Warnings:       networkPolicyWarnings,
	Sample: `
spec:
  podSelector: {matchLabels: {app: NAME}}
  policyTypes: [Ingress]
  ingress: [{from: [{podSelector: {}}], ports: [{port: 80}]}]`,
	Columns: []builtin.Column{
		builtin.NameColumn,
		{Name: "Pod-Selector", Type: "string", Description: networkingv1.NetworkPolicySpec{}.SwaggerDoc()["podSelector"]},
		builtin.AgeColumn,
	},
	Row: func(p *networkingv1.NetworkPolicy) metav1.TableRow {
		return builtin.Row(p.Name, metav1.FormatLabelSelector(&p.Spec.PodSelector), builtin.Age(p.CreationTimestamp))
	},
}

// countGeneration treats an empty list and a missing list as different, unlike other resources.
func countGeneration(p, old *networkingv1.NetworkPolicy) {
	if !reflect.DeepEqual(p.Spec, old.Spec) {
		p.Generation = old.Generation + 1
	}
}

func setNetworkPolicyDefaults(p *networkingv1.NetworkPolicy) {
	spec := &p.Spec
	if len(spec.PolicyTypes) == 0 {
		spec.PolicyTypes = []networkingv1.PolicyType{networkingv1.PolicyTypeIngress}
		if len(spec.Egress) > 0 {
			spec.PolicyTypes = append(spec.PolicyTypes, networkingv1.PolicyTypeEgress)
		}
	}
	for _, rule := range rulesOf(spec) {
		for i := range rule.ports {
			if rule.ports[i].Protocol == nil {
				rule.ports[i].Protocol = new(corev1.ProtocolTCP)
			}
		}
	}
}

// rule is a rule of either direction.
type rule struct {
	path, peersPath *field.Path
	ports           []networkingv1.NetworkPolicyPort
	peers           []networkingv1.NetworkPolicyPeer
}

// rulesOf returns the ingress rules, followed by the egress rules.
func rulesOf(spec *networkingv1.NetworkPolicySpec) (rules []rule) {
	for i, r := range spec.Ingress {
		path := specPath.Child("ingress").Index(i)
		rules = append(rules, rule{path, path.Child("from"), r.Ports, r.From})
	}
	for i, r := range spec.Egress {
		path := specPath.Child("egress").Index(i)
		rules = append(rules, rule{path, path.Child("to"), r.Ports, r.To})
	}
	return rules
}

// networkPolicyWarnings reports ranges of addresses in an unusual form.
func networkPolicyWarnings(p, _ *networkingv1.NetworkPolicy) (warnings []string) {
	for _, rule := range rulesOf(&p.Spec) {
		for i, peer := range rule.peers {
			if peer.IPBlock == nil {
				continue
			}
			path := rule.peersPath.Index(i).Child("ipBlock")
			warnings = append(warnings, validation.GetWarningsForCIDR(path.Child("cidr"), peer.IPBlock.CIDR)...)
			for k, except := range peer.IPBlock.Except {
				warnings = append(warnings, validation.GetWarningsForCIDR(path.Child("except").Index(k), except)...)
			}
		}
	}
	return warnings
}
