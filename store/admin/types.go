package admin

import (
	"cmp"
	"slices"
	"sync"

	corev1 "k8s.io/api/core/v1"
	extensionsv1beta1 "k8s.io/api/extensions/v1beta1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensionsv1beta1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1beta1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/version"
	clientscheme "k8s.io/client-go/kubernetes/scheme"

	"github.com/kx-apiserver/kx/store/backend"
)

// apis registers the types that client-go has clients for, which are all that a kube-apiserver stores, and definitions
// of custom resources.
var apis = runtime.SchemeBuilder{clientscheme.AddToScheme, apiextensionsv1.AddToScheme, apiextensionsv1beta1.AddToScheme}

// types returns the types of apis. The first call registers them, which takes milliseconds that most commands can
// save.
var types = sync.OnceValue(func() *runtime.Scheme {
	s := runtime.NewScheme()
	utilruntime.Must(apis.AddToScheme(s))
	return s
})

// builtin is a resource with keys of its own, and the kinds that its values may be of.
type builtin struct {
	resource schema.GroupResource
	kinds    []schema.GroupVersionKind
}

// allocations are kept by an API server for itself. They have kinds, and are no resources that a client could ask for.
var allocations = map[string]builtin{
	"ranges/serviceips":          allocation("serviceipallocations", "RangeAllocation"),
	"ranges/secondaryserviceips": allocation("secondaryserviceipallocations", "RangeAllocation"),
	"ranges/servicenodeports":    allocation("servicenodeportallocations", "RangeAllocation"),
	"masterleases":               allocation("apiServerIPInfo", "Endpoints"),
	"peerserverleases":           allocation("apiServerPeerIPInfo", "Endpoints"),
}

func allocation(resource, kind string) builtin {
	return builtin{
		resource: schema.GroupResource{Resource: resource},
		kinds:    []schema.GroupVersionKind{corev1.SchemeGroupVersion.WithKind(kind)},
	}
}

// apiServices are stored by a server beside the API server; their types are none of k8s.io/api.
var apiServices = builtin{
	resource: schema.GroupResource{Group: "apiregistration.k8s.io", Resource: "apiservices"},
	kinds: []schema.GroupVersionKind{
		{Group: "apiregistration.k8s.io", Version: "v1", Kind: "APIService"},
		{Group: "apiregistration.k8s.io", Version: "v1beta1", Kind: "APIService"},
	},
}

// builtins are the built-in resources by what begins their keys, such as "pods" or "services/specs". A prefix that two
// groups share, such as events', belongs to the first of them and may hold kinds of both.
var builtins = sync.OnceValue(func() map[string]builtin {
	out := map[string]builtin{backend.ResourcePrefix(apiServices.resource): apiServices}
	for prefix, b := range allocations {
		out[prefix] = b
	}
	s := types()
	for _, gv := range versions(s) {
		for kind := range s.KnownTypes(gv) {
			obj, err := s.New(gv.WithKind(kind))
			if err != nil {
				continue
			}
			// Lists and options have no name, and are not stored.
			if _, err := meta.Accessor(obj); err != nil {
				continue
			}
			plural, _ := meta.UnsafeGuessKindToResource(gv.WithKind(kind))
			resource := plural.GroupResource()
			prefix := backend.ResourcePrefix(resource)
			b := out[prefix]
			if b.resource.Empty() || b.resource.Group == extensionsv1beta1.GroupName {
				b.resource = resource
			}
			if prefix == eventsPrefix {
				b.resource = schema.GroupResource{Resource: eventsPrefix}
			}
			b.kinds = append(b.kinds, gv.WithKind(kind))
			out[prefix] = b
		}
	}
	return out
})

// versions returns the versions of all groups, the most stable and newest of each group first.
func versions(s *runtime.Scheme) []schema.GroupVersion {
	return slices.SortedFunc(slices.Values(s.PrioritizedVersionsAllGroups()), func(a, b schema.GroupVersion) int {
		return cmp.Or(cmp.Compare(a.Group, b.Group), version.CompareKubeAwareVersionStrings(b.Version, a.Version))
	})
}

// eventsPrefix begins the keys of events of both groups, which are stored as those of the older one.
const eventsPrefix = "events"
