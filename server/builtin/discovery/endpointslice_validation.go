package discovery

import (
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	netutils "k8s.io/utils/net"

	"github.com/kx-apiserver/kx/server/builtin"
)

const (
	maxTopologyLabels = 16
	maxAddresses      = 100
	maxPorts          = 20000
	maxEndpoints      = 1000
	maxHints          = 8
)

var addressTypes = []discoveryv1.AddressType{discoveryv1.AddressTypeFQDN, discoveryv1.AddressTypeIPv4, discoveryv1.AddressTypeIPv6}

func validateCreate(s *discoveryv1.EndpointSlice) field.ErrorList {
	path := field.NewPath("addressType")
	errs := builtin.ValidateObjectMeta(&s.ObjectMeta, true, apivalidation.NameIsDNSSubdomain)
	if s.AddressType == "" {
		errs = append(errs, field.Required(path, "").MarkCoveredByDeclarative())
	} else if !slices.Contains(addressTypes, s.AddressType) {
		errs = append(errs, field.NotSupported(path, s.AddressType, addressTypes).MarkCoveredByDeclarative())
	}
	errs = append(errs, validatePorts(s.Ports, field.NewPath("ports"))...)
	return append(errs, validateEndpoints(s, field.NewPath("endpoints"))...)
}

// validateUpdate does not check endpoints that have not changed: older rules allowed more.
func validateUpdate(s, old *discoveryv1.EndpointSlice) field.ErrorList {
	path := field.NewPath("addressType")
	errs := builtin.ValidateObjectMeta(&s.ObjectMeta, true, apivalidation.NameIsDNSSubdomain)
	if s.AddressType == "" {
		errs = append(errs, field.Required(path, "").MarkCoveredByDeclarative())
	} else if !slices.Contains(addressTypes, s.AddressType) {
		// The error about a changed type hides the declared rule about its value.
		errs = append(errs, field.NotSupported(path, s.AddressType, addressTypes))
	}
	errs = append(errs, validatePorts(s.Ports, field.NewPath("ports"))...)
	endpoints := validateEndpoints(s, field.NewPath("endpoints"))
	if len(endpoints) > 0 && apiequality.Semantic.DeepEqual(s.Endpoints, old.Endpoints) {
		endpoints = nil
	}
	if s.AddressType != old.AddressType {
		errs = append(errs, builtin.Immutable(path))
	}
	return append(errs, endpoints...)
}

func validatePorts(ports []discoveryv1.EndpointPort, path *field.Path) (errs field.ErrorList) {
	if len(ports) > maxPorts {
		return field.ErrorList{field.TooMany(path, len(ports), maxPorts)}
	}
	names := map[string]bool{}
	for i := range ports {
		p, at := &ports[i], path.Index(i)
		if *p.Name != "" {
			errs = append(errs, builtin.Invalids(at.Child("name"), *p.Name, validation.IsDNS1123Label(*p.Name))...)
		}
		if names[*p.Name] {
			errs = append(errs, field.Duplicate(at.Child("name"), p.Name))
		}
		names[*p.Name] = true
		protocols := []corev1.Protocol{corev1.ProtocolSCTP, corev1.ProtocolTCP, corev1.ProtocolUDP}
		if !slices.Contains(protocols, *p.Protocol) {
			errs = append(errs, field.NotSupported(at.Child("protocol"), *p.Protocol, protocols))
		}
		if p.AppProtocol != nil {
			errs = append(errs, builtin.Invalids(at.Child("appProtocol"), *p.AppProtocol, validation.IsQualifiedName(*p.AppProtocol))...)
		}
	}
	return errs
}

func validateEndpoints(s *discoveryv1.EndpointSlice, path *field.Path) (errs field.ErrorList) {
	if len(s.Endpoints) > maxEndpoints {
		return field.ErrorList{field.TooMany(path, len(s.Endpoints), maxEndpoints)}
	}
	for i := range s.Endpoints {
		errs = append(errs, validateEndpoint(&s.Endpoints[i], s.AddressType, path.Index(i))...)
	}
	return errs
}

func validateEndpoint(e *discoveryv1.Endpoint, kind discoveryv1.AddressType, path *field.Path) field.ErrorList {
	errs := validateAddresses(e.Addresses, kind, path.Child("addresses"))
	if e.NodeName != nil {
		errs = append(errs, builtin.Invalids(path.Child("nodeName"), *e.NodeName, apivalidation.NameIsDNSSubdomain(*e.NodeName, false))...)
	}
	topology := path.Child("deprecatedTopology")
	if n := len(e.DeprecatedTopology); n > maxTopologyLabels {
		errs = append(errs, field.TooMany(topology, n, maxTopologyLabels))
	}
	errs = append(errs, metav1validation.ValidateLabels(e.DeprecatedTopology, topology)...)
	if e.Hostname != nil {
		errs = append(errs, builtin.Invalids(path.Child("hostname"), *e.Hostname, validation.IsDNS1123Label(*e.Hostname))...)
	}
	if e.Hints != nil {
		errs = append(errs, validateHints(e.Hints, path.Child("hints"))...)
	}
	return errs
}

func validateHints(hints *discoveryv1.EndpointHints, path *field.Path) field.ErrorList {
	var zones, nodes []string
	for _, z := range hints.ForZones {
		zones = append(zones, z.Name)
	}
	for _, n := range hints.ForNodes {
		nodes = append(nodes, n.Name)
	}
	at := path.Child("forZones")
	if len(zones) > maxHints {
		return field.ErrorList{field.TooMany(at, len(zones), maxHints)}
	}
	errs := validateNames(zones, validation.IsValidLabelValue, at)
	at = path.Child("forNodes")
	if len(nodes) > maxHints {
		return append(errs, field.TooMany(at, len(nodes), maxHints))
	}
	isNode := func(name string) []string { return apivalidation.NameIsDNSSubdomain(name, false) }
	return append(errs, validateNames(nodes, isNode, at)...)
}

func validateNames(names []string, check func(string) []string, path *field.Path) (errs field.ErrorList) {
	for i, name := range names {
		at := path.Index(i).Child("name")
		if slices.Contains(names[:i], name) {
			errs = append(errs, field.Duplicate(at, name))
		}
		errs = append(errs, builtin.Invalids(at, name, check(name))...)
	}
	return errs
}

// validateAddresses does not check addresses of an unknown type: the type itself is refused.
func validateAddresses(addresses []string, kind discoveryv1.AddressType, path *field.Path) (errs field.ErrorList) {
	if len(addresses) == 0 {
		errs = append(errs, field.Required(path, "").MarkCoveredByDeclarative())
	} else if len(addresses) > maxAddresses {
		errs = append(errs, field.TooMany(path, len(addresses), maxAddresses).MarkCoveredByDeclarative())
	}
	for i, address := range addresses {
		switch kind {
		case discoveryv1.AddressTypeIPv4:
			wrong := validation.IsValidIPForLegacyField(path.Index(i), address, true, nil)
			errs = append(errs, validateIP(address, wrong, kind, path, i)...)
		case discoveryv1.AddressTypeIPv6:
			errs = append(errs, validateIP(address, validation.IsValidIP(path.Index(i), address), kind, path, i)...)
		case discoveryv1.AddressTypeFQDN:
			errs = append(errs, validation.IsFullyQualifiedDomainName(path.Index(i), address)...)
		}
	}
	return errs
}

// validateIP checks the family of an address only if the address is valid. The error about the family names the list,
// and not the item.
func validateIP(address string, wrong field.ErrorList, kind discoveryv1.AddressType, path *field.Path, i int) (errs field.ErrorList) {
	if len(wrong) > 0 {
		return wrong
	}
	if netutils.IsIPv6String(address) != (kind == discoveryv1.AddressTypeIPv6) {
		errs = append(errs, field.Invalid(path, address, fmt.Sprintf("must be an %s address", kind)))
	}
	return append(errs, builtin.Invalids(path.Index(i), address, builtin.SpecialIP(address))...)
}
