package rest

import (
	"context"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/endpoints/request"
)

// NewDefaultTableConvertor makes rows of a name and a time of creation. resource is named in errors of requests that
// carry no information of their own.
func NewDefaultTableConvertor(resource schema.GroupResource) TableConvertor {
	return defaultTableConvertor{resource: resource}
}

type defaultTableConvertor struct{ resource schema.GroupResource }

var metadataDocs = metav1.ObjectMeta{}.SwaggerDoc()

func (c defaultTableConvertor) ConvertToTable(ctx context.Context, object, tableOptions runtime.Object) (*metav1.Table, error) {
	table := &metav1.Table{}
	addRow := func(obj runtime.Object) error {
		m, err := meta.Accessor(obj)
		if err != nil {
			return c.notAcceptable(ctx)
		}
		table.Rows = append(table.Rows, metav1.TableRow{
			Cells:  []any{m.GetName(), m.GetCreationTimestamp().UTC().Format(time.RFC3339)},
			Object: runtime.RawExtension{Object: obj},
		})
		return nil
	}
	var err error
	if meta.IsListType(object) {
		err = meta.EachListItem(object, addRow)
	} else {
		err = addRow(object)
	}
	if err != nil {
		return nil, err
	}
	if list, err := meta.ListAccessor(object); err == nil {
		table.ResourceVersion = list.GetResourceVersion()
		table.Continue = list.GetContinue()
		table.RemainingItemCount = list.GetRemainingItemCount()
	} else if m, err := meta.CommonAccessor(object); err == nil {
		table.ResourceVersion = m.GetResourceVersion()
	}
	if options, ok := tableOptions.(*metav1.TableOptions); !ok || options == nil || !options.NoHeaders {
		table.ColumnDefinitions = []metav1.TableColumnDefinition{
			{Name: "Name", Type: "string", Format: "name", Description: metadataDocs["name"]},
			{Name: "Created At", Type: "date", Description: metadataDocs["creationTimestamp"]},
		}
	}
	return table, nil
}

func (c defaultTableConvertor) notAcceptable(ctx context.Context) error {
	resource := c.resource
	if info, ok := request.RequestInfoFrom(ctx); ok {
		resource = schema.GroupResource{Group: info.APIGroup, Resource: info.Resource}
	}
	return errNotAcceptable{resource: resource}
}

type errNotAcceptable struct{ resource schema.GroupResource }

func (e errNotAcceptable) Error() string {
	return fmt.Sprintf("the resource %s does not support being converted to a Table", e.resource)
}

func (e errNotAcceptable) Status() metav1.Status {
	return metav1.Status{
		Status:  metav1.StatusFailure,
		Code:    406,
		Reason:  metav1.StatusReasonNotAcceptable,
		Message: e.Error(),
	}
}
