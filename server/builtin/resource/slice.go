package resource

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	resourcev1 "k8s.io/api/resource/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/validate/content"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kx-apiserver/kx/server/builtin"
	"github.com/kx-apiserver/kx/server/builtin/core/podspec"
)

// validateSlice checks the spec of a slice by the rules that its type does not declare. old is nil for a new slice.
func validateSlice(spec, old *resourcev1.ResourceSliceSpec, path *field.Path) field.ErrorList {
	errs := validateDriver(spec.Driver, path.Child("driver"))
	pool := path.Child("pool")
	errs = append(errs, validatePool(spec.Pool.Name, pool.Child("name"))...)
	if spec.Pool.ResourceSliceCount <= 0 {
		errs = append(errs, field.Invalid(pool.Child("resourceSliceCount"), spec.Pool.ResourceSliceCount, "must be greater than zero"))
	}
	if spec.Pool.Generation < 0 {
		errs = append(errs, field.Invalid(pool.Child("generation"), spec.Pool.Generation, "must be greater than or equal to zero"))
	}
	if old != nil {
		errs = append(errs, apivalidation.ValidateImmutableField(spec.Pool.Name, old.Pool.Name, pool.Child("name"))...)
		errs = append(errs, apivalidation.ValidateImmutableField(spec.Driver, old.Driver, path.Child("driver"))...)
		errs = append(errs, apivalidation.ValidateImmutableField(spec.NodeName, old.NodeName, path.Child("nodeName"))...)
	}
	errs = append(errs, validateNodes(spec, path)...)
	if spec.SharedCounters != nil && spec.Devices != nil {
		errs = append(errs, field.Invalid(path, "", "only one of `sharedCounters` or `devices` is allowed"))
	}
	errs = append(errs, validateDevices(spec, old, path.Child("devices"))...)
	if len(spec.SharedCounters) <= resourcev1.ResourceSliceMaxCounterSets {
		for i, set := range spec.SharedCounters {
			errs = append(errs,
				validateCounters(set.Counters, resourcev1.ResourceSliceMaxCountersPerCounterSet, path.Child("sharedCounters").Index(i))...)
		}
	}
	return writtenErrors(errs)
}

// validateNodes requires exactly one field about the nodes that can use the devices.
func validateNodes(spec *resourcev1.ResourceSliceSpec, path *field.Path) (errs field.ErrorList) {
	const one = "exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required"
	var ways []string
	if name, at := spec.NodeName, path.Child("nodeName"); name != nil && *name == "" {
		errs = append(errs, field.Invalid(at, "", "must be either unset or set to a non-empty string"))
	} else if name != nil {
		ways = append(ways, "`nodeName`")
		errs = append(errs, builtin.Invalids(at, *name, apivalidation.NameIsDNSSubdomain(*name, false))...)
	}
	if s, at := spec.NodeSelector, path.Child("nodeSelector"); s != nil {
		ways = append(ways, "`nodeSelector`")
		errs = append(errs, podspec.ValidateNodeSelector(s, false, at)...)
		if len(s.NodeSelectorTerms) != 1 {
			errs = append(errs,
				field.Invalid(at.Child("nodeSelectorTerms"), builtin.Quote(s.NodeSelectorTerms),
					"must have exactly one node selector term"))
		}
	}
	for _, way := range []struct {
		name string
		is   *bool
	}{{"allNodes", spec.AllNodes}, {"perDeviceNodeSelection", spec.PerDeviceNodeSelection}} {
		if way.is != nil && *way.is {
			ways = append(ways, "`"+way.name+"`")
		} else if way.is != nil {
			errs = append(errs, field.Invalid(path.Child(way.name), false, "must be either unset or set to true"))
		}
	}
	switch len(ways) {
	case 0:
		errs = append(errs, field.Required(path, one))
	case 1:
	default:
		errs = append(errs, field.Invalid(path, "{"+strings.Join(ways, ", ")+"}", one+", but multiple fields are set"))
	}
	return errs
}

func validateDevices(spec, old *resourcev1.ResourceSliceSpec, path *field.Path) (errs field.ErrorList) {
	most := resourcev1.ResourceSliceMaxDevices
	if slices.ContainsFunc(spec.Devices, isAdvanced) {
		most = resourcev1.ResourceSliceMaxDevicesWithAdvancedFeatures
	}
	if len(spec.Devices) > most {
		return field.ErrorList{field.TooMany(path, len(spec.Devices), most)}
	}
	perDevice := spec.PerDeviceNodeSelection != nil && *spec.PerDeviceNodeSelection
	for i := range spec.Devices {
		device := &spec.Devices[i]
		errs = append(errs, validateDevice(device, findDevice(old, device.Name), perDevice, path.Index(i))...)
	}
	seen := map[string]bool{}
	for i, device := range spec.Devices {
		if seen[device.Name] {
			errs = append(errs, field.Duplicate(path.Index(i), device.Name))
		}
		seen[device.Name] = true
	}
	return errs
}

// isAdvanced reports whether a device is expensive to allocate. A slice can have fewer of such devices.
func isAdvanced(d resourcev1.Device) bool {
	if len(d.Taints) > 0 || len(d.ConsumesCounters) > 0 {
		return true
	}
	for _, a := range d.Attributes {
		if hasList(a) {
			return true
		}
	}
	return false
}

func hasList(a resourcev1.DeviceAttribute) bool {
	return a.BoolValues != nil || a.IntValues != nil || a.StringValues != nil || a.VersionValues != nil
}

func findDevice(spec *resourcev1.ResourceSliceSpec, name string) *resourcev1.Device {
	if spec == nil {
		return nil
	}
	if i := slices.IndexFunc(spec.Devices, func(d resourcev1.Device) bool { return d.Name == name }); i >= 0 {
		return &spec.Devices[i]
	}
	return nil
}

// validateDevice does not check values that the stored device has already.
func validateDevice(d, old *resourcev1.Device, perDevice bool, path *field.Path) field.ErrorList {
	errs := ValidateDeviceName(d.Name, path.Child("name"))
	if n, most := len(d.Attributes)+len(d.Capacity), resourcev1.ResourceSliceMaxAttributesAndCapacitiesPerDevice; n > most {
		errs = append(errs, field.Invalid(path, n, fmt.Sprintf("the total number of attributes and capacities must not exceed %d", most)))
	}
	for _, key := range slices.Sorted(maps.Keys(d.Attributes)) {
		errs = append(errs, validateQualifiedName(string(key), path.Child("attributes"))...)
		errs = append(errs, validateAttribute(d.Attributes[key], path.Child("attributes").Key(shorten(string(key))))...)
	}
	if old == nil || !apiequality.Semantic.DeepEqual(old.Capacity, d.Capacity) {
		shared := d.AllowMultipleAllocations != nil && *d.AllowMultipleAllocations
		for _, key := range slices.Sorted(maps.Keys(d.Capacity)) {
			errs = append(errs, validateQualifiedName(string(key), path.Child("capacity"))...)
			errs = append(errs, validateCapacity(d.Capacity[key], shared, path.Child("capacity").Key(shorten(string(key))))...)
		}
	}
	if old == nil || !apiequality.Semantic.DeepEqual(old.Taints, d.Taints) {
		errs = append(errs, validateTaints(d.Taints, path.Child("taints"))...)
	}
	if len(d.ConsumesCounters) <= resourcev1.ResourceSliceMaxDeviceCounterConsumptionsPerDevice {
		for i, c := range d.ConsumesCounters {
			errs = append(errs,
				validateCounters(c.Counters, resourcev1.ResourceSliceMaxCountersPerDeviceCounterConsumption,
					path.Child("consumesCounters").Index(i))...)
		}
	}
	errs = append(errs, validateDeviceNodes(d, perDevice, path)...)
	return append(errs, validateBindings(d.BindingConditions, d.BindingFailureConditions, path)...)
}

func validateTaints(taints []resourcev1.DeviceTaint, path *field.Path) (errs field.ErrorList) {
	if len(taints) > resourcev1.DeviceTaintsMaxLength {
		return field.ErrorList{field.TooMany(path, len(taints), resourcev1.DeviceTaintsMaxLength)}
	}
	for i := range taints {
		errs = append(errs, validateTaint(&taints[i], path.Index(i))...)
	}
	return errs
}

func validateCounters(counters map[string]resourcev1.Counter, most int, path *field.Path) field.ErrorList {
	if len(counters) <= most {
		return nil
	}
	return field.ErrorList{field.TooMany(path.Child("counters"), len(counters), most)}
}

// validateDeviceNodes requires exactly one field about the nodes that can use the device if perDevice is set, and
// else none.
func validateDeviceNodes(d *resourcev1.Device, perDevice bool, path *field.Path) (errs field.ErrorList) {
	const one = "exactly one of `nodeName`, `nodeSelector`, or `allNodes` " +
		"is required when `perDeviceNodeSelection` is set to true in the ResourceSlice spec"
	if !perDevice {
		if d.NodeName != nil || d.NodeSelector != nil || d.AllNodes != nil {
			errs = append(errs, field.Invalid(path, nil,
				"`nodeName`, `nodeSelector` and `allNodes` "+
					"can only be set if `perDeviceNodeSelection` is set to true in the ResourceSlice spec"))
		}
		return errs
	}
	var ways []string
	if name, at := d.NodeName, path.Child("nodeName"); name != nil && *name == "" {
		errs = append(errs, field.Invalid(at, "", "must not be empty"))
	} else if name != nil {
		ways = append(ways, "`nodeName`")
		errs = append(errs, builtin.Invalids(at, *name, apivalidation.NameIsDNSSubdomain(*name, false))...)
	}
	if d.NodeSelector != nil {
		ways = append(ways, "`nodeSelector`")
		errs = append(errs, podspec.ValidateNodeSelector(d.NodeSelector, false, path.Child("nodeSelector"))...)
	}
	if all := d.AllNodes; all != nil && *all {
		ways = append(ways, "`allNodes`")
	} else if all != nil {
		errs = append(errs, field.Invalid(path.Child("allNodes"), false, "must be either unset or set to true"))
	}
	switch len(ways) {
	case 0:
		errs = append(errs, field.Required(path, one))
	case 1:
	default:
		errs = append(errs, field.Invalid(path, "{"+strings.Join(ways, ", ")+"}", one))
	}
	return errs
}

// version is the regular expression of semver.org for version 2.0.0 of the specification.
var version = func() *regexp.Regexp {
	const number, build = `(0|[1-9]\d*)`, `[0-9a-zA-Z-]+`
	const release = `(0|[1-9]\d*|\d*[a-zA-Z-][0-9a-zA-Z-]*)`
	return regexp.MustCompile(`^` + number + `\.` + number + `\.` + number +
		`(-` + release + `(\.` + release + `)*)?(\+` + build + `(\.` + build + `)*)?$`)
}()

func validateAttribute(a resourcev1.DeviceAttribute, path *field.Path) (errs field.ErrorList) {
	tooLong := func(value string, path *field.Path) {
		if len(value) > resourcev1.DeviceAttributeMaxValueLength {
			errs = append(errs, field.TooLong(path, "", resourcev1.DeviceAttributeMaxValueLength))
		}
	}
	if a.StringValue != nil {
		tooLong(*a.StringValue, path.Child("string"))
	}
	if v, path := a.VersionValue, path.Child("version"); v != nil {
		if !version.MatchString(*v) {
			errs = append(errs, field.Invalid(path, *v, "must be a string compatible with semver.org spec 2.0.0"))
		}
		tooLong(*v, path)
	}
	return errs
}

// validateQualifiedName requires an identifier, optionally with a domain before it. Like Kubernetes, it accepts names
// with several slashes unchecked.
func validateQualifiedName(name string, path *field.Path) (errs field.ErrorList) {
	domain, id, ok := strings.Cut(name, "/")
	switch {
	case !ok:
		return validateIdentifier(name, path)
	case strings.Contains(id, "/"):
		return nil
	}
	if domain == "" {
		errs = append(errs, field.Invalid(path, "", "the domain must not be empty"))
	} else {
		errs = append(errs, validateDriver(domain, path)...)
	}
	if id == "" {
		return append(errs, field.Invalid(path, "", "the name must not be empty"))
	}
	return append(errs, validateIdentifier(id, path)...)
}

func validateIdentifier(id string, path *field.Path) (errs field.ErrorList) {
	if len(id) > resourcev1.DeviceMaxIDLength {
		errs = append(errs, field.TooLong(path, "", resourcev1.DeviceMaxIDLength))
	}
	return append(errs, builtin.Invalids(path, id, content.IsCIdentifier(id))...)
}

// shorten cuts the middle out of a key that is over the limit.
func shorten(key string) string {
	const most, dots = resourcev1.DeviceMaxDomainLength + 1 + resourcev1.DeviceMaxIDLength, "..."
	if len(key) <= most {
		return key
	}
	left := most - len(dots)
	return key[:(left+1)/2] + dots + key[len(key)-left/2:]
}

// dropDisabledSlice clears the fields of features that are off by default, unless old has them.
func dropDisabledSlice(spec, old *resourcev1.ResourceSliceSpec) {
	was := func(has func(*resourcev1.Device) bool) bool {
		return old != nil && slices.ContainsFunc(old.Devices, func(d resourcev1.Device) bool { return has(&d) })
	}
	groups := was(func(d *resourcev1.Device) bool {
		return slices.ContainsFunc(d.ConsumesCounters,
			func(c resourcev1.DeviceCounterConsumption) bool { return len(c.CompatibilityGroups) > 0 })
	})
	node := was(func(d *resourcev1.Device) bool { return len(d.NodeAllocatableResources) > 0 })
	lists := was(func(d *resourcev1.Device) bool {
		return slices.ContainsFunc(slices.Collect(maps.Values(d.Attributes)), hasList)
	})
	if old == nil || old.PartitionTypeAttribute == nil {
		spec.PartitionTypeAttribute = nil
	}
	if old == nil || len(old.SkipNodeOperations) == 0 {
		spec.SkipNodeOperations = nil
	}
	for i := range spec.Devices {
		d := &spec.Devices[i]
		for j := range d.ConsumesCounters {
			if !groups {
				d.ConsumesCounters[j].CompatibilityGroups = nil
			}
		}
		if !node {
			d.NodeAllocatableResources = nil
		}
		for key, a := range d.Attributes {
			if !lists && hasList(a) {
				a.BoolValues, a.IntValues, a.StringValues, a.VersionValues = nil, nil, nil, nil
				d.Attributes[key] = a
			}
		}
	}
}
