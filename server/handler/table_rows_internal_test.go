package handler

import (
	"bytes"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// TestRowWriter holds what is written row by row against what the encoder writes of the same table.
func TestRowWriter(t *testing.T) {
	partial := []byte(`{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{"name":"a"}}`)
	rows := []metav1.TableRow{
		{Cells: []any{"<a>", int64(3), nil, true, 1.5}, Object: runtime.RawExtension{Raw: partial}},
		{Cells: []any{}, Object: runtime.RawExtension{Object: &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: "b"}}}},
		{Cells: []any{`"rows":[]`}, Conditions: []metav1.TableRowCondition{{Type: metav1.RowCompleted, Status: "True"}}, Object: runtime.RawExtension{Raw: partial}},
		{Cells: []any{"none"}},
	}
	for _, mediaType := range []string{runtime.ContentTypeJSON, runtime.ContentTypeYAML} {
		info, _ := runtime.SerializerInfoForMediaType(metaCodecs.SupportedMediaTypes(), mediaType)
		for n := range len(rows) + 1 {
			table := &metav1.Table{
				ListMeta:          metav1.ListMeta{ResourceVersion: "7", Continue: "token"},
				ColumnDefinitions: []metav1.TableColumnDefinition{{Name: "Name", Type: "string", Description: `"rows":[]`}},
				Rows:              rows[:n],
			}
			encoder := metaCodecs.EncoderForVersion(info.Serializer, metav1.SchemeGroupVersion)
			var got, want bytes.Buffer
			if err := encoder.Encode(&rowWriter{table}, &got); err != nil {
				t.Fatal(err)
			}
			if err := encoder.Encode(table, &want); err != nil {
				t.Fatal(err)
			}
			if got.String() != want.String() {
				t.Errorf("%s, %d rows:\ngot  %s\nwant %s", mediaType, n, got.String(), want.String())
			}
		}
	}
}
