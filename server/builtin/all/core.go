package all

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kx-apiserver/kx/server/builtin"
	"github.com/kx-apiserver/kx/server/builtin/core/componentstatus"
	"github.com/kx-apiserver/kx/server/builtin/core/configmap"
	"github.com/kx-apiserver/kx/server/builtin/core/endpoints"
	"github.com/kx-apiserver/kx/server/builtin/core/event"
	"github.com/kx-apiserver/kx/server/builtin/core/limitrange"
	"github.com/kx-apiserver/kx/server/builtin/core/namespace"
	corenode "github.com/kx-apiserver/kx/server/builtin/core/node"
	"github.com/kx-apiserver/kx/server/builtin/core/persistentvolume"
	"github.com/kx-apiserver/kx/server/builtin/core/persistentvolumeclaim"
	"github.com/kx-apiserver/kx/server/builtin/core/pod"
	"github.com/kx-apiserver/kx/server/builtin/core/podtemplate"
	"github.com/kx-apiserver/kx/server/builtin/core/replicationcontroller"
	"github.com/kx-apiserver/kx/server/builtin/core/resourcequota"
	"github.com/kx-apiserver/kx/server/builtin/core/secret"
	"github.com/kx-apiserver/kx/server/builtin/core/service"
	"github.com/kx-apiserver/kx/server/builtin/core/serviceaccount"
)

func core(n Needs) builtin.Group {
	return builtin.Group{
		Versions: []builtin.Version{
			{GroupVersion: corev1.SchemeGroupVersion, Types: corev1.AddToScheme, Convert: addSubresources},
		},
		Resources: []builtin.Declaration{
			componentstatus.Declaration{Etcd: n.EtcdHealth},
			pod.Bindings,
			builtin.Declare(configmap.Resource),
			builtin.Declare(endpoints.Resource),
			builtin.Declare(event.Resource(n.EventTTL)),
			builtin.Declare(limitrange.Resource),
			builtin.Declare(namespace.Resource),
			builtin.Declare(corenode.Served(n.Kubelets)),
			builtin.Declare(persistentvolumeclaim.Resource),
			builtin.Declare(persistentvolume.Resource),
			builtin.Declare(pod.Served(pod.Needs{Kubelets: n.Kubelets, Storage: n.Storage, Authorizer: n.Authorizer})),
			builtin.Declare(podtemplate.Resource),
			builtin.Declare(replicationcontroller.Resource),
			builtin.Declare(resourcequota.Resource),
			builtin.Declare(secret.Resource),
			builtin.Declare(serviceaccount.Served(n.tokens())),
			service.Served(service.Needs{Kubelets: n.Kubelets, Storage: n.Storage}),
		},
	}
}

// addSubresources registers the kinds that only subresources take.
func addSubresources(s *runtime.Scheme) error {
	for _, add := range []func(*runtime.Scheme) error{corenode.AddOptions, pod.AddToScheme, service.AddOptions, serviceaccount.AddToScheme} {
		if err := add(s); err != nil {
			return err
		}
	}
	return nil
}
