package networking

import (
	networkingv1 "k8s.io/api/networking/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kx-apiserver/kx/server/builtin"
)

const (
	inCluster   = networkingv1.IngressClassParametersReferenceScopeCluster
	inNamespace = networkingv1.IngressClassParametersReferenceScopeNamespace
)

// IngressClass declares ingressclasses.networking.k8s.io: the controller that is responsible for ingresses of a
// class.
var IngressClass = builtin.Resource[*networkingv1.IngressClass]{
	Names:          builtin.Names{Plural: "ingressclasses", Singular: "ingressclass"},
	List:           &networkingv1.IngressClassList{},
	Stored:         networkingv1.SchemeGroupVersion,
	ClusterScoped:  true,
	Default:        setIngressClassDefaults,
	Validate:       validateIngressClass,
	ValidateUpdate: validateIngressClassUpdate,
	Spec:           func(c *networkingv1.IngressClass) any { return &c.Spec },
	Sample:         "spec: {controller: example.com/ingress-controller}",
	Columns: []builtin.Column{
		builtin.NameColumn,
		{Name: "Controller", Type: "string", Description: "Controller that is responsible for handling this class"},
		{Name: "Parameters", Type: "string", Description: "A reference to a resource with additional parameters"},
		builtin.AgeColumn,
	},
	Row: ingressClassRow,
}

func setIngressClassDefaults(c *networkingv1.IngressClass) {
	if p := c.Spec.Parameters; p != nil && p.Scope == nil {
		p.Scope = new(inCluster)
	}
}

func validateIngressClassUpdate(c, old *networkingv1.IngressClass) field.ErrorList {
	errs := builtin.ValidateObjectMetaUpdate(&c.ObjectMeta, &old.ObjectMeta)
	errs = append(errs,
		apivalidation.ValidateImmutableField(c.Spec.Controller, old.Spec.Controller, field.NewPath("spec", "controller"))...)
	return append(errs, validateIngressClass(c)...)
}

const controllerLimit = 250

func validateIngressClass(c *networkingv1.IngressClass) field.ErrorList {
	errs := builtin.ValidateObjectMeta(&c.ObjectMeta, false, apivalidation.NameIsDNSSubdomain)
	path := field.NewPath("spec", "controller")
	if len(c.Spec.Controller) > controllerLimit {
		errs = append(errs, field.TooLong(path, "", controllerLimit))
	}
	errs = append(errs, validation.IsDomainPrefixedPath(path, c.Spec.Controller)...)
	if c.Spec.Parameters != nil {
		errs = append(errs, validateParameters(c.Spec.Parameters, field.NewPath("spec", "parameters"))...)
	}
	return errs
}

func validateParameters(p *networkingv1.IngressClassParametersReference, path *field.Path) field.ErrorList {
	errs := markDeclared(validateReference(p.APIGroup, p.Kind, p.Name, path))
	if p.Scope == nil {
		return append(errs, field.Required(path.Child("scope"), ""))
	}
	at := path.Child("namespace")
	switch {
	case *p.Scope != inCluster && *p.Scope != inNamespace:
		errs = append(errs, field.NotSupported(path.Child("scope"), *p.Scope, []string{inCluster, inNamespace}))
	case *p.Scope == inCluster && p.Namespace != nil:
		errs = append(errs, field.Forbidden(at, "`parameters.scope` is set to 'Cluster'"))
	case *p.Scope == inNamespace && p.Namespace == nil:
		errs = append(errs, field.Required(at, "`parameters.scope` is set to 'Namespace'"))
	case *p.Scope == inNamespace:
		errs = append(errs, builtin.Invalids(at, *p.Namespace, apivalidation.ValidateNamespaceName(*p.Namespace, false))...)
	}
	return errs
}

func ingressClassRow(c *networkingv1.IngressClass) metav1.TableRow {
	name, parameters := c.Name, "<none>"
	if c.Annotations[networkingv1.AnnotationIsDefaultIngressClass] == "true" {
		name += " (default)"
	}
	if p := c.Spec.Parameters; p != nil {
		parameters = p.Kind
		if p.APIGroup != nil {
			parameters += "." + *p.APIGroup
		}
		parameters += "/" + p.Name
	}
	return builtin.Row(name, c.Spec.Controller, parameters, builtin.Age(c.CreationTimestamp))
}
