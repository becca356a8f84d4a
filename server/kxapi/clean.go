package kxapi

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kx-apiserver/kx/core/escape"
	"github.com/kx-apiserver/kx/server/builtin/table"
)

// newTable makes tables whose cells are escaped: most of what this group shows was written by others.
func newTable[T runtime.Object](columns []table.Column, row func(T) metav1.TableRow) *table.Generator[T] {
	return table.New(columns, func(obj T) metav1.TableRow {
		r := row(obj)
		for i := range r.Cells {
			if text, ok := r.Cells[i].(string); ok {
				r.Cells[i] = escape.Line(text)
			}
		}
		return r
	})
}
