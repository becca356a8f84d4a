package schema

import (
	"reflect"
	"strings"
	"testing"

	"k8s.io/apiextensions-apiserver/pkg/apiserver/schema/objectmeta"
	"k8s.io/apimachinery/pkg/runtime"
	utiljson "k8s.io/apimachinery/pkg/util/json"
)

const fullMetadata = `{"name":"a","generateName":"a-","namespace":"b","uid":"c","resourceVersion":"7","generation":2,"creationTimestamp":"2024-02-29T12:00:00Z",
	"deletionTimestamp":"2024-03-01T00:00:00Z","deletionGracePeriodSeconds":0,"labels":{"a":"","b":"c"},"annotations":{"d":"e"},"finalizers":["x/y"],"selfLink":"/",
	"ownerReferences":[{"apiVersion":"v1","kind":"Pod","name":"p","uid":"u","controller":false,"blockOwnerDeletion":true}],
	"managedFields":[{"manager":"m","operation":"Update","apiVersion":"v1","fieldsType":"FieldsV1","subresource":"status","time":"2024-02-29T12:00:00Z","fieldsV1":{"f:spec":{".":{},"f:a":{}}}}]}`

func TestOrdinaryMetadata(t *testing.T) {
	if !ordinary(parse(t, fullMetadata)) || !ordinary(parse(t, `{name: a}`)) || !ordinary(map[string]any{}) {
		t.Error("ordinary metadata is none")
	}
	// Each changes one field of fullMetadata.
	for _, change := range [][2]string{
		{`"name":"a"`, `"name":""`}, {`"name":"a"`, `"name":1`}, {`"name":"a"`, `"name":null`}, {`"name":"a"`, `"nme":"a"`}, {`"generation":2`, `"generation":0`},
		{`"generation":2`, `"generation":2.5`}, {`"creationTimestamp":"2024-02-29T12:00:00Z"`, `"creationTimestamp":null`}, {`T12:00:00Z`, `T12:00:00.5Z`},
		{`"creationTimestamp":"2024-02-29T12:00:00Z"`, `"creationTimestamp":"2024-02-29T12:00:00+00:00"`}, {`"creationTimestamp":"2024-02-29T12:00:00Z"`, `"creationTimestamp":"0001-01-01T00:00:00Z"`},
		{`{"a":"","b":"c"}`, `{}`}, {`{"a":"","b":"c"}`, `{"a":1}`}, {`["x/y"]`, `[]`}, {`["x/y"]`, `[""]`}, {`"deletionGracePeriodSeconds":0`, `"deletionGracePeriodSeconds":null`},
		{`"uid":"u",`, ``}, {`"kind":"Pod"`, `"kind":""`}, {`"controller":false`, `"controller":null`}, {`"f:a":{}`, `"f:a":null`}, {`"f:a":{}`, `"f:a":1`}, {`"manager":"m"`, `"manager":""`},
	} {
		text := strings.Replace(fullMetadata, change[0], change[1], 1)
		if text == fullMetadata || ordinary(parse(t, text)) {
			t.Errorf("ordinary with %s instead of %s", change[1], change[0])
		}
	}
	for _, v := range []any{nil, "a", []any{}, map[string]any(nil)} {
		if ordinary(v) {
			t.Errorf("ordinary: %#v", v)
		}
	}
	sameAsObjectMeta(t, parse(t, fullMetadata))
}

// sameAsObjectMeta fails the test if metadata is called ordinary, and the way through ObjectMeta changes it.
func sameAsObjectMeta(t *testing.T, metadata any) {
	t.Helper()
	if !ordinary(metadata) {
		return
	}
	obj := map[string]any{"metadata": runtime.DeepCopyJSONValue(metadata)}
	meta, _, unknown, err := objectmeta.GetObjectMetaWithOptions(obj, objectmeta.ObjectMetaOptions{ReturnUnknownFieldPaths: true})
	if err == nil {
		err = objectmeta.SetObjectMeta(obj, meta)
	}
	if err != nil || len(unknown) > 0 || !reflect.DeepEqual(obj["metadata"], metadata) {
		t.Errorf("%#v is called ordinary, and becomes %#v; unknown %v, %v", metadata, obj["metadata"], unknown, err)
	}
}

// FuzzMetadata looks for metadata that is called ordinary and is not.
func FuzzMetadata(f *testing.F) {
	f.Add([]byte(fullMetadata))
	f.Add([]byte(`{"name":"a","labels":{"a":"b"}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		var metadata any
		if utiljson.Unmarshal(data, &metadata) == nil {
			sameAsObjectMeta(t, metadata)
		}
	})
}
