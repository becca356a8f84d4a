package customresource

import (
	"errors"
	"fmt"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/client-go/util/jsonpath"
)

// selectableField is a field that selectors can use.
type selectableField struct {
	// name is its name in selectors: "spec.color".
	name string
	path *jsonpath.JSONPath
	// err is the error of an invalid path. Validation of CRDs refuses such paths.
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

// value returns the field's value in an object, in the form that selectors compare. A missing field is "".
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
