package networking

import (
	"fmt"
	"slices"
	"strings"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/kx-apiserver/kx/server/builtin"
)

// classAnnotation holds the class in ingresses from before the field ingressClassName.
const classAnnotation = "kubernetes.io/ingress.class"

// Ingress declares ingresses.networking.k8s.io: rules that route hosts and paths from outside to services.
var Ingress = builtin.Resource[*networkingv1.Ingress]{
	Names:          builtin.Names{Plural: "ingresses", Singular: "ingress", Short: []string{"ing"}},
	List:           &networkingv1.IngressList{},
	Stored:         networkingv1.SchemeGroupVersion,
	Validate:       validateIngressCreate,
	ValidateUpdate: validateIngressUpdate,
	Warnings:       ingressWarnings,
	Spec:           func(i *networkingv1.Ingress) any { return &i.Spec },
	Status: &builtin.Status[*networkingv1.Ingress]{
		Of: func(i *networkingv1.Ingress) any { return &i.Status },
		Part: builtin.Part[*networkingv1.Ingress]{
			Keep:     func(i, old *networkingv1.Ingress) { i.Spec = old.Spec },
			Check:    validateStatusUpdate,
			Warnings: statusWarnings,
		},
	},
	Sample: `
spec:
  rules:
  - host: example.com
    http: {paths: [{path: /, pathType: Prefix, backend: {service: {name: NAME, port: {number: 80}}}}]}`,
	Columns: []builtin.Column{
		builtin.NameColumn,
		{Name: "Class", Type: "string",
			Description: "The name of the IngressClass resource that should be used for additional configuration"},
		{Name: "Hosts", Type: "string", Description: "Hosts that incoming requests are matched against before the ingress rule"},
		{Name: "Address", Type: "string", Description: "Address is a list containing ingress points for the load-balancer"},
		{Name: "Ports", Type: "string", Description: "Ports of TLS configurations that open"},
		builtin.AgeColumn,
	},
	Row: ingressRow,
}

// ingressWarnings warns of the annotation when an ingress is created, and not in updates.
func ingressWarnings(i, old *networkingv1.Ingress) []string {
	if _, annotated := i.Annotations[classAnnotation]; old == nil && annotated && i.Spec.IngressClassName == nil {
		return []string{fmt.Sprintf("annotation %q is deprecated, please use 'spec.ingressClassName' instead", classAnnotation)}
	}
	return nil
}

func statusWarnings(i *networkingv1.Ingress) (warnings []string) {
	for n, in := range i.Status.LoadBalancer.Ingress {
		if in.IP != "" {
			warnings = append(warnings, validation.GetWarningsForIP(field.NewPath("status", "loadBalancer", "ingress").Index(n), in.IP)...)
		}
	}
	return warnings
}

func ingressRow(i *networkingv1.Ingress) metav1.TableRow {
	ports := "80"
	if len(i.Spec.TLS) > 0 {
		ports = "80, 443"
	}
	return builtin.Row(i.Name, ptr.Deref(i.Spec.IngressClassName, "<none>"), hosts(i.Spec.Rules), addresses(i), ports,
		builtin.Age(i.CreationTimestamp))
}

// hostsShown limits the hosts in a cell.
const hostsShown = 3

// hosts joins the first hosts. The number of the others counts all rules, even those without a host.
func hosts(rules []networkingv1.IngressRule) string {
	var names []string
	more := false
	for _, rule := range rules {
		more = more || len(names) == hostsShown
		if rule.Host != "" && !more {
			names = append(names, rule.Host)
		}
	}
	switch {
	case len(names) == 0:
		return "*"
	case more:
		return fmt.Sprintf("%s + %d more...", strings.Join(names, ","), len(rules)-hostsShown)
	}
	return strings.Join(names, ",")
}

func addresses(i *networkingv1.Ingress) string {
	var all []string
	for _, in := range i.Status.LoadBalancer.Ingress {
		if in.IP != "" {
			all = append(all, in.IP)
		} else if in.Hostname != "" {
			all = append(all, in.Hostname)
		}
	}
	slices.Sort(all)
	return strings.Join(slices.Compact(all), ",")
}
