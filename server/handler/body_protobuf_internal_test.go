package handler

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kx-apiserver/kx/server/builtin/scheme"
)

func TestCountProtobufFields(t *testing.T) {
	info, _ := runtime.SerializerInfoForMediaType(scheme.Codecs.SupportedMediaTypes(), runtime.ContentTypeProtobuf)
	count := func(obj runtime.Object) int {
		data, err := runtime.Encode(scheme.Codecs.EncoderForVersion(info.Serializer, corev1.SchemeGroupVersion), obj)
		if err != nil {
			t.Fatal(err)
		}
		return countProtobufFields(data, scheme.Scheme, len(data))
	}
	pod := func(containers int) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "a"}, Spec: corev1.PodSpec{Containers: make([]corev1.Container, containers)}}
	}
	// Each container is an item, and writes what is empty in it as fields.
	if none, one, many := count(pod(0)), count(pod(1)), count(pod(11)); one <= none+1 || many-none != 11*(one-none) {
		t.Errorf("%d, %d and %d fields were counted", none, one, many)
	}
	// What is text in an object is not looked into, whatever it looks like.
	text := func(data string) int {
		return count(&corev1.ConfigMap{BinaryData: map[string][]byte{"k": []byte(data)}})
	}
	if short, long := text("\x12\x00"), text("\x12\x00\x12\x00\x12\x00"); short != long {
		t.Errorf("%d and %d fields were counted", short, long)
	}
}
