package all

import (
	discoveryv1 "k8s.io/api/discovery/v1"
	eventsv1 "k8s.io/api/events/v1"
	networkingv1 "k8s.io/api/networking/v1"
	networkingv1beta1 "k8s.io/api/networking/v1beta1"

	"github.com/kx-apiserver/kx/server/builtin"
	"github.com/kx-apiserver/kx/server/builtin/core"
	"github.com/kx-apiserver/kx/server/builtin/discovery"
	"github.com/kx-apiserver/kx/server/builtin/networking"
)

func networkingGroup() builtin.Group {
	return builtin.Group{
		Versions: []builtin.Version{
			version(networkingv1.SchemeGroupVersion, networkingv1.AddToScheme),
			beta(networkingv1beta1.SchemeGroupVersion, networkingv1beta1.AddToScheme),
		},
		Resources: []builtin.Declaration{
			builtin.Declare(networking.IngressClass),
			builtin.Declare(networking.Ingress),
			builtin.Declare(networking.IPAddress),
			builtin.Declare(networking.NetworkPolicy),
			builtin.Declare(networking.ServiceCIDR),
		},
	}
}

func discoveryGroup() builtin.Group {
	return builtin.Group{
		Versions: []builtin.Version{
			version(discoveryv1.SchemeGroupVersion, discoveryv1.AddToScheme),
		},
		Resources: []builtin.Declaration{builtin.Declare(discovery.EndpointSlice)},
	}
}

func eventsGroup(n Needs) builtin.Group {
	return builtin.Group{
		Versions: []builtin.Version{
			{GroupVersion: eventsv1.SchemeGroupVersion, Types: eventsv1.AddToScheme, Convert: core.ConvertEvents},
		},
		Resources: []builtin.Declaration{builtin.Declare(core.EventOfEvents(n.EventTTL))},
	}
}
