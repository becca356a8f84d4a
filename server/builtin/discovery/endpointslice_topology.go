package discovery

import (
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
)

// prepareUpdate counts the generation before it drops the fields that v1 ignores, as Kubernetes does. Labels count
// too.
func prepareUpdate(s, old *discoveryv1.EndpointSlice) {
	what := func(s *discoveryv1.EndpointSlice) any { return []any{s.AddressType, s.Endpoints, s.Ports, s.Labels} }
	if !apiequality.Semantic.DeepEqual(what(s), what(old)) {
		s.Generation = old.Generation + 1
	}
	if !apiequality.Semantic.DeepEqual(s.Endpoints, old.Endpoints) {
		dropTopology(s, old)
	}
}

// dropTopology ignores the topology that a client of v1 sends. Endpoints of v1beta1 named their node in the topology:
// a client that sends back an unchanged object does not lose it.
func dropTopology(s, old *discoveryv1.EndpointSlice) {
	known := map[string]bool{}
	if old != nil {
		for _, e := range old.Endpoints {
			known[e.DeprecatedTopology[corev1.LabelHostname]] = true
		}
	}
	for i := range s.Endpoints {
		e := &s.Endpoints[i]
		node := e.DeprecatedTopology[corev1.LabelHostname]
		if e.NodeName == nil && node != "" && known[node] && len(apivalidation.NameIsDNSSubdomain(node, false)) == 0 {
			e.NodeName = &node
		}
		e.DeprecatedTopology = nil
	}
}
