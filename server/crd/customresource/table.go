package customresource

import (
	"bytes"
	"context"
	"reflect"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metatable "k8s.io/apimachinery/pkg/api/meta/table"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/util/jsonpath"

	"github.com/kx-apiserver/kx/core/rest"
)

var metadataDocs = metav1.ObjectMeta{}.SwaggerDoc()

// ageColumn is what a version without columns of its own has beside the name.
var ageColumn = apiextensionsv1.CustomResourceColumnDefinition{
	Name: "Age", Type: "date", Description: metadataDocs["creationTimestamp"], JSONPath: ".metadata.creationTimestamp",
}

// columns make tables of objects.
type columns struct {
	definitions []metav1.TableColumnDefinition
	// paths are those of the columns after the name.
	paths []*jsonpath.JSONPath
}

var _ rest.TableConvertor = &columns{}

// newColumns are the name and what the definitions say. Those from the first on that can't be parsed are left out;
// validation of CRDs lets none of them pass.
func newColumns(definitions []apiextensionsv1.CustomResourceColumnDefinition) *columns {
	if len(definitions) == 0 {
		definitions = []apiextensionsv1.CustomResourceColumnDefinition{ageColumn}
	}
	c := &columns{definitions: []metav1.TableColumnDefinition{
		{Name: "Name", Type: "string", Format: "name", Description: metadataDocs["name"]},
	}}
	for _, d := range definitions {
		path := jsonpath.New(d.Name).AllowMissingKeys(true)
		if err := path.Parse("{" + d.JSONPath + "}"); err != nil {
			break
		}
		description := d.Description
		if description == "" {
			description = "Custom resource definition column (in JSONPath format): " + d.JSONPath
		}
		c.paths = append(c.paths, path)
		c.definitions = append(c.definitions, metav1.TableColumnDefinition{
			Name: d.Name, Type: d.Type, Format: d.Format, Description: description, Priority: d.Priority,
		})
	}
	return c
}

// scaleColumns make tables of Scales.
func scaleColumns(scale *apiextensionsv1.CustomResourceSubresourceScale) *columns {
	var definitions []apiextensionsv1.CustomResourceColumnDefinition
	if scale.SpecReplicasPath != "" {
		definitions = append(definitions, apiextensionsv1.CustomResourceColumnDefinition{
			Name: "Desired", Type: "integer", Description: "Number of desired replicas", JSONPath: ".spec.replicas",
		})
	}
	if scale.StatusReplicasPath != "" {
		definitions = append(definitions, apiextensionsv1.CustomResourceColumnDefinition{
			Name: "Available", Type: "integer", Description: "Number of actual replicas", JSONPath: ".status.replicas",
		})
	}
	return newColumns(append(definitions, ageColumn))
}

// ConvertToTable implements rest.TableConvertor.
func (c *columns) ConvertToTable(_ context.Context, object, tableOptions runtime.Object) (*metav1.Table, error) {
	table := &metav1.Table{}
	if options, ok := tableOptions.(*metav1.TableOptions); !ok || options == nil || !options.NoHeaders {
		table.ColumnDefinitions = c.definitions
	}
	if list, err := meta.ListAccessor(object); err == nil {
		table.ResourceVersion = list.GetResourceVersion()
		table.Continue = list.GetContinue()
		table.RemainingItemCount = list.GetRemainingItemCount()
	} else if m, err := meta.CommonAccessor(object); err == nil {
		table.ResourceVersion = m.GetResourceVersion()
	}
	var err error
	table.Rows, err = metatable.MetaToTableRow(object, func(obj runtime.Object, _ metav1.Object, name, _ string) ([]any, error) {
		content, err := contentOf(obj)
		if err != nil {
			return nil, err
		}
		cells := make([]any, 1, 1+len(c.paths))
		cells[0] = name
		for i, path := range c.paths {
			cells = append(cells, cell(path, c.definitions[i+1].Type, content))
		}
		return cells, nil
	})
	return table, err
}

// contentOf is an object as JSON has it. A Scale is the one that has a Go type.
func contentOf(obj runtime.Object) (map[string]any, error) {
	if u, ok := obj.(runtime.Unstructured); ok {
		return u.UnstructuredContent(), nil
	}
	return runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
}

// cell is the value of a column in an object: nil if there is none, or none of the column's type.
func cell(path *jsonpath.JSONPath, columnType string, content map[string]any) any {
	results, err := path.FindResults(content)
	if err != nil || len(results) == 0 || len(results[0]) == 0 {
		return nil
	}
	// A path of a column leads to one value.
	value := results[0][0].Interface()
	if columnType == "string" {
		var text bytes.Buffer
		if err := path.PrintResults(&text, []reflect.Value{reflect.ValueOf(value)}); err != nil {
			return nil
		}
		return text.String()
	}
	return typedCell(columnType, value)
}

func typedCell(columnType string, value any) any {
	switch columnType {
	case "integer":
		switch value := value.(type) {
		case int64:
			return value
		case float64:
			return int64(value)
		}
	case "number":
		switch value := value.(type) {
		case int64:
			return float64(value)
		case float64:
			return value
		}
	case "boolean":
		if value, ok := value.(bool); ok {
			return value
		}
	case "date":
		if text, ok := value.(string); ok {
			var at metav1.Time
			if err := at.UnmarshalQueryParameter(text); err != nil {
				return "<invalid>"
			}
			return metatable.ConvertToHumanReadableDateType(at)
		}
	}
	return nil
}
