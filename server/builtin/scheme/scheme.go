package scheme

import (
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"

	"github.com/kx-apiserver/kx/server/builtin/all"
)

var (
	// Scheme holds the built-in types. storedIn maps each resource to the version in which its objects are stored.
	Scheme, storedIn = newScheme()
	// Codecs encodes and decodes them in all media types.
	Codecs = serializer.NewCodecFactory(Scheme)
	// parameterCodec turns query parameters into options and back.
	parameterCodec = runtime.NewParameterCodec(Scheme)
)

func newScheme() (*runtime.Scheme, map[schema.GroupResource]schema.GroupVersion) {
	s, storedIn := runtime.NewScheme(), map[schema.GroupResource]schema.GroupVersion{}
	for _, group := range all.Groups(all.Needs{}) {
		utilruntime.Must(group.AddToScheme(s))
		for _, r := range group.Resources {
			storedIn[schema.GroupResource{Group: group.Name(), Resource: r.Name()}] = r.StoredIn()
		}
	}
	// Status, APIVersions and the like belong to no group: they are sent as v1.
	metav1.AddToGroupVersion(s, schema.GroupVersion{Version: "v1"})
	// The handlers use internal ListOptions, with parsed selectors.
	utilruntime.Must(metainternalversion.AddToScheme(s))
	return s, storedIn
}
