package handler

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kx-apiserver/kx/core/object"
)

// rowWriter is a table for an encoder of JSON to write row by row. The objects in its rows may be JSON already, which
// encoding/json would read again, twice.
type rowWriter struct{ *metav1.Table }

var _ runtime.CacheableObject = &rowWriter{}

// GetObject implements runtime.CacheableObject.
func (t *rowWriter) GetObject() runtime.Object { return t.Table.DeepCopy() }

// noRows is where a table has its rows. It can't occur elsewhere: in a string its quotes would be escaped.
var noRows = []byte(`"rows":[]`)

// CacheEncode implements runtime.CacheableObject. Nothing is kept.
func (t *rowWriter) CacheEncode(id runtime.Identifier, encode func(runtime.Object, io.Writer) error, w io.Writer) error {
	if !object.WritesJSON(id) || len(t.Rows) == 0 {
		return encode(t.Table, w)
	}
	head := *t.Table
	head.Rows = []metav1.TableRow{}
	var out bytes.Buffer
	if err := encode(&head, &out); err != nil {
		return err
	}
	at := bytes.Index(out.Bytes(), noRows)
	if at < 0 {
		return fmt.Errorf("write a table: without rows it is %q", out.Bytes())
	}
	at += len(noRows) - len("]")
	end := bytes.Clone(out.Bytes()[at:])
	out.Truncate(at)
	for i := range t.Rows {
		if i > 0 {
			out.WriteByte(',')
		}
		if err := writeRow(&out, &t.Rows[i]); err != nil {
			return err
		}
	}
	out.Write(end)
	_, err := w.Write(out.Bytes())
	return err
}

func writeRow(out *bytes.Buffer, row *metav1.TableRow) error {
	if row.Object.Raw == nil || len(row.Conditions) > 0 {
		data, err := json.Marshal(row)
		out.Write(data)
		return err
	}
	cells, err := json.Marshal(row.Cells)
	if err != nil {
		return err
	}
	out.WriteString(`{"cells":`)
	out.Write(cells)
	out.WriteString(`,"object":`)
	out.Write(row.Object.Raw)
	out.WriteByte('}')
	return nil
}
