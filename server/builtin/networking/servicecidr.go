package networking

import (
	"strings"

	networkingv1 "k8s.io/api/networking/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	netutils "k8s.io/utils/net"

	"github.com/kx-apiserver/kx/server/builtin"
)

// ServiceCIDR declares servicecidrs.networking.k8s.io: the ranges from which services get their addresses.
var ServiceCIDR = builtin.Resource[*networkingv1.ServiceCIDR]{
	Names:          builtin.Names{Plural: "servicecidrs", Singular: "servicecidr"},
	List:           &networkingv1.ServiceCIDRList{},
	Stored:         networkingv1.SchemeGroupVersion,
	ClusterScoped:  true,
	Validate:       validateServiceCIDRCreate,
	ValidateUpdate: validateServiceCIDRUpdate,
	Status: &builtin.Status[*networkingv1.ServiceCIDR]{
		Of: func(c *networkingv1.ServiceCIDR) any { return &c.Status },
		Part: builtin.Part[*networkingv1.ServiceCIDR]{
			Keep: func(c, old *networkingv1.ServiceCIDR) {
				c.Spec = old.Spec
				metav1.ResetObjectMetaForStatus(&c.ObjectMeta, &old.ObjectMeta)
			},
			Reset: []string{"metadata", "spec"},
			Check: func(c, old *networkingv1.ServiceCIDR) field.ErrorList {
				return builtin.ValidateObjectMetaUpdate(&c.ObjectMeta, &old.ObjectMeta)
			},
		},
	},
	Sample: "spec: {cidrs: [198.51.100.0/24]}",
	Columns: []builtin.Column{
		builtin.NameColumn,
		{Name: "CIDRs", Type: "string", Description: networkingv1.ServiceCIDRSpec{}.SwaggerDoc()["cidrs"]},
		builtin.AgeColumn,
	},
	Row: func(c *networkingv1.ServiceCIDR) metav1.TableRow {
		return builtin.Row(c.Name, strings.Join(c.Spec.CIDRs, ","), builtin.Age(c.CreationTimestamp))
	},
}

var cidrsPath = field.NewPath("spec", "cidrs")

func validateServiceCIDRCreate(c *networkingv1.ServiceCIDR) field.ErrorList {
	errs := builtin.ValidateObjectMeta(&c.ObjectMeta, false, apivalidation.NameIsDNSSubdomain)
	return append(errs, validateCIDRs(c.Spec.CIDRs)...)
}

// validateCIDRs accepts one range of each IP family.
func validateCIDRs(cidrs []string) (errs field.ErrorList) {
	if len(cidrs) == 0 {
		return field.ErrorList{field.Required(cidrsPath, "at least one CIDR required")}
	}
	if len(cidrs) > 2 {
		// The message quotes the spec as Kubernetes' internal type, whose field is named CIDRs.
		return field.ErrorList{field.Invalid(cidrsPath, struct{ CIDRs []string }{cidrs}, "may only hold up to 2 values")}
	}
	for i, cidr := range cidrs {
		errs = append(errs, validation.IsValidCIDR(cidrsPath.Index(i), cidr)...)
	}
	if len(cidrs) == 2 {
		family := netutils.IPFamilyOfCIDRString(cidrs[0])
		if family != netutils.IPFamilyUnknown && family == netutils.IPFamilyOfCIDRString(cidrs[1]) {
			errs = append(errs, field.Invalid(cidrsPath, cidrs,
				"may specify no more than one IP for each IP family, i.e 192.168.0.0/24 and 2001:db8::/64"))
		}
	}
	return errs
}

// validateServiceCIDRUpdate allows only the addition of a range of the second family.
func validateServiceCIDRUpdate(c, old *networkingv1.ServiceCIDR) field.ErrorList {
	errs := builtin.ValidateObjectMetaUpdate(&c.ObjectMeta, &old.ObjectMeta)
	cidrs, was := c.Spec.CIDRs, old.Spec.CIDRs
	second := len(was) == 1 && len(cidrs) == 2
	if len(cidrs) != len(was) && !second {
		return append(errs, field.Invalid(cidrsPath, cidrs, apivalidation.FieldImmutableErrorMsg))
	}
	for i := range was {
		if cidrs[i] != was[i] {
			errs = append(errs, field.Invalid(cidrsPath.Index(i), cidrs[i], apivalidation.FieldImmutableErrorMsg))
		}
	}
	if second {
		errs = append(errs, validateCIDRs(cidrs)...)
	}
	return errs
}
