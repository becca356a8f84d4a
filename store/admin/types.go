package admin

import (
	"sync"

	admissionv1 "k8s.io/api/admission/v1"
	admissionv1beta1 "k8s.io/api/admission/v1beta1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	admissionregistrationv1alpha1 "k8s.io/api/admissionregistration/v1alpha1"
	admissionregistrationv1beta1 "k8s.io/api/admissionregistration/v1beta1"
	apidiscoveryv2 "k8s.io/api/apidiscovery/v2"
	apidiscoveryv2beta1 "k8s.io/api/apidiscovery/v2beta1"
	apiserverinternalv1alpha1 "k8s.io/api/apiserverinternal/v1alpha1"
	appsv1 "k8s.io/api/apps/v1"
	appsv1beta1 "k8s.io/api/apps/v1beta1"
	appsv1beta2 "k8s.io/api/apps/v1beta2"
	authenticationv1 "k8s.io/api/authentication/v1"
	authenticationv1alpha1 "k8s.io/api/authentication/v1alpha1"
	authenticationv1beta1 "k8s.io/api/authentication/v1beta1"
	authorizationv1 "k8s.io/api/authorization/v1"
	authorizationv1beta1 "k8s.io/api/authorization/v1beta1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	batchv1beta1 "k8s.io/api/batch/v1beta1"
	certificatesv1 "k8s.io/api/certificates/v1"
	certificatesv1alpha1 "k8s.io/api/certificates/v1alpha1"
	certificatesv1beta1 "k8s.io/api/certificates/v1beta1"
	coordinationv1 "k8s.io/api/coordination/v1"
	coordinationv1alpha2 "k8s.io/api/coordination/v1alpha2"
	coordinationv1beta1 "k8s.io/api/coordination/v1beta1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	discoveryv1beta1 "k8s.io/api/discovery/v1beta1"
	eventsv1 "k8s.io/api/events/v1"
	eventsv1beta1 "k8s.io/api/events/v1beta1"
	extensionsv1beta1 "k8s.io/api/extensions/v1beta1"
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	flowcontrolv1beta1 "k8s.io/api/flowcontrol/v1beta1"
	flowcontrolv1beta2 "k8s.io/api/flowcontrol/v1beta2"
	flowcontrolv1beta3 "k8s.io/api/flowcontrol/v1beta3"
	imagepolicyv1alpha1 "k8s.io/api/imagepolicy/v1alpha1"
	lifecyclev1alpha1 "k8s.io/api/lifecycle/v1alpha1"
	networkingv1 "k8s.io/api/networking/v1"
	networkingv1beta1 "k8s.io/api/networking/v1beta1"
	nodev1 "k8s.io/api/node/v1"
	nodev1alpha1 "k8s.io/api/node/v1alpha1"
	nodev1beta1 "k8s.io/api/node/v1beta1"
	policyv1 "k8s.io/api/policy/v1"
	policyv1beta1 "k8s.io/api/policy/v1beta1"
	rbacv1 "k8s.io/api/rbac/v1"
	rbacv1alpha1 "k8s.io/api/rbac/v1alpha1"
	rbacv1beta1 "k8s.io/api/rbac/v1beta1"
	resourcev1 "k8s.io/api/resource/v1"
	resourcev1alpha3 "k8s.io/api/resource/v1alpha3"
	resourcev1beta1 "k8s.io/api/resource/v1beta1"
	resourcev1beta2 "k8s.io/api/resource/v1beta2"
	schedulingv1 "k8s.io/api/scheduling/v1"
	schedulingv1alpha3 "k8s.io/api/scheduling/v1alpha3"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	storagev1 "k8s.io/api/storage/v1"
	storagev1alpha1 "k8s.io/api/storage/v1alpha1"
	storagev1beta1 "k8s.io/api/storage/v1beta1"
	storagemigrationv1 "k8s.io/api/storagemigration/v1"
	storagemigrationv1beta1 "k8s.io/api/storagemigration/v1beta1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensionsv1beta1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1beta1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"

	"github.com/kx-apiserver/kx/store/backend"
)

// apis registers all of k8s.io/api, the versions of a group from the preferred on, and definitions of custom resources.
var apis = runtime.SchemeBuilder{
	admissionv1.AddToScheme,
	admissionv1beta1.AddToScheme,
	admissionregistrationv1.AddToScheme,
	admissionregistrationv1beta1.AddToScheme,
	admissionregistrationv1alpha1.AddToScheme,
	apidiscoveryv2.AddToScheme,
	apidiscoveryv2beta1.AddToScheme,
	apiserverinternalv1alpha1.AddToScheme,
	appsv1.AddToScheme,
	appsv1beta2.AddToScheme,
	appsv1beta1.AddToScheme,
	authenticationv1.AddToScheme,
	authenticationv1beta1.AddToScheme,
	authenticationv1alpha1.AddToScheme,
	authorizationv1.AddToScheme,
	authorizationv1beta1.AddToScheme,
	autoscalingv2.AddToScheme,
	autoscalingv1.AddToScheme,
	batchv1.AddToScheme,
	batchv1beta1.AddToScheme,
	certificatesv1.AddToScheme,
	certificatesv1beta1.AddToScheme,
	certificatesv1alpha1.AddToScheme,
	coordinationv1.AddToScheme,
	coordinationv1beta1.AddToScheme,
	coordinationv1alpha2.AddToScheme,
	corev1.AddToScheme,
	discoveryv1.AddToScheme,
	discoveryv1beta1.AddToScheme,
	eventsv1.AddToScheme,
	eventsv1beta1.AddToScheme,
	extensionsv1beta1.AddToScheme,
	flowcontrolv1.AddToScheme,
	flowcontrolv1beta3.AddToScheme,
	flowcontrolv1beta2.AddToScheme,
	flowcontrolv1beta1.AddToScheme,
	imagepolicyv1alpha1.AddToScheme,
	lifecyclev1alpha1.AddToScheme,
	networkingv1.AddToScheme,
	networkingv1beta1.AddToScheme,
	nodev1.AddToScheme,
	nodev1beta1.AddToScheme,
	nodev1alpha1.AddToScheme,
	policyv1.AddToScheme,
	policyv1beta1.AddToScheme,
	rbacv1.AddToScheme,
	rbacv1beta1.AddToScheme,
	rbacv1alpha1.AddToScheme,
	resourcev1.AddToScheme,
	resourcev1beta2.AddToScheme,
	resourcev1beta1.AddToScheme,
	resourcev1alpha3.AddToScheme,
	schedulingv1.AddToScheme,
	schedulingv1beta1.AddToScheme,
	schedulingv1alpha3.AddToScheme,
	storagev1.AddToScheme,
	storagev1beta1.AddToScheme,
	storagev1alpha1.AddToScheme,
	storagemigrationv1.AddToScheme,
	storagemigrationv1beta1.AddToScheme,
	apiextensionsv1.AddToScheme,
	apiextensionsv1beta1.AddToScheme,
}

// types knows the types of apis once somebody asks: registering them takes milliseconds, which most commands need not
// spend.
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
	for _, version := range s.PrioritizedVersionsAllGroups() {
		for kind := range s.KnownTypes(version) {
			obj, err := s.New(version.WithKind(kind))
			if err != nil {
				continue
			}
			// Lists and options have no name, and are not stored.
			if _, err := meta.Accessor(obj); err != nil {
				continue
			}
			plural, _ := meta.UnsafeGuessKindToResource(version.WithKind(kind))
			resource := plural.GroupResource()
			prefix := backend.ResourcePrefix(resource)
			b := out[prefix]
			if b.resource.Empty() || b.resource.Group == extensionsv1beta1.GroupName {
				b.resource = resource
			}
			if prefix == eventsPrefix {
				b.resource = schema.GroupResource{Resource: eventsPrefix}
			}
			b.kinds = append(b.kinds, version.WithKind(kind))
			out[prefix] = b
		}
	}
	return out
})

// eventsPrefix begins the keys of events of both groups, which are stored as those of the older one.
const eventsPrefix = "events"
