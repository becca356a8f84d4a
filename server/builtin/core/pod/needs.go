package pod

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	policyv1beta1 "k8s.io/api/policy/v1beta1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/server/builtin"
	"github.com/kx-apiserver/kx/server/kubelet"
)

// Needs holds the parts of the server that pods use besides their own storage.
type Needs struct {
	// Kubelets connects to the nodes of pods.
	Kubelets *kubelet.Client
	// Storage returns the storage of another resource, nil if it is not served.
	Storage func(schema.GroupVersionResource) rest.Storage
	// Authorizer decides whether a user who may read a pod may also connect to its processes.
	Authorizer authorizer.UnconditionalAuthorizer
}

// DeclarePods declares pods with the subresources that access other objects and nodes.
func DeclarePods(n Needs) builtin.Resource[*corev1.Pod] {
	r := Resource
	eviction := func(pods *builtin.REST) rest.Storage { return &EvictionREST{pods: pods, storage: n.Storage} }
	log := func(pods *builtin.REST) rest.Storage { return &LogREST{pods: pods, kubelets: n.Kubelets} }
	proxy := func(pods *builtin.REST) rest.Storage { return newProxyREST(pods, n.Kubelets) }
	r.Sub = append(slices.Clone(r.Sub),
		builtin.Sub{Name: "eviction", New: builtin.Make(eviction)},
		builtin.Sub{Name: "log", New: builtin.Make(log)},
		builtin.Sub{Name: "exec", New: n.streamed(&corev1.PodExecOptions{}, execLocation)},
		builtin.Sub{Name: "attach", New: n.streamed(&corev1.PodAttachOptions{}, attachLocation)},
		builtin.Sub{Name: "portforward", New: n.streamed(&corev1.PodPortForwardOptions{}, portForwardLocation)},
		builtin.Sub{Name: "proxy", New: builtin.Make(proxy)},
	)
	return r
}

// AddToScheme registers the bodies and the options of these subresources. Evictions have an old version, too, which
// their group no longer serves.
func AddToScheme(s *runtime.Scheme) error {
	s.AddKnownTypes(policyv1beta1.SchemeGroupVersion, &policyv1beta1.Eviction{})
	s.AddKnownTypes(policyv1.SchemeGroupVersion, &policyv1.Eviction{})
	if err := builtin.AddAlike(s, policyv1beta1.SchemeGroupVersion.WithKind("Eviction"), evictionKind); err != nil {
		return err
	}
	return builtin.AddQueryOptions(s, &corev1.PodLogOptions{}, &corev1.PodExecOptions{}, &corev1.PodAttachOptions{},
		&corev1.PodPortForwardOptions{}, &corev1.PodProxyOptions{})
}
