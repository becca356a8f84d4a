//lint:file-ignore SA1019 Endpoints are deprecated, and a server has them all the same.

package core

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kx-apiserver/kx/server/builtin"
)

var subsetsPath = field.NewPath("subsets")

// validateEndpoints does not check unchanged subsets: an older server may have accepted them.
func validateEndpoints(e, old *corev1.Endpoints) field.ErrorList {
	errs := builtin.ValidateObjectMeta(&e.ObjectMeta, true, apivalidation.NameIsDNSSubdomain)
	wrong := validateSubsets(e.Subsets)
	if len(wrong) > 0 && old != nil && apiequality.Semantic.DeepEqual(e.Subsets, old.Subsets) {
		return errs
	}
	return append(errs, wrong...)
}

func validateEndpointsUpdate(e, old *corev1.Endpoints) field.ErrorList {
	return append(builtin.ValidateObjectMetaUpdate(&e.ObjectMeta, &old.ObjectMeta), validateEndpoints(e, old)...)
}

func validateSubsets(subsets []corev1.EndpointSubset) field.ErrorList {
	var errs field.ErrorList
	for i, subset := range subsets {
		path := subsetsPath.Index(i)
		if len(subset.Addresses) == 0 && len(subset.NotReadyAddresses) == 0 {
			errs = append(errs, field.Required(path, "must specify `addresses` or `notReadyAddresses`"))
		}
		for j := range subset.Addresses {
			errs = append(errs, validateAddress(&subset.Addresses[j], path.Child("addresses").Index(j))...)
		}
		for j := range subset.NotReadyAddresses {
			errs = append(errs, validateAddress(&subset.NotReadyAddresses[j], path.Child("notReadyAddresses").Index(j))...)
		}
		for j := range subset.Ports {
			errs = append(errs, validatePort(&subset.Ports[j], len(subset.Ports) > 1, path.Child("ports").Index(j))...)
		}
	}
	return errs
}

func validateAddress(a *corev1.EndpointAddress, path *field.Path) field.ErrorList {
	errs := validation.IsValidIPForLegacyField(path.Child("ip"), a.IP, true, nil)
	if a.Hostname != "" {
		errs = append(errs, invalid(path.Child("hostname"), a.Hostname, validation.IsDNS1123Label)...)
	}
	if a.NodeName != nil {
		errs = append(errs, invalid(path.Child("nodeName"), *a.NodeName, validation.IsDNS1123Subdomain)...)
	}
	return append(errs, reachable(a.IP, path.Child("ip"))...)
}

// validatePort requires names if there are several ports.
func validatePort(port *corev1.EndpointPort, named bool, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	switch {
	case port.Name != "":
		errs = append(errs, invalid(path.Child("name"), port.Name, validation.IsDNS1123Label)...)
	case named:
		errs = append(errs, field.Required(path.Child("name"), ""))
	}
	for _, message := range validation.IsValidPortNum(int(port.Port)) {
		errs = append(errs, field.Invalid(path.Child("port"), port.Port, message))
	}
	protocols := []corev1.Protocol{corev1.ProtocolSCTP, corev1.ProtocolTCP, corev1.ProtocolUDP}
	if !slices.Contains(protocols, port.Protocol) {
		errs = append(errs, field.NotSupported(path.Child("protocol"), port.Protocol, protocols))
	}
	if port.AppProtocol != nil {
		errs = append(errs, invalid(path.Child("appProtocol"), *port.AppProtocol, validation.IsQualifiedName)...)
	}
	return errs
}

func invalid(path *field.Path, value string, check func(string) []string) field.ErrorList {
	var errs field.ErrorList
	for _, message := range check(value) {
		errs = append(errs, field.Invalid(path, value, message))
	}
	return errs
}
