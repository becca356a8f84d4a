package handler

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1beta1 "k8s.io/apimachinery/pkg/apis/meta/v1beta1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kx-apiserver/kx/core/object"
	"github.com/kx-apiserver/kx/core/steps"
	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/server/handler/negotiation"
)

// asTable converts an object or list in the hub version to a table. Depending on options, its rows hold the objects in
// the request's version, their metadata, or nothing.
func asTable(ctx context.Context, result runtime.Object, options *metav1.TableOptions, scope *RequestScope,
	gv schema.GroupVersion) (table *metav1.Table, err error) {
	if !isMetaVersion(gv) {
		return nil, negotiation.NewNotAcceptableMessage(fmt.Sprintf("no Table exists in group version %s", gv))
	}
	ctx, step := trace.Start(ctx, steps.HandlerTable, scope.Kind.Kind)
	defer step.End(&err)
	if table, err = makeTable(ctx, result, options, scope, gv); err == nil {
		step.Int("columns", int64(len(table.ColumnDefinitions)))
	}
	return table, err
}

func makeTable(ctx context.Context, result runtime.Object, options *metav1.TableOptions, scope *RequestScope,
	gv schema.GroupVersion) (*metav1.Table, error) {
	table, err := scope.TableConvertor.ConvertToTable(ctx, result, options)
	if err != nil {
		return nil, err
	}
	for i := range table.Rows {
		row := &table.Rows[i].Object
		if row.Raw = partialJSON(row.Object, options.IncludeObject, gv); row.Raw != nil {
			row.Object = nil
			continue
		}
		if row.Object, err = rowObject(row.Object, options.IncludeObject, scope, gv); err != nil {
			return nil, err
		}
	}
	return table, nil
}

// partialJSON returns the encoded result of rowObject. It returns nil if that would require decoding the object.
func partialJSON(obj runtime.Object, include metav1.IncludeObjectPolicy, gv schema.GroupVersion) []byte {
	encoded, ok := obj.(*object.Encoded)
	if !ok || include != metav1.IncludeMetadata && include != "" {
		return nil
	}
	data, _ := encoded.PartialJSON(gv)
	return data
}

func rowObject(obj runtime.Object, include metav1.IncludeObjectPolicy, scope *RequestScope,
	gv schema.GroupVersion) (runtime.Object, error) {
	switch {
	case include == metav1.IncludeObject:
		if encoded, ok := obj.(*object.Encoded); ok {
			obj = encoded.GetObject()
		}
		// The safe convertor copies: it also writes the kind into the object, which may be shared.
		return scope.Convertor.ConvertToVersion(obj, scope.Kind.GroupVersion())
	case include == metav1.IncludeMetadata, include == "", endsInitialEvents(obj):
		partial, err := asPartialObjectMetadata(obj, gv)
		if err != nil {
			return nil, err
		}
		partial.GetObjectKind().SetGroupVersionKind(gv.WithKind("PartialObjectMetadata"))
		return partial, nil
	case include == metav1.IncludeNone:
		return nil, nil
	}
	return nil, apierrors.NewBadRequest(fmt.Sprintf("unrecognized includeObject value: %q", include))
}

// endsInitialEvents reports whether obj is the bookmark after the initial events of a watch. Its annotation must reach
// the client in every form of row.
func endsInitialEvents(obj runtime.Object) bool {
	m, err := meta.Accessor(obj)
	return err == nil && m.GetAnnotations()[metav1.InitialEventsAnnotationKey] == "true"
}

func asPartialObjectMetadata(result runtime.Object, gv schema.GroupVersion) (runtime.Object, error) {
	if meta.IsListType(result) {
		return nil, negotiation.NewNotAcceptableMessage(fmt.Sprintf(
			"you requested PartialObjectMetadata, but the requested object is a list (%T)",
			decoded(result)))
	}
	if !isMetaVersion(gv) {
		return nil, negotiation.NewNotAcceptableMessage(fmt.Sprintf("no PartialObjectMetadataList exists in group version %s", gv))
	}
	return metadataOf(result, gv)
}

func asPartialObjectMetadataList(result runtime.Object, gv schema.GroupVersion) (runtime.Object, error) {
	li, ok := result.(metav1.ListInterface)
	if !ok {
		return nil, negotiation.NewNotAcceptableMessage(fmt.Sprintf("you requested PartialObjectMetadataList, but the requested "+
			"object is not a list (%T)", decoded(result)))
	}
	if !isMetaVersion(gv) {
		return nil, negotiation.NewNotAcceptableMessage(fmt.Sprintf("no PartialObjectMetadataList exists in group version %s", gv))
	}
	return makeMetadataList(li, result, gv)
}

// makeMetadataList returns the metadata of all items of list; a nil list has none.
func makeMetadataList(li metav1.ListInterface, list runtime.Object, gv schema.GroupVersion) (runtime.Object, error) {
	items := []metav1.PartialObjectMetadata{}
	add := func(obj runtime.Object) error {
		partial, err := metadataOf(obj, gv)
		if err != nil {
			return err
		}
		items = append(items, *partial)
		return nil
	}
	if list != nil {
		items = make([]metav1.PartialObjectMetadata, 0, meta.LenList(list))
		if err := meta.EachListItem(list, add); err != nil {
			return nil, err
		}
	}
	listMeta := metav1.ListMeta{
		ResourceVersion: li.GetResourceVersion(), Continue: li.GetContinue(), RemainingItemCount: li.GetRemainingItemCount(),
	}
	if gv == metav1beta1.SchemeGroupVersion {
		return &metav1beta1.PartialObjectMetadataList{ListMeta: listMeta, Items: items}, nil
	}
	return &metav1.PartialObjectMetadataList{ListMeta: listMeta, Items: items}, nil
}
