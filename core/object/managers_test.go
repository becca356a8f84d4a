package object_test

import (
	"encoding/json"
	"reflect"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kx-apiserver/kx/core/object"
)

const (
	ownItem = `{"apiVersion":"v1","fieldsType":"FieldsV1","fieldsV1":{"f:a":{".":{},"k:{\"b\":\"<\"}":{}}},` +
		`"manager":"m","operation":"Update","time":"2026-11-20T15:03:30Z"}`
	otherItem = `{"apiVersion":"v2","fieldsType":"FieldsV1","fieldsV1":{"f:b":{}},"manager":"n","operation":"Apply","subresource":"status"}`
)

// managedFields are values of metadata.managedFields, most of them unusual.
var managedFields = []string{
	`[]`, `null`, `"text"`, `[{}]`, `[null]`, `["text"]`, `[` + ownItem + `]`,
	`[` + ownItem + `,` + otherItem + `]`, `[` + ownItem + `,` + ownItem + `]`,
	`[{"manager":"m","operation":"Update","time":null,"fieldsV1":null}]`, `[{"manager":"m","time":""}]`,
	`[{"manager":"m","time":"yesterday"}]`,
	`[{"time":"2026-11-20T15:03:30+02:00","fieldsV1":{}}]`, `[{"time":"0001-01-01T00:00:00Z"}]`, `[{"manager":1}]`, `[{"fieldsV1":["f:a"]}]`,
	`[{"manager":"m","Manager":"n","other":{"a":"b"}}]`, `[{"fieldsV1":"f:a","time":1}]`, `[{"fieldsV1":{"f:a":1.5,"f:b":null}}]`,
}

func withManagedFields(t *testing.T, value string) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{}
	if err := json.Unmarshal([]byte(`{"metadata":{"name":"a","managedFields":`+value+`}}`), &u.Object); err != nil {
		t.Fatal(err)
	}
	return u
}

// TestManagedFields compares the entries with those that the library reads.
func TestManagedFields(t *testing.T) {
	for _, value := range managedFields {
		u := withManagedFields(t, value)
		if got, want := object.ManagedFields(u), u.GetManagedFields(); !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %#v, want %#v", value, got, want)
		}
	}
	empty := &unstructured.Unstructured{}
	if got := object.ManagedFields(empty); got != nil {
		t.Errorf("%v of an empty object, want nil", got)
	}
}

// TestManaged sets the managedFields to other ones, to the same, and to some with another time.
func TestManaged(t *testing.T) {
	for _, first := range managedFields {
		for _, second := range append(managedFields, "") {
			want := withManagedFields(t, first)
			entries := want.GetManagedFields()
			now := metav1.Now()
			if second != "" {
				entries = withManagedFields(t, second).GetManagedFields()
			} else if len(entries) > 0 {
				entries[0].Time = &now
			}
			u := withManagedFields(t, first)
			managed := object.NewManaged(u)
			managed.SetManagedFields(nil)
			want.SetManagedFields(nil)
			if !reflect.DeepEqual(u, want) || managed.GetManagedFields() != nil {
				t.Errorf("%s without managedFields: %v, want %v", first, u, want)
			}
			managed.SetManagedFields(entries)
			want.SetManagedFields(entries)
			if !reflect.DeepEqual(u, want) {
				t.Errorf("%s set to %s: %v, want %v", first, second, u, want)
			}
		}
	}
	managed := object.NewManaged(&unstructured.Unstructured{Object: map[string]any{}})
	managed.SetManagedFields([]metav1.ManagedFieldsEntry{{Manager: "m"}})
	if got := managed.Unstructured.GetManagedFields(); len(got) != 1 {
		t.Errorf("an object without metadata got %v, want one entry", got)
	}
}
