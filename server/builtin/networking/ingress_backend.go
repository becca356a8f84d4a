package networking

import (
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	netutils "k8s.io/utils/net"

	"github.com/kx-apiserver/kx/server/builtin"
)

// backend requires exactly one of a service and another object.
func (r rules) backend(b *networkingv1.IngressBackend, path *field.Path) field.ErrorList {
	switch {
	case b.Resource != nil && b.Service != nil:
		return field.ErrorList{field.Invalid(path, "", "cannot set both resource and service backends")}
	case b.Resource != nil:
		return validateReference(b.Resource.APIGroup, b.Resource.Kind, b.Resource.Name, path.Child("resource"))
	case b.Service != nil:
		return r.service(b.Service, path)
	}
	return field.ErrorList{field.Invalid(path, "", "resource or service backend is required")}
}

func (r rules) service(s *networkingv1.IngressServiceBackend, backend *field.Path) (errs field.ErrorList) {
	path := backend.Child("service")
	if s.Name == "" {
		errs = append(errs, field.Required(path.Child("name"), ""))
	} else {
		errs = append(errs, builtin.Invalids(path.Child("name"), s.Name, r.serviceName(s.Name, false))...)
	}
	name, number := s.Port.Name, s.Port.Number
	switch {
	case name != "" && number != 0:
		errs = append(errs, field.Invalid(backend, "", "cannot set both port name & port number"))
	case name != "":
		errs = append(errs, builtin.Invalids(path.Child("port", "name"), name, validation.IsValidPortName(name))...)
	case number != 0:
		errs = append(errs, builtin.Invalids(path.Child("port", "number"), number, validation.IsValidPortNum(int(number)))...)
	default:
		errs = append(errs, field.Required(backend, "port name or number is required"))
	}
	return errs
}

func validateStatusUpdate(i, old *networkingv1.Ingress) field.ErrorList {
	errs := builtin.ValidateObjectMetaUpdate(&i.ObjectMeta, &old.ObjectMeta)
	var had []string
	for _, in := range old.Status.LoadBalancer.Ingress {
		had = append(had, in.IP)
	}
	for n, in := range i.Status.LoadBalancer.Ingress {
		path := field.NewPath("status", "loadBalancer", "ingress").Index(n)
		if in.IP != "" {
			errs = append(errs, validation.IsValidIPForLegacyField(path.Child("ip"), in.IP, true, had)...)
		}
		if in.Hostname == "" {
			continue
		}
		errs = append(errs, builtin.Invalids(path.Child("hostname"), in.Hostname, validation.IsDNS1123Subdomain(in.Hostname))...)
		if netutils.ParseIPSloppy(in.Hostname) != nil {
			errs = append(errs, field.Invalid(path.Child("hostname"), in.Hostname, "must be a DNS name, not an IP address"))
		}
	}
	return errs
}
