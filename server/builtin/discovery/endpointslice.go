package discovery

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kx-apiserver/kx/server/builtin"
)

var docs = discoveryv1.EndpointSlice{}.SwaggerDoc()

// EndpointSlice declares endpointslices.discovery.k8s.io: the addresses and ports of a service's pods.
var EndpointSlice = builtin.Resource[*discoveryv1.EndpointSlice]{
	Names:          builtin.Names{Plural: "endpointslices", Singular: "endpointslice"},
	List:           &discoveryv1.EndpointSliceList{},
	Stored:         discoveryv1.SchemeGroupVersion,
	Default:        setDefaults,
	PrepareCreate:  prepareCreate,
	PrepareUpdate:  prepareUpdate,
	Validate:       validateCreate,
	ValidateUpdate: validateUpdate,
	Warnings:       endpointSliceWarnings,
	Sample: `
addressType: IPv4
endpoints: [{addresses: [192.0.2.1], conditions: {ready: true}}]
ports: [{name: http, port: 80}]`,
	Columns: []builtin.Column{
		builtin.NameColumn,
		{Name: "AddressType", Type: "string", Description: docs["addressType"]},
		{Name: "Ports", Type: "string", Description: docs["ports"]},
		{Name: "Endpoints", Type: "string", Description: docs["endpoints"]},
		builtin.AgeColumn,
	},
	Row: endpointSliceRow,
}

func setDefaults(s *discoveryv1.EndpointSlice) {
	for i := range s.Ports {
		p := &s.Ports[i]
		if p.Name == nil {
			p.Name = new("")
		}
		if p.Protocol == nil {
			p.Protocol = new(corev1.ProtocolTCP)
		}
	}
}

// managers lists the controllers that write addresses only in canonical form.
var managers = map[string]bool{"endpointslice-controller.k8s.io": true, "endpointslicemirroring-controller.k8s.io": true}

func endpointSliceWarnings(s, old *discoveryv1.EndpointSlice) (warnings []string) {
	if old == nil && s.AddressType == discoveryv1.AddressTypeFQDN {
		warnings = append(warnings, "spec.addressType: FQDN endpoints are deprecated")
	}
	if managers[s.Labels[discoveryv1.LabelManagedBy]] {
		return warnings
	}
	for i := range s.Endpoints {
		for k, address := range s.Endpoints[i].Addresses {
			path := field.NewPath("endpoints").Index(i).Child("addresses").Index(k)
			warnings = append(warnings, validation.GetWarningsForIP(path, address)...)
		}
	}
	return warnings
}

func prepareCreate(_ context.Context, s *discoveryv1.EndpointSlice) {
	s.Generation = 1
	dropTopology(s, nil)
}

func endpointSliceRow(s *discoveryv1.EndpointSlice) metav1.TableRow {
	var ports, addresses []string
	for _, p := range s.Ports {
		switch {
		case p.Port != nil:
			ports = append(ports, strconv.Itoa(int(*p.Port)))
		case p.Name != nil:
			ports = append(ports, *p.Name)
		default:
			ports = append(ports, "*")
		}
	}
	for _, e := range s.Endpoints {
		addresses = append(addresses, e.Addresses...)
	}
	return builtin.Row(s.Name, string(s.AddressType), first(ports), first(addresses), builtin.Age(s.CreationTimestamp))
}

// first joins the first items, and adds the number of the others.
func first(items []string) string {
	const shown = 3
	if len(items) > shown {
		return fmt.Sprintf("%s + %d more...", strings.Join(items[:shown], ","), len(items)-shown)
	}
	if text := strings.Join(items, ","); text != "" {
		return text
	}
	return "<unset>"
}
