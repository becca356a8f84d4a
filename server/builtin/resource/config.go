package resource

import (
	"encoding/json"
	"fmt"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// validateConfiguration checks the parameters for a driver. Stored parameters may have any length, since older
// servers had no limit.
func validateConfiguration(c *resourcev1.DeviceConfiguration, stored bool, path *field.Path) field.ErrorList {
	if c.Opaque == nil {
		return field.ErrorList{field.Required(path.Child("opaque"), "")}
	}
	maxBytes := resourcev1.OpaqueParametersMaxLength
	if stored {
		maxBytes = len(c.Opaque.Parameters.Raw)
	}
	return validateParameters(c.Opaque.Parameters, maxBytes, path.Child("opaque", "parameters"))
}

// validateParameters requires a JSON object.
func validateParameters(raw runtime.RawExtension, maxBytes int, path *field.Path) field.ErrorList {
	const hidden = "<value omitted>"
	if len(raw.Raw) == 0 {
		return field.ErrorList{field.Required(path, "")}
	}
	if len(raw.Raw) > maxBytes {
		return field.ErrorList{field.TooLong(path, "", maxBytes)}
	}
	var value any
	if err := json.Unmarshal(raw.Raw, &value); err != nil {
		return field.ErrorList{field.Invalid(path, hidden, fmt.Sprintf("error parsing data as JSON: %v", err))}
	}
	switch value.(type) {
	case nil:
		return field.ErrorList{field.Required(path, "")}
	case map[string]any:
		return nil
	}
	return field.ErrorList{field.Invalid(path, hidden, "must be a valid JSON object")}
}
