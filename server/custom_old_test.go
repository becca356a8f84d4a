package server_test

import (
	"bytes"
	"fmt"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// oldDefinitions are definitions as kube-apiservers of other years have left them in etcd: of v1beta1, which allowed schemas
// that are not structural, and kept unknown fields unless told otherwise.
var oldDefinitions = map[string]string{
	"with versions": `{"kind":"CustomResourceDefinition","apiVersion":"apiextensions.k8s.io/v1beta1",` +
		`"metadata":{"name":"olds.%[1]s","uid":"7b9d2a3e-2f55-4a71-9d3d-0f6f1f0c7a11","generation":1,"creationTimestamp":"2019-01-01T00:00:00Z"},` +
		`"spec":{"group":"%[1]s","version":"v1","names":{"plural":"olds","singular":"old","kind":"Old","listKind":"OldList"},"scope":"Namespaced",` +
		`"validation":{"openAPIV3Schema":{"properties":{"spec":{"properties":{"size":{"type":"integer"}}}}}},` +
		`"versions":[{"name":"v1","served":true,"storage":true}],"conversion":{"strategy":"None"},"preserveUnknownFields":true},` +
		`"status":{"conditions":null,"acceptedNames":{"plural":"","kind":""},"storedVersions":["v1"]}}`,
	"with one version, and no word of unknown fields": `{"kind":"CustomResourceDefinition","apiVersion":"apiextensions.k8s.io/v1beta1",` +
		`"metadata":{"name":"olds.%[1]s","uid":"7b9d2a3e-2f55-4a71-9d3d-0f6f1f0c7a12","generation":1,"creationTimestamp":"2018-01-01T00:00:00Z"},` +
		`"spec":{"group":"%[1]s","version":"v1","names":{"plural":"olds","kind":"Old"},"scope":"Namespaced",` +
		`"validation":{"openAPIV3Schema":{"properties":{"spec":{"properties":{"size":{"type":"integer"}}}}}}},` +
		`"status":{"conditions":null,"acceptedNames":{"plural":"","kind":""}}}`,
}

// TestOldDefinition writes definitions of older forms straight into etcd, below the API. Each has its condition NonStructuralSchema
// a moment later, and its objects are served with what their schema does not know. What kx writes back is v1beta1 still.
func TestOldDefinition(t *testing.T) {
	t.Parallel()
	r := shared(t)
	groups := map[string]string{"with versions": "old1.example.com", "with one version, and no word of unknown fields": "old2.example.com"}
	for name, stored := range oldDefinitions {
		t.Run(name, func(t *testing.T) {
			group := groups[name]
			key := "/registry/apiextensions.k8s.io/customresourcedefinitions/olds." + group
			etcd, ctx := r.etcd(t), within(t)
			defer r.undefine(t, "olds."+group)
			_, err := etcd.Put(ctx, key, fmt.Sprintf(stored, group))
			must(t, err)
			until(t, "the definition is listed", func() bool {
				_, err := r.definitions(t).Get(ctx, "olds."+group, metav1.GetOptions{})
				return err == nil
			})
			first, err := r.definitions(t).Get(ctx, "olds."+group, metav1.GetOptions{})
			must(t, err)
			if !isTrue(first, apiextensionsv1.NonStructuralSchema) {
				r.waitFor(t, ctx, first, func(d *apiextensionsv1.CustomResourceDefinition) bool {
					return isTrue(d, apiextensionsv1.NonStructuralSchema)
				})
			}
			r.oldObjects(t, group)
			written, err := etcd.Get(ctx, key)
			must(t, err)
			if !bytes.Contains(written.Kvs[0].Value, []byte(`"apiVersion":"apiextensions.k8s.io/v1beta1"`)) || !bytes.Contains(written.Kvs[0].Value, []byte("NonStructuralSchema")) {
				t.Errorf("etcd has %s", written.Kvs[0].Value)
			}
		})
	}
}

// oldObjects uses objects of an old definition.
func (r *running) oldObjects(t *testing.T, group string) {
	ctx := within(t)
	olds := r.dynamic(t).Resource(schema.GroupVersionResource{Group: group, Version: "v1", Resource: "olds"}).Namespace("default")
	object := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": group + "/v1", "kind": "Old", "metadata": map[string]any{"name": "one"},
		"spec": map[string]any{"size": int64(1), "unknown": "kept"}, "beside": true,
	}}
	until(t, "objects are served", func() bool {
		_, err := olds.Create(ctx, object, metav1.CreateOptions{})
		return err == nil
	})
	read, err := olds.Get(ctx, "one", metav1.GetOptions{})
	must(t, err)
	if unknown, _, _ := unstructured.NestedString(read.Object, "spec", "unknown"); unknown != "kept" || read.Object["beside"] != true {
		t.Errorf("what the schema does not know is gone: %v", read.Object)
	}
	must(t, unstructured.SetNestedField(read.Object, "other", "spec", "unknown"))
	_, err = olds.Update(ctx, read, metav1.UpdateOptions{})
	must(t, err)
	must(t, unstructured.SetNestedField(read.Object, "text", "spec", "size"))
	if _, err := olds.Update(ctx, read, metav1.UpdateOptions{}); err == nil {
		t.Error("a size that is no integer was taken")
	}
	list, err := olds.List(ctx, metav1.ListOptions{})
	must(t, err)
	if len(list.Items) != 1 {
		t.Errorf("%d objects are listed", len(list.Items))
	}
}
