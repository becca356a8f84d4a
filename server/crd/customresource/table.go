package customresource

import (
	"bytes"
	"context"
	"path"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metatable "k8s.io/apimachinery/pkg/api/meta/table"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kx-apiserver/kx/core/object"
	"github.com/kx-apiserver/kx/core/rest"
)

var metadataDocs = metav1.ObjectMeta{}.SwaggerDoc()

// ageColumn is the second column of a version that declares no columns.
var ageColumn = apiextensionsv1.CustomResourceColumnDefinition{
	Name: "Age", Type: "date", Description: metadataDocs["creationTimestamp"], JSONPath: ".metadata.creationTimestamp",
}

// columns creates tables of objects.
type columns struct {
	definitions []metav1.TableColumnDefinition
	// paths holds the JSON paths of the columns after the name.
	paths []*columnPath
	// fields are the same as field names. They are nil if a path is more than that.
	fields *object.Paths
}

var _ rest.EncodedTableConvertor = &columns{}

func (*columns) ConvertsEncoded() {}

// fieldPath matches a path of plain field names.
var fieldPath = regexp.MustCompile(`^(\.[A-Za-z0-9_-]+)+$`)

func fieldNames(path string) []string {
	if !fieldPath.MatchString(path) {
		return nil
	}
	return strings.Split(path[1:], ".")
}

// newColumns returns the name column and the declared columns, up to the first one that can't be parsed.
// Validation of CRDs refuses such columns.
func newColumns(definitions []apiextensionsv1.CustomResourceColumnDefinition) *columns {
	if len(definitions) == 0 {
		definitions = []apiextensionsv1.CustomResourceColumnDefinition{ageColumn}
	}
	c := &columns{definitions: []metav1.TableColumnDefinition{
		{Name: "Name", Type: "string", Format: "name", Description: metadataDocs["name"]},
	}}
	var names [][]string
	for _, d := range definitions {
		path, err := newColumnPath(d.Name, d.JSONPath)
		if err != nil {
			break
		}
		description := d.Description
		if description == "" {
			description = "Custom resource definition column (in JSONPath format): " + d.JSONPath
		}
		c.paths, names = append(c.paths, path), append(names, fieldNames(d.JSONPath))
		c.definitions = append(c.definitions, metav1.TableColumnDefinition{
			Name: d.Name, Type: d.Type, Format: d.Format, Description: description, Priority: d.Priority,
		})
	}
	if !slices.ContainsFunc(names, func(path []string) bool { return path == nil }) {
		c.fields = object.NewPaths(names)
	}
	return c
}

// scaleColumns returns the columns for tables of Scales.
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

func (c *columns) ConvertToTable(_ context.Context, obj, tableOptions runtime.Object) (*metav1.Table, error) {
	table := &metav1.Table{}
	if options, ok := tableOptions.(*metav1.TableOptions); !ok || options == nil || !options.NoHeaders {
		table.ColumnDefinitions = c.definitions
	}
	if encoded, ok := obj.(*object.Encoded); ok {
		table.ResourceVersion = strconv.FormatInt(encoded.Revision(), 10)
		row, err := c.encodedRow(encoded)
		table.Rows = []metav1.TableRow{row}
		return table, err
	}
	if list, err := meta.ListAccessor(obj); err == nil {
		table.ResourceVersion = list.GetResourceVersion()
		table.Continue = list.GetContinue()
		table.RemainingItemCount = list.GetRemainingItemCount()
	} else if m, err := meta.CommonAccessor(obj); err == nil {
		table.ResourceVersion = m.GetResourceVersion()
	}
	var err error
	table.Rows, err = metatable.MetaToTableRow(obj, func(obj runtime.Object, _ metav1.Object, name, _ string) ([]any, error) {
		content, err := contentOf(obj)
		if err != nil {
			return nil, err
		}
		return c.cells(name, content), nil
	})
	return table, err
}

func (c *columns) cells(name string, content map[string]any) []any {
	cells := make([]any, 1, 1+len(c.paths))
	cells[0] = name
	for i, path := range c.paths {
		cells = append(cells, cell(path, c.definitions[i+1].Type, content))
	}
	return cells
}

// encodedRow returns the row of an encoded object. It decodes the object only if a column is more than a field
// path, or a value is not plain.
func (c *columns) encodedRow(obj *object.Encoded) (metav1.TableRow, error) {
	row := metav1.TableRow{Object: runtime.RawExtension{Object: obj}}
	if data, _, ok := obj.JSON(); ok {
		// The key ends with the name.
		if row.Cells, ok = c.plainCells(path.Base(obj.Key()), data); ok {
			return row, nil
		}
	}
	decoded, err := obj.Object()
	if err != nil {
		return row, err
	}
	content, err := contentOf(decoded)
	if err != nil {
		return row, err
	}
	m, err := meta.Accessor(decoded)
	if err != nil {
		return row, err
	}
	row.Cells = c.cells(m.GetName(), content)
	return row, nil
}

// plainCells returns the cells of an object if all their values are plain or missing.
func (c *columns) plainCells(name string, data []byte) ([]any, bool) {
	if c.fields == nil {
		return nil, false
	}
	cells := make([]any, 1, 1+len(c.paths))
	cells[0] = name
	for i, value := range c.fields.Lookup(data) {
		if value == nil {
			cells = append(cells, nil)
			continue
		}
		plain, ok := plainValue(value)
		_, text := plain.(string)
		switch columnType := c.definitions[i+1].Type; {
		case !ok || columnType == "string" && !text:
			return nil, false
		case columnType == "string":
			cells = append(cells, plain)
		default:
			cells = append(cells, typedCell(columnType, plain))
		}
	}
	return cells, true
}

// plainValue reads a string without escapes, an integer or a boolean.
func plainValue(value []byte) (any, bool) {
	switch text := string(value); {
	case text == "true" || text == "false":
		return text == "true", true
	case text != "" && text[0] == '"':
		return strings.Trim(text, `"`), !strings.Contains(text, `\`)
	default:
		n, err := strconv.ParseInt(text, 10, 64)
		return n, err == nil
	}
}

// contentOf returns the JSON content of an object. Only a Scale has a Go type.
func contentOf(obj runtime.Object) (map[string]any, error) {
	if u, ok := obj.(runtime.Unstructured); ok {
		return u.UnstructuredContent(), nil
	}
	return runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
}

// cell returns the value of a column in an object: nil if it is missing or has another type than the column.
func cell(path *columnPath, columnType string, content map[string]any) any {
	value, found := path.find(content)
	if !found {
		return nil
	}
	if columnType == "string" {
		var text bytes.Buffer
		if err := path.parsed.PrintResults(&text, []reflect.Value{reflect.ValueOf(value)}); err != nil {
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
