package definition

import (
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/install"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensionsv1beta1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"

	"github.com/kx-apiserver/kx/store/backend"
)

var (
	// Scheme has the group's types in all versions, including v1beta1, which is stored and not served.
	Scheme = newScheme()
	// Codecs encodes and decodes them in all media types.
	Codecs = serializer.NewCodecFactory(Scheme)

	// StorageCodec is for etcd. kube-apiservers write v1beta1, since v1 can be larger: it repeats in each
	// version the parts that v1beta1 has once.
	StorageCodec = Codecs.LegacyCodec(apiextensionsv1beta1.SchemeGroupVersion, apiextensionsv1.SchemeGroupVersion)
	// storageVersion is the version that StorageCodec writes.
	storageVersion runtime.GroupVersioner = runtime.NewMultiGroupVersioner(apiextensionsv1beta1.SchemeGroupVersion,
		schema.GroupKind{Group: apiextensions.GroupName})
)

func newScheme() *runtime.Scheme {
	s := runtime.NewScheme()
	install.Install(s)
	// Status and other common types have no version of their own; they are sent as v1.
	metav1.AddToGroupVersion(s, schema.GroupVersion{Version: "v1"})
	return s
}

// ownCodec replaces the codec in the storage options.
type ownCodec struct{ backend.RESTOptionsGetter }

func (g ownCodec) GetRESTOptions(resource schema.GroupResource, example runtime.Object) (backend.RESTOptions, error) {
	opts, err := g.RESTOptionsGetter.GetRESTOptions(resource, example)
	if err != nil {
		return backend.RESTOptions{}, err
	}
	config := *opts.StorageConfig
	config.Codec, config.EncodeVersioner = StorageCodec, storageVersion
	opts.StorageConfig = &config
	return opts, nil
}
