package builtin

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kx-apiserver/kx/core/rest"
)

// Column describes one column.
type Column = metav1.TableColumnDefinition

// Table makes kubectl's tables of objects of one type and of lists of them. It is a rest.TableConvertor.
//
// Every row holds its whole object; the handler decides how much of it is sent: nothing, its metadata, or all. Tables
// hold every column. The client leaves out columns of a priority above 0 unless the user requests a wide table.
type Table struct {
	columns []Column
	row     anyRow
}

// anyRow makes the row of an object. It fails for an object of another type.
type anyRow func(runtime.Object) (metav1.TableRow, error)

func rowOf[T runtime.Object](row func(obj T) metav1.TableRow) anyRow {
	return func(object runtime.Object) (metav1.TableRow, error) {
		obj, ok := object.(T)
		if !ok {
			return metav1.TableRow{}, fmt.Errorf("no table of %T: the columns are those of %T", object, obj)
		}
		return row(obj), nil
	}
}

// NewTable makes a Table. row returns an object's cells, in the order of columns, and optionally its conditions.
func NewTable[T runtime.Object](columns []Column, row func(obj T) metav1.TableRow) *Table {
	return &Table{columns, rowOf(row)}
}

// newTableInList makes a listTable for objects whose cells depend on the other items of a list. rowIn gets the list, or
// nil for a single object.
func newTableInList[T runtime.Object](columns []Column, rowIn func(list runtime.Object) func(T) metav1.TableRow) *listTable {
	return &listTable{*NewTable(columns, rowIn(nil)), func(list runtime.Object) anyRow { return rowOf(rowIn(list)) }}
}

// listTable is a Table that reads the whole list first. It is a rest.ListTableConvertor.
type listTable struct {
	Table
	rowIn func(list runtime.Object) anyRow
}

// InList returns a convertor for the items of list.
func (g *listTable) InList(list runtime.Object) rest.TableConvertor {
	return &Table{columns: g.columns, row: g.rowIn(list)}
}

// Row makes a row without conditions. Cells are strings, int64s, float64s and bools.
func Row(cells ...any) metav1.TableRow { return metav1.TableRow{Cells: cells} }

// ConvertToTable makes a table of one object or of a list.
func (g *Table) ConvertToTable(_ context.Context, object, tableOptions runtime.Object) (*metav1.Table, error) {
	table := &metav1.Table{}
	switch options := tableOptions.(type) {
	case nil:
		table.ColumnDefinitions = g.columns
	case *metav1.TableOptions:
		if options == nil || !options.NoHeaders {
			table.ColumnDefinitions = g.columns
		}
	default:
		return nil, fmt.Errorf("unrecognized type %T for table options, can't display tabular output", tableOptions)
	}
	if !meta.IsListType(object) {
		table.Rows = make([]metav1.TableRow, 0, 1)
		if err := g.add(table, object); err != nil {
			return nil, err
		}
		if m, err := meta.Accessor(object); err == nil {
			table.ResourceVersion = m.GetResourceVersion()
		}
		return table, nil
	}
	table.Rows = make([]metav1.TableRow, 0, meta.LenList(object))
	if err := meta.EachListItem(object, func(item runtime.Object) error { return g.add(table, item) }); err != nil {
		return nil, err
	}
	if m, err := meta.ListAccessor(object); err == nil {
		table.ResourceVersion = m.GetResourceVersion()
		table.Continue = m.GetContinue()
		table.RemainingItemCount = m.GetRemainingItemCount()
	}
	return table, nil
}

func (g *Table) add(table *metav1.Table, object runtime.Object) error {
	row, err := g.row(object)
	if err != nil {
		return err
	}
	row.Object = runtime.RawExtension{Object: object}
	table.Rows = append(table.Rows, row)
	return nil
}
