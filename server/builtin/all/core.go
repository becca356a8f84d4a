package all

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kx-apiserver/kx/server/builtin"
	"github.com/kx-apiserver/kx/server/builtin/core"
	"github.com/kx-apiserver/kx/server/builtin/core/pod"
	"github.com/kx-apiserver/kx/server/builtin/core/service"
)

func coreGroup(n Needs) builtin.Group {
	return builtin.Group{
		Versions: []builtin.Version{
			{GroupVersion: corev1.SchemeGroupVersion, Types: corev1.AddToScheme, Convert: addSubresources},
		},
		Resources: []builtin.Declaration{
			core.ComponentStatus{Etcd: n.EtcdHealth},
			pod.Bindings,
			builtin.Declare(core.ConfigMap),
			builtin.Declare(core.Endpoints),
			builtin.Declare(core.Event(n.EventTTL)),
			builtin.Declare(core.LimitRange),
			builtin.Declare(core.Namespace),
			builtin.Declare(core.DeclareNodes(n.Kubelets)),
			builtin.Declare(core.PersistentVolumeClaim),
			builtin.Declare(core.PersistentVolume),
			builtin.Declare(pod.DeclarePods(pod.Needs{Kubelets: n.Kubelets, Storage: n.Storage, Authorizer: n.Authorizer})),
			builtin.Declare(core.PodTemplate),
			builtin.Declare(core.ReplicationController),
			builtin.Declare(core.ResourceQuota),
			builtin.Declare(core.Secret),
			builtin.Declare(core.DeclareServiceAccounts(n.tokens())),
			service.DeclareServices(service.Needs{Kubelets: n.Kubelets, Storage: n.Storage}),
		},
	}
}

// addSubresources registers the kinds that only subresources accept.
func addSubresources(s *runtime.Scheme) error {
	for _, add := range []func(*runtime.Scheme) error{core.AddNodeOptions, pod.AddToScheme, service.AddOptions, core.AddTokenRequests} {
		if err := add(s); err != nil {
			return err
		}
	}
	return nil
}
