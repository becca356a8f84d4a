package networking

import (
	"strings"

	networkingv1 "k8s.io/api/networking/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/validate/content"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/server/builtin"
)

// IPAddress declares ipaddresses.networking.k8s.io: the object that uses an address. The name is the address.
var IPAddress = builtin.Resource[*networkingv1.IPAddress]{
	Names:          builtin.Names{Plural: "ipaddresses", Singular: "ipaddress", Short: []string{"ip"}},
	List:           &networkingv1.IPAddressList{},
	Stored:         networkingv1.SchemeGroupVersion,
	ClusterScoped:  true,
	Validate:       validateIPAddressCreate,
	ValidateUpdate: validateIPAddressUpdate,
	Special: builtin.Specialize(func(s builtin.Strategy) rest.RESTCreateUpdateStrategy {
		s.NameGenerator = baseName{}
		return s
	}),
	Columns: []builtin.Column{
		builtin.NameColumn,
		{Name: "ParentRef", Type: "string", Description: networkingv1.IPAddressSpec{}.SwaggerDoc()["parentRef"]},
	},
	Row: ipAddressRow,
}

// baseName generates no names: an address with a suffix is no address.
type baseName struct{}

func (baseName) GenerateName(base string) string { return base }

// ipAddressRow makes one cell more than there are columns, as upstream does.
func ipAddressRow(a *networkingv1.IPAddress) metav1.TableRow {
	parent := "<none>"
	if ref := a.Spec.ParentRef; ref != nil {
		parts := []string{strings.ToLower(schema.GroupResource{Group: ref.Group, Resource: ref.Resource}.String())}
		if ref.Namespace != "" {
			parts = append(parts, ref.Namespace)
		}
		parent = strings.Join(append(parts, ref.Name), "/")
	}
	return builtin.Row(a.Name, parent, builtin.Age(a.CreationTimestamp))
}

var parentPath = field.NewPath("spec", "parentRef")

func validateName(name string, _ bool) (msgs []string) {
	for _, err := range validation.IsValidIP(nil, name) {
		msgs = append(msgs, err.Detail)
	}
	return msgs
}

func validateIPAddressCreate(a *networkingv1.IPAddress) field.ErrorList {
	errs := builtin.ValidateObjectMeta(&a.ObjectMeta, false, validateName)
	if a.Spec.ParentRef == nil {
		return append(errs, field.Required(parentPath, "").MarkCoveredByDeclarative())
	}
	return append(errs, markDeclared(validateParent(a.Spec.ParentRef))...)
}

// validateIPAddressUpdate reports a changed parent with one declared error, which replaces the errors about its
// fields.
func validateIPAddressUpdate(a, old *networkingv1.IPAddress) field.ErrorList {
	errs := builtin.ValidateObjectMeta(&a.ObjectMeta, false, validateName)
	if a.Spec.ParentRef == nil {
		errs = append(errs, field.Required(parentPath, "").MarkCoveredByDeclarative())
	} else {
		errs = append(errs, validateParent(a.Spec.ParentRef)...)
	}
	errs = append(errs, builtin.ValidateObjectMetaUpdate(&a.ObjectMeta, &old.ObjectMeta)...)
	if !apiequality.Semantic.DeepEqual(a.Spec.ParentRef, old.Spec.ParentRef) {
		errs = append(errs, builtin.Immutable(parentPath))
	}
	return errs
}

func validateParent(p *networkingv1.ParentReference) (errs field.ErrorList) {
	if p.Group != "" {
		errs = append(errs, builtin.Invalids(parentPath.Child("group"), p.Group, validation.IsDNS1123Subdomain(p.Group))...)
	}
	errs = append(errs, validateSegment(p.Resource, parentPath.Child("resource"))...)
	errs = append(errs, validateSegment(p.Name, parentPath.Child("name"))...)
	if p.Namespace != "" {
		errs = append(errs, builtin.Invalids(parentPath.Child("namespace"), p.Namespace, content.IsPathSegmentName(p.Namespace))...)
	}
	return errs
}
