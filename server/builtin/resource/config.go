package resource

import (
	"context"
	"encoding/json"
	"fmt"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/api/operation"
	"k8s.io/apimachinery/pkg/api/validate"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// validateConfiguration checks the parameters for a driver. Stored parameters may have any length, since older
// servers had no limit.
func validateConfiguration(c *resourcev1.DeviceConfiguration, stored bool, path *field.Path) field.ErrorList {
	if c.Opaque == nil {
		return field.ErrorList{field.Required(path.Child("opaque"), "")}
	}
	errs := declaredDriver(&c.Opaque.Driver, path.Child("opaque", "driver")).MarkCoveredByDeclarative()
	maxBytes := resourcev1.OpaqueParametersMaxLength
	if stored {
		maxBytes = len(c.Opaque.Parameters.Raw)
	}
	return append(errs, validateParameters(c.Opaque.Parameters, maxBytes, path.Child("opaque", "parameters"))...)
}

// declaredDriver checks a driver's name by the rules that its type declares.
func declaredDriver(name *string, path *field.Path) field.ErrorList {
	ctx, op := context.Background(), operation.Operation{}
	if errs := validate.RequiredValue(ctx, op, path, name, nil); len(errs) > 0 {
		return errs
	}
	//lint:ignore SA1019 Drivers may have names with upper case.
	errs := validate.LongNameCaseless(ctx, op, path, name, nil)
	return append(errs, validate.MaxLength(ctx, op, path, name, nil, resourcev1.DriverNameMaxLength)...)
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
