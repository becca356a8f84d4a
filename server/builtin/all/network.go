package all

import (
	discoveryv1 "k8s.io/api/discovery/v1"
	eventsv1 "k8s.io/api/events/v1"
	networkingv1 "k8s.io/api/networking/v1"
	networkingv1beta1 "k8s.io/api/networking/v1beta1"

	"github.com/kx-apiserver/kx/server/builtin"
	"github.com/kx-apiserver/kx/server/builtin/core/event"
	"github.com/kx-apiserver/kx/server/builtin/discovery/endpointslice"
	"github.com/kx-apiserver/kx/server/builtin/networking/ingress"
	"github.com/kx-apiserver/kx/server/builtin/networking/ingressclass"
	"github.com/kx-apiserver/kx/server/builtin/networking/ipaddress"
	"github.com/kx-apiserver/kx/server/builtin/networking/networkpolicy"
	"github.com/kx-apiserver/kx/server/builtin/networking/servicecidr"
)

func networking() builtin.Group {
	return builtin.Group{
		Versions: []builtin.Version{
			version(networkingv1.SchemeGroupVersion, networkingv1.AddToScheme),
			beta(networkingv1beta1.SchemeGroupVersion, networkingv1beta1.AddToScheme),
		},
		Resources: []builtin.Declaration{
			builtin.Declare(ingressclass.Resource),
			builtin.Declare(ingress.Resource),
			builtin.Declare(ipaddress.Resource),
			builtin.Declare(networkpolicy.Resource),
			builtin.Declare(servicecidr.Resource),
		},
	}
}

func discovery() builtin.Group {
	return builtin.Group{
		Versions: []builtin.Version{
			version(discoveryv1.SchemeGroupVersion, discoveryv1.AddToScheme),
		},
		Resources: []builtin.Declaration{builtin.Declare(endpointslice.Resource)},
	}
}

func events(n Needs) builtin.Group {
	return builtin.Group{
		Versions: []builtin.Version{
			{GroupVersion: eventsv1.SchemeGroupVersion, Types: eventsv1.AddToScheme, Convert: event.Convert},
		},
		Resources: []builtin.Declaration{builtin.Declare(event.ResourceOfEvents(n.EventTTL))},
	}
}
