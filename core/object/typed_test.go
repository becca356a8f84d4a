package object_test

import (
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"

	"github.com/kx-apiserver/kx/core/object"
)

// typed is a scheme with the types of core/v1, whose lists are encoded as the server encodes them.
var (
	typedScheme = func() *runtime.Scheme {
		s := runtime.NewScheme()
		if err := corev1.AddToScheme(s); err != nil {
			panic(err)
		}
		return s
	}()
	typedCodecs = serializer.NewCodecFactory(typedScheme,
		serializer.WithStreamingCollectionEncodingToJSON(), serializer.WithStreamingCollectionEncodingToProtobuf())
)

var configMaps = &object.Format{
	Forms: object.NewForms(),
	New:   func() runtime.Object { return &corev1.ConfigMap{} },
	Decode: func(key string, data []byte, into runtime.Object, rev int64, _ bool) (bool, error) {
		obj, _, err := typedCodecs.UniversalDeserializer().Decode(data, nil, nil)
		if err != nil {
			return false, fmt.Errorf("decode %s: %w", key, err)
		}
		*into.(*corev1.ConfigMap) = *obj.(*corev1.ConfigMap)
		into.(*corev1.ConfigMap).TypeMeta = metav1.TypeMeta{}
		return false, versioner.UpdateObject(into, uint64(rev))
	},
}

func newConfigMap(t testing.TB, mediaType, name string, data map[string]string) *object.Encoded {
	t.Helper()
	info, _ := runtime.SerializerInfoForMediaType(typedCodecs.SupportedMediaTypes(), mediaType)
	obj := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"a": "b"}}, Data: data}
	stored, err := runtime.Encode(typedCodecs.EncoderForVersion(info.Serializer, corev1.SchemeGroupVersion), obj)
	if err != nil {
		t.Fatal(err)
	}
	return object.NewEncoded(configMaps, "/configmaps/default/"+name, stored, revision, false)
}
