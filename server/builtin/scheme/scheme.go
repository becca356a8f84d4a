package scheme

import (
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"

	"github.com/kx-apiserver/kx/server/builtin"
	"github.com/kx-apiserver/kx/server/builtin/apps/deployment"
	"github.com/kx-apiserver/kx/server/builtin/apps/replicaset"
	"github.com/kx-apiserver/kx/server/builtin/apps/v1beta1"
	"github.com/kx-apiserver/kx/server/builtin/apps/v1beta2"
	"github.com/kx-apiserver/kx/server/builtin/core/configmap"
	"github.com/kx-apiserver/kx/server/builtin/core/event"
	"github.com/kx-apiserver/kx/server/builtin/core/namespace"
	"github.com/kx-apiserver/kx/server/builtin/core/pod"
	"github.com/kx-apiserver/kx/server/builtin/core/secret"
	"github.com/kx-apiserver/kx/server/builtin/core/service"
)

// resources are what the resource packages register: defaults, conversions and field labels.
var resources = runtime.SchemeBuilder{
	namespace.AddToScheme,
	configmap.AddToScheme,
	secret.AddToScheme,
	event.AddToScheme,
	service.AddToScheme,
	pod.AddToScheme,
	replicaset.AddToScheme,
	deployment.AddToScheme,
	v1beta1.AddToScheme,
	v1beta2.AddToScheme,
}

var (
	// Scheme knows the built-in types.
	Scheme = newScheme()
	// Codecs encodes and decodes them in all media types.
	Codecs = serializer.NewCodecFactory(Scheme)
	// ParameterCodec turns query parameters into options and back.
	ParameterCodec = runtime.NewParameterCodec(Scheme)
)

func newScheme() *runtime.Scheme {
	s := runtime.NewScheme()
	utilruntime.Must(builtin.AddTypes(s))
	// Status, APIVersions and the like have no version of their own: they are sent as v1.
	metav1.AddToGroupVersion(s, schema.GroupVersion{Version: "v1"})
	// The handlers' ListOptions, with parsed selectors.
	utilruntime.Must(metainternalversion.AddToScheme(s))
	utilruntime.Must(resources.AddToScheme(s))
	return s
}
