package builtin

import (
	"context"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

var names = NewTable([]Column{NameColumn, AgeColumn}, func(cm *corev1.ConfigMap) metav1.TableRow {
	return Row(cm.Name, Age(cm.CreationTimestamp))
})

func TestConvertList(t *testing.T) {
	list := &corev1.ConfigMapList{
		ListMeta: metav1.ListMeta{ResourceVersion: "7", Continue: "next", RemainingItemCount: new(int64(3))},
		Items: []corev1.ConfigMap{
			{ObjectMeta: metav1.ObjectMeta{Name: "a"}},
			{ObjectMeta: metav1.ObjectMeta{Name: "b", CreationTimestamp: metav1.NewTime(time.Now().Add(-49*time.Hour - time.Second))}},
		},
	}
	got, err := names.ConvertToTable(context.Background(), list, &metav1.TableOptions{})
	if err != nil {
		t.Fatal(err)
	}
	want := &metav1.Table{
		ListMeta: list.ListMeta,
		ColumnDefinitions: []metav1.TableColumnDefinition{
			{Name: "Name", Type: "string", Format: "name", Description: metav1.ObjectMeta{}.SwaggerDoc()["name"]},
			{Name: "Age", Type: "string", Description: metav1.ObjectMeta{}.SwaggerDoc()["creationTimestamp"]},
		},
		Rows: []metav1.TableRow{
			{Cells: []any{"a", "<unknown>"}, Object: runtime.RawExtension{Object: &list.Items[0]}},
			{Cells: []any{"b", "2d1h"}, Object: runtime.RawExtension{Object: &list.Items[1]}},
		},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if got.Rows[0].Object.Object != runtime.Object(&list.Items[0]) {
		t.Error("the row's object is a copy")
	}
}

func TestConvertOne(t *testing.T) {
	for name, tc := range map[string]struct {
		options runtime.Object
		columns int
	}{
		"no options":      {nil, 2},
		"nil options":     {(*metav1.TableOptions)(nil), 2},
		"without headers": {&metav1.TableOptions{NoHeaders: true}, 0},
	} {
		got, err := names.ConvertToTable(context.Background(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "a", ResourceVersion: "4"}}, tc.options)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if len(got.ColumnDefinitions) != tc.columns || len(got.Rows) != 1 || got.ResourceVersion != "4" {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

func TestConvertEmptyList(t *testing.T) {
	got, err := names.ConvertToTable(context.Background(), &corev1.ConfigMapList{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if got.Rows == nil || len(got.Rows) != 0 {
		t.Errorf("rows %v: clients expect an empty list", got.Rows)
	}
}

func TestConvertRefuses(t *testing.T) {
	for name, tc := range map[string]struct{ object, options runtime.Object }{
		"another type":    {&corev1.Secret{}, nil},
		"another list":    {&corev1.SecretList{Items: make([]corev1.Secret, 1)}, nil},
		"strange options": {&corev1.ConfigMap{}, &metav1.GetOptions{}},
	} {
		if _, err := names.ConvertToTable(context.Background(), tc.object, tc.options); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestMicroAge(t *testing.T) {
	if got := MicroAge(metav1.MicroTime{}); got != "<unknown>" {
		t.Errorf("got %s", got)
	}
	if got := MicroAge(metav1.NewMicroTime(time.Now().Add(-3*time.Hour - time.Second))); got != "3h" {
		t.Errorf("got %s", got)
	}
}
