package handler

import (
	"bytes"
	"fmt"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	metav1beta1 "k8s.io/apimachinery/pkg/apis/meta/v1beta1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kx-apiserver/kx/core/object"
)

// TestMetadataList holds what is written of encoded objects against what the encoder writes of the same list, decoded.
func TestMetadataList(t *testing.T) {
	format := &object.Format{
		New: func() runtime.Object { return &unstructured.Unstructured{} },
		Decode: func(_ string, data []byte, into runtime.Object, revision int64, _ bool) (bool, error) {
			if _, _, err := unstructured.UnstructuredJSONScheme.Decode(data, nil, into); err != nil {
				return false, err
			}
			into.(*unstructured.Unstructured).SetResourceVersion(fmt.Sprint(revision))
			return true, nil
		},
	}
	stored := []string{
		`{"apiVersion":"example.com/v1","kind":"Panda","metadata":{"creationTimestamp":"2026-01-02T03:04:05Z","labels":{"b":"<&>","a":"1"},"name":"a","namespace":"ns","uid":"u"},"spec":{"items":[]}}`,
		// Its bytes don't do: an empty map is left out, and a time is written in another form.
		`{"apiVersion":"example.com/v1","kind":"Panda","metadata":{"annotations":{},"creationTimestamp":"2026-01-02T03:04:05+01:00","name":"b"}}`,
		`{"apiVersion":"example.com/v1","kind":"Panda","metadata":{"managedFields":[{"apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":{"f:spec":{}},"manager":"m","operation":"Apply"}],"name":"\"items\":[]"}}`,
	}
	spliced := 0
	remaining := int64(5)
	for _, gv := range []schema.GroupVersion{metav1.SchemeGroupVersion, metav1beta1.SchemeGroupVersion} {
		for n := range len(stored) + 1 {
			list := &object.List{
				ListMeta: metav1.ListMeta{ResourceVersion: "9", Continue: `"items":[]`, RemainingItemCount: &remaining},
				New:      func() runtime.Object { return &unstructured.UnstructuredList{} },
			}
			for i, data := range stored[:n] {
				list.Items = append(list.Items, object.NewEncoded(format, fmt.Sprint("/pandas/", i), []byte(data+"\n"), int64(i+1), false))
			}
			decoded, err := list.Object()
			if err != nil {
				t.Fatal(err)
			}
			want, err := makeMetadataList(list, decoded, gv)
			if err != nil {
				t.Fatal(err)
			}
			got, err := asPartialObjectMetadataList(list, gv)
			if err != nil {
				t.Fatal(err)
			}
			for _, item := range list.Items {
				if _, ok := item.PartialJSON(gv); ok {
					spliced++
				}
			}
			for _, info := range metaCodecs.SupportedMediaTypes() {
				encoder := metaCodecs.EncoderForVersion(info.Serializer, gv)
				if a, b := encodeWith(t, encoder, got), encodeWith(t, encoder, want); a != b {
					t.Errorf("%s, %s, %d items:\ngot  %q\nwant %q", gv, info.MediaType, n, a, b)
				}
			}
		}
	}
	if spliced == 0 {
		t.Error("no item's bytes did")
	}
}

func encodeWith(t *testing.T, encoder runtime.Encoder, obj runtime.Object) string {
	t.Helper()
	var out bytes.Buffer
	if err := encoder.Encode(obj, &out); err != nil {
		t.Fatal(err)
	}
	return out.String()
}
