package customresource

import (
	"errors"
	"fmt"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/client-go/util/jsonpath"
)

// selectableField is a field by whose value objects can be selected.
type selectableField struct {
	// name is how selectors call it: "spec.color".
	name string
	path *jsonpath.JSONPath
	// err is what is wrong with the path. Validation of CRDs lets no such path pass.
	err error
}

func newSelectableFields(definitions []apiextensionsv1.SelectableField) []selectableField {
	out := make([]selectableField, len(definitions))
	for i, definition := range definitions {
		out[i].name = strings.TrimPrefix(definition.JSONPath, ".")
		out[i].path = jsonpath.New("selectableField").AllowMissingKeys(true)
		out[i].err = out[i].path.Parse("{" + definition.JSONPath + "}")
	}
	return out
}

// value is the field's value in an object, as selectors compare it. A field that is missing is "".
func (f *selectableField) value(content map[string]any) (string, error) {
	if f.err != nil {
		return "", fmt.Errorf("unexpected error parsing jsonPath: %w", f.err)
	}
	results, err := f.path.FindResults(content)
	if err != nil {
		return "", fmt.Errorf("unexpected error finding value with jsonPath: %w", err)
	}
	if len(results) == 0 || len(results[0]) == 0 {
		return "", nil
	}
	if len(results) > 1 || len(results[0]) > 1 {
		return "", errors.New("unexpectedly received more than one JSON path result")
	}
	if value := results[0][0].Interface(); value != nil {
		return fmt.Sprint(value), nil
	}
	return "", nil
}
