package resource

import (
	"strings"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kx-apiserver/kx/server/builtin"
)

// validateClaim checks the spec of a new claim by the rules that its type does not declare. It does not check the
// items of a list that is too long.
func validateClaim(spec *resourcev1.ResourceClaimSpec, path *field.Path) (errs field.ErrorList) {
	devices, path := &spec.Devices, path.Child("devices")
	names := namesOf(devices)
	if len(devices.Requests) <= resourcev1.DeviceRequestsMaxSize {
		for i := range devices.Requests {
			errs = append(errs, validateRequest(&devices.Requests[i], path.Child("requests").Index(i))...)
		}
	}
	if len(devices.Constraints) <= resourcev1.DeviceConstraintsMaxSize {
		for i := range devices.Constraints {
			errs = append(errs, validateConstraint(&devices.Constraints[i], names, path.Child("constraints").Index(i))...)
		}
	}
	if len(devices.Config) <= resourcev1.DeviceConfigMaxSize {
		for i := range devices.Config {
			at := path.Child("config").Index(i)
			errs = append(errs, names.validateAll(devices.Config[i].Requests, at.Child("requests"))...)
			errs = append(errs, validateConfiguration(&devices.Config[i].DeviceConfiguration, false, at)...)
		}
	}
	return writtenErrors(errs)
}

// writtenErrors returns errs without the errors of declared rules.
func writtenErrors(errs field.ErrorList) (written field.ErrorList) {
	for _, err := range errs {
		if !err.CoveredByDeclarative {
			written = append(written, err)
		}
	}
	return written
}

func validateRequest(r *resourcev1.DeviceRequest, path *field.Path) field.ErrorList {
	const one = "exactly one of `exactly` or `firstAvailable` is required"
	errs := builtin.Invalids(path.Child("name"), r.Name, validation.IsDNS1123Label(r.Name))
	switch {
	case r.Exactly == nil && len(r.FirstAvailable) == 0:
		errs = append(errs, field.Required(path, one))
	case r.Exactly != nil && len(r.FirstAvailable) > 0:
		errs = append(errs, field.Invalid(path, nil, one+", but multiple fields are set"))
	case r.Exactly != nil:
		exact, path := r.Exactly, path.Child("exactly")
		class := path.Child("deviceClassName")
		if exact.DeviceClassName == "" {
			errs = append(errs, field.Required(class, ""))
		} else {
			errs = append(errs, builtin.Invalids(class, exact.DeviceClassName, validation.IsDNS1123Subdomain(exact.DeviceClassName))...)
		}
		errs = append(errs, validateWhat(exact.Selectors, exact.AllocationMode, exact.Count, exact.Tolerations, path)...)
	case len(r.FirstAvailable) <= resourcev1.FirstAvailableDeviceRequestMaxSize:
		for i := range r.FirstAvailable {
			sub, path := &r.FirstAvailable[i], path.Child("firstAvailable").Index(i)
			errs = append(errs, builtin.Invalids(path.Child("name"), sub.Name, validation.IsDNS1123Label(sub.Name))...)
			errs = append(errs, validateWhat(sub.Selectors, sub.AllocationMode, sub.Count, sub.Tolerations, path)...)
		}
	}
	return errs
}

// validateWhat checks the fields that requests and subrequests have.
func validateWhat(selectors []resourcev1.DeviceSelector, mode resourcev1.DeviceAllocationMode, count int64,
	tolerations []resourcev1.DeviceToleration, path *field.Path) field.ErrorList {
	errs := validateSelectors(selectors, false, path.Child("selectors"))
	switch {
	case mode == "":
		// Only v1beta1 lacks a default for the mode, and its type declares no rule about it.
		errs = append(errs, field.NotSupported(path.Child("allocationMode"), mode,
			[]resourcev1.DeviceAllocationMode{resourcev1.DeviceAllocationModeAll, resourcev1.DeviceAllocationModeExactCount}))
	case mode == resourcev1.DeviceAllocationModeAll && count != 0:
		errs = append(errs, field.Invalid(path.Child("count"), count, "must not be specified when allocationMode is 'All'"))
	case mode == resourcev1.DeviceAllocationModeExactCount && count <= 0:
		errs = append(errs, field.Invalid(path.Child("count"), count, "must be greater than zero"))
	}
	return append(errs, validateTolerations(tolerations, path.Child("tolerations"))...)
}

func validateTolerations(tolerations []resourcev1.DeviceToleration, path *field.Path) (errs field.ErrorList) {
	for i, t := range tolerations {
		at := path.Index(i).Child("value")
		switch {
		case t.Operator == resourcev1.DeviceTolerationOpExists && t.Value != "":
			errs = append(errs, field.Invalid(at, t.Value, "must be empty for operator `Exists`"))
		case t.Operator == resourcev1.DeviceTolerationOpEqual:
			errs = append(errs, builtin.Invalids(at, t.Value, validation.IsValidLabelValue(t.Value))...)
		}
	}
	return errs
}

func validateConstraint(c *resourcev1.DeviceConstraint, names names, path *field.Path) field.ErrorList {
	errs := names.validateAll(c.Requests, path.Child("requests"))
	if c.MatchAttribute == nil && c.DistinctAttribute == nil {
		errs = append(errs,
			field.Required(path, `exactly one of "matchAttribute" or "distinctAttribute" is required, but multiple fields are set`))
	}
	return errs
}

// names maps the names of a claim's requests to those of their subrequests.
type names map[string]sets.Set[string]

// namesOf collects the names of a claim's requests and subrequests.
func namesOf(devices *resourcev1.DeviceClaim) names {
	names := names{}
	for _, r := range devices.Requests {
		names[r.Name] = nil
		if len(r.FirstAvailable) > 0 {
			names[r.Name] = sets.New[string]()
		}
		for _, sub := range r.FirstAvailable {
			names[r.Name].Insert(sub.Name)
		}
	}
	return names
}

// Validate requires the name of a request, or of a request and a subrequest with a slash between.
func (n names) Validate(name string, path *field.Path) (errs field.ErrorList) {
	const unknown = "must be the name of a request in the claim or the name of a request and a subrequest separated by '/'"
	parts := strings.Split(name, "/")
	if len(parts) > 2 {
		return field.ErrorList{field.Invalid(path, name, unknown)}
	}
	for _, part := range parts {
		errs = append(errs, builtin.Invalids(path, part, validation.IsDNS1123Label(part))...)
	}
	subs, ok := n[parts[0]]
	if !ok || len(parts) == 2 && !subs.Has(parts[1]) {
		errs = append(errs, field.Invalid(path, name, unknown))
	}
	return errs
}

func (n names) validateAll(names []string, path *field.Path) (errs field.ErrorList) {
	if len(names) > resourcev1.DeviceRequestsMaxSize {
		return nil
	}
	for i, name := range names {
		errs = append(errs, n.Validate(name, path.Index(i))...)
	}
	return errs
}

// dropDisabledClaim clears the fields for derived attributes, which are off by default, unless old has them.
func dropDisabledClaim(spec, old *resourcev1.ResourceClaimSpec) {
	if old != nil && derives(old) {
		return
	}
	for i := range spec.Devices.Requests {
		r := &spec.Devices.Requests[i]
		if r.Exactly != nil {
			r.Exactly.DerivedAttributes = nil
		}
		for j := range r.FirstAvailable {
			r.FirstAvailable[j].DerivedAttributes = nil
		}
	}
}

func derives(spec *resourcev1.ResourceClaimSpec) bool {
	for _, r := range spec.Devices.Requests {
		if r.Exactly != nil && len(r.Exactly.DerivedAttributes) > 0 {
			return true
		}
		for _, sub := range r.FirstAvailable {
			if len(sub.DerivedAttributes) > 0 {
				return true
			}
		}
	}
	return false
}
