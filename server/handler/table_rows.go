package handler

import (
	"context"
	"encoding/json"
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kx-apiserver/kx/core/object"
	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/server/handler/listing"
)

// tableList returns a list as a table, and makes its rows one by one.
func tableList(ctx context.Context, scope *RequestScope, list *object.List, options *metav1.TableOptions,
	gv schema.GroupVersion) (*listing.Document, error) {
	whole, err := list.Empty()
	if err != nil {
		return nil, err
	}
	if scope, err = scopeInList(ctx, scope, list); err != nil {
		return nil, err
	}
	empty, err := asTable(ctx, whole, options, scope, gv)
	if err != nil {
		return nil, err
	}
	head := *empty
	head.Rows = []metav1.TableRow{}
	row := *options
	row.NoHeaders = true // columns are described once
	return &listing.Document{
		Empty: empty, Head: &head, Field: "rows", Items: list.Items,
		Element: func(ctx context.Context, item runtime.Object, _ *listing.Encoding) (listing.Element, error) {
			return rowOf(ctx, scope, item, &row, gv)
		},
	}, nil
}

// scopeInList returns a scope with the convertor for the items of list, if the storage makes one.
func scopeInList(ctx context.Context, scope *RequestScope, list *object.List) (*RequestScope, error) {
	convertor, ok := scope.TableConvertor.(interface {
		InList(context.Context, *object.List) (rest.TableConvertor, error)
	})
	if !ok {
		return scope, nil
	}
	s := *scope
	var err error
	s.TableConvertor, err = convertor.InList(ctx, list)
	return &s, err
}

// rowOf returns an item's row of the table.
func rowOf(ctx context.Context, scope *RequestScope, item runtime.Object, options *metav1.TableOptions,
	gv schema.GroupVersion) (listing.Element, error) {
	table, err := makeTable(ctx, item, options, scope, gv)
	if err != nil {
		return listing.Element{}, err
	}
	if len(table.Rows) != 1 {
		return listing.Element{}, fmt.Errorf("make a table of %s: an object has %d rows", scope.Resource.Resource, len(table.Rows))
	}
	data, err := marshalRow(&table.Rows[0])
	return listing.Element{Data: data}, err
}

// marshalRow encodes a row as JSON. An object in it that is JSON already is copied, because encoding/json would parse
// it twice.
func marshalRow(row *metav1.TableRow) ([]byte, error) {
	if row.Object.Raw == nil || len(row.Conditions) > 0 {
		return json.Marshal(row)
	}
	cells, err := json.Marshal(row.Cells)
	if err != nil {
		return nil, err
	}
	out := make([]byte, 0, len(cells)+len(row.Object.Raw)+len(`{"cells":,"object":}`))
	out = append(append(out, `{"cells":`...), cells...)
	out = append(append(out, `,"object":`...), row.Object.Raw...)
	return append(out, '}'), nil
}
