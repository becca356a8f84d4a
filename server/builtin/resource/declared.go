package resource

import (
	"context"
	"maps"
	"slices"

	resourcev1 "k8s.io/api/resource/v1"
	resourcev1beta1 "k8s.io/api/resource/v1beta1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/operation"
	"k8s.io/apimachinery/pkg/api/validate"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kx-apiserver/kx/server/builtin"
)

// declaredRules applies the rules that Kubernetes' types declare, in the order of their fields. If a value breaks a
// rule, later rules that depend on it are skipped.
type declaredRules struct {
	// Flat selects the shape of v1beta1: the fields of an exact request are in the request itself, and the properties
	// of a device are in its field basic.
	Flat bool
	// LengthFirst selects the order of the older versions for drivers' names in configurations: the rule for the
	// length comes first.
	LengthFirst bool
}

// declaredIn returns the rules of the version that the request uses.
func declaredIn(ctx context.Context) declaredRules {
	version, ok := builtin.RequestVersion(ctx)
	return declaredRules{
		Flat:        ok && version == resourcev1beta1.SchemeGroupVersion,
		LengthFirst: ok && version != resourcev1.SchemeGroupVersion,
	}
}

var (
	modes     = sets.New(resourcev1.DeviceAllocationModeAll, resourcev1.DeviceAllocationModeExactCount)
	operators = sets.New(resourcev1.DeviceTolerationOpEqual, resourcev1.DeviceTolerationOpExists)
	effects   = sets.New(resourcev1.DeviceTaintEffectNoSchedule, resourcev1.DeviceTaintEffectNoExecute, resourcev1.DeviceTaintEffectNone)
	origins   = sets.New(resourcev1.AllocationConfigSourceClaim, resourcev1.AllocationConfigSourceClass)
)

// Claim checks the spec of a claim.
func (d declaredRules) Claim(spec *resourcev1.ResourceClaimSpec, path *field.Path) (errs field.ErrorList) {
	devices, path := &spec.Devices, path.Child("devices")
	same := func(a, b *resourcev1.DeviceRequest) bool { return a.Name == b.Name }
	errs = append(errs, d.quoted(items(devices.Requests, resourcev1.DeviceRequestsMaxSize, same, d.request, path.Child("requests")))...)
	errs = append(errs, items(devices.Constraints, resourcev1.DeviceConstraintsMaxSize, nil, constraint, path.Child("constraints"))...)
	errs = append(errs, items(devices.Config, resourcev1.DeviceConfigMaxSize, nil,
		func(c *resourcev1.DeviceClaimConfiguration, path *field.Path) field.ErrorList {
			return append(requestNames(c.Requests, path), d.configuration(&c.DeviceConfiguration, path)...)
		}, path.Child("config"))...)
	return errs.MarkCoveredByDeclarative()
}

// flatRequest is a request in the shape of v1beta1, for messages.
type flatRequest struct {
	Name string `json:"name"`
	*resourcev1.ExactDeviceRequest
	FirstAvailable []resourcev1.DeviceSubRequest `json:"firstAvailable,omitempty"`
}

// quoted converts the requests in errors to the shape of the version.
func (d declaredRules) quoted(errs field.ErrorList) field.ErrorList {
	for _, err := range errs {
		if r, ok := err.BadValue.(resourcev1.DeviceRequest); ok && d.Flat {
			err.BadValue = flatRequest{r.Name, r.Exactly, r.FirstAvailable}
		}
	}
	return errs
}

func (d declaredRules) request(r *resourcev1.DeviceRequest, path *field.Path) (errs field.ErrorList) {
	same := func(a, b *resourcev1.DeviceSubRequest) bool { return a.Name == b.Name }
	subs := items(r.FirstAvailable, resourcev1.FirstAvailableDeviceRequestMaxSize, same, subRequest, path.Child("firstAvailable"))
	exact := r.Exactly
	if exact == nil {
		return subs
	}
	if !d.Flat {
		path = path.Child("exactly")
	}
	errs = append(selectors(exact.Selectors, path), mode(&exact.AllocationMode, path)...)
	tolerated := tolerations(exact.Tolerations, path)
	if d.Flat {
		return slices.Concat(errs, subs, tolerated)
	}
	return slices.Concat(errs, tolerated, subs)
}

func subRequest(r *resourcev1.DeviceSubRequest, path *field.Path) (errs field.ErrorList) {
	errs = name(&r.DeviceClassName, path.Child("deviceClassName"), validate.LongName)
	errs = append(errs, selectors(r.Selectors, path)...)
	errs = append(errs, mode(&r.AllocationMode, path)...)
	return append(errs, tolerations(r.Tolerations, path)...)
}

func selectors(list []resourcev1.DeviceSelector, path *field.Path) field.ErrorList {
	return validate.MaxItems(ctx, op, path.Child("selectors"), list, nil, resourcev1.DeviceSelectorsMaxSize)
}

func mode(m *resourcev1.DeviceAllocationMode, path *field.Path) field.ErrorList {
	if *m == "" {
		return nil
	}
	return validate.Enum(ctx, op, path.Child("allocationMode"), m, nil, modes, nil)
}

func tolerations(list []resourcev1.DeviceToleration, path *field.Path) field.ErrorList {
	return items(list, len(list), nil, func(t *resourcev1.DeviceToleration, path *field.Path) (errs field.ErrorList) {
		if t.Key != "" {
			errs = append(errs, validate.LabelKey(ctx, op, path.Child("key"), &t.Key, nil)...)
		}
		errs = append(errs, enum(&t.Operator, operators, path.Child("operator"))...)
		if t.Effect != "" {
			errs = append(errs, enum(&t.Effect, effects, path.Child("effect"))...)
		}
		return errs
	}, path.Child("tolerations"))
}

func constraint(c *resourcev1.DeviceConstraint, path *field.Path) field.ErrorList {
	errs := requestNames(c.Requests, path)
	errs = append(errs, validate.ResourceFullyQualifiedName(ctx, op, path.Child("matchAttribute"), c.MatchAttribute, nil)...)
	return append(errs, validate.ResourceFullyQualifiedName(ctx, op, path.Child("distinctAttribute"), c.DistinctAttribute, nil)...)
}

func requestNames(names []string, path *field.Path) field.ErrorList {
	return items(names, resourcev1.DeviceRequestsMaxSize, equal, nil, path.Child("requests"))
}

func (d declaredRules) configuration(c *resourcev1.DeviceConfiguration, path *field.Path) field.ErrorList {
	if c.Opaque == nil {
		return nil
	}
	return driver(&c.Opaque.Driver, d.LengthFirst, path.Child("opaque", "driver"))
}

func driver(driver *string, lengthFirst bool, path *field.Path) field.ErrorList {
	if *driver == "" {
		return field.ErrorList{field.Required(path, "")}
	}
	//lint:ignore SA1019 Drivers may have names with upper case.
	form := validate.LongNameCaseless(ctx, op, path, driver, nil)
	length := validate.MaxLength(ctx, op, path, driver, nil, resourcev1.DriverNameMaxLength)
	if lengthFirst {
		return append(length, form...)
	}
	return append(form, length...)
}

// ClassConfig checks a class's parameters for drivers.
func (d declaredRules) ClassConfig(config []resourcev1.DeviceClassConfiguration, path *field.Path) field.ErrorList {
	errs := items(config, resourcev1.DeviceConfigMaxSize, nil,
		func(c *resourcev1.DeviceClassConfiguration, path *field.Path) field.ErrorList {
			return d.configuration(&c.DeviceConfiguration, path)
		}, path)
	return errs.MarkCoveredByDeclarative()
}

// ClaimStatus checks the changes in the status of a claim.
func (d declaredRules) ClaimStatus(status, old *resourcev1.ResourceClaimStatus, path *field.Path) (errs field.ErrorList) {
	if is, was := status.Allocation, old.Allocation; is != nil && !apiequality.Semantic.DeepEqual(is, was) {
		if was != nil {
			errs = append(errs, field.Invalid(path.Child("allocation"), nil, "field cannot be modified once set"))
		} else {
			errs = append(errs, d.allocation(is, path.Child("allocation", "devices"))...)
		}
	}
	if !apiequality.Semantic.DeepEqual(status.ReservedFor, old.ReservedFor) {
		same := func(a, b *resourcev1.ResourceClaimConsumerReference) bool { return a.UID == b.UID }
		errs = append(errs, items(status.ReservedFor, resourcev1.ResourceClaimReservedForMaxSize, same, nil, path.Child("reservedFor"))...)
	}
	if !apiequality.Semantic.DeepEqual(status.Devices, old.Devices) {
		same := func(a, b *resourcev1.AllocatedDeviceStatus) bool { return deviceOf(a) == deviceOf(b) }
		errs = append(errs, items(status.Devices, len(status.Devices), same, deviceStatus, path.Child("devices"))...)
	}
	return errs.MarkCoveredByDeclarative()
}

func (d declaredRules) allocation(a *resourcev1.AllocationResult, path *field.Path) field.ErrorList {
	errs := items(a.Devices.Results, resourcev1.AllocationResultsMaxSize, nil,
		func(r *resourcev1.DeviceRequestAllocationResult, path *field.Path) field.ErrorList {
			errs := driver(&r.Driver, false, path.Child("driver"))
			errs = append(errs, name(&r.Pool, path.Child("pool"), validate.ResourcePoolName)...)
			errs = append(errs, tolerations(r.Tolerations, path)...)
			errs = append(errs, bindings(r.BindingConditions, r.BindingFailureConditions, path)...)
			return append(errs, validate.UUID(ctx, op, path.Child("shareID"), r.ShareID, nil)...)
		}, path.Child("results"))
	return append(errs, items(a.Devices.Config, 2*resourcev1.DeviceConfigMaxSize, nil,
		func(c *resourcev1.DeviceAllocationConfiguration, path *field.Path) field.ErrorList {
			errs := enum(&c.Source, origins, path.Child("source"))
			errs = append(errs, requestNames(c.Requests, path)...)
			return append(errs, d.configuration(&c.DeviceConfiguration, path)...)
		}, path.Child("config"))...)
}

func bindings(conditions, failures []string, path *field.Path) field.ErrorList {
	errs := validate.MaxItems(ctx, op, path.Child("bindingConditions"), conditions, nil, resourcev1.BindingConditionsMaxSize)
	return append(errs,
		validate.MaxItems(ctx, op, path.Child("bindingFailureConditions"), failures, nil, resourcev1.BindingFailureConditionsMaxSize)...)
}

func deviceStatus(s *resourcev1.AllocatedDeviceStatus, path *field.Path) field.ErrorList {
	errs := validate.UUID(ctx, op, path.Child("shareID"), s.ShareID, nil)
	n, path := s.NetworkData, path.Child("networkData")
	if n == nil {
		return errs
	}
	errs = append(errs,
		validate.MaxBytes(ctx, op, path.Child("interfaceName"), &n.InterfaceName, nil,
			resourcev1.NetworkDeviceDataInterfaceNameMaxLength)...)
	errs = append(errs, items(n.IPs, resourcev1.NetworkDeviceDataMaxIPs, equal, nil, path.Child("ips"))...)
	return append(errs,
		validate.MaxBytes(ctx, op, path.Child("hardwareAddress"), &n.HardwareAddress, nil,
			resourcev1.NetworkDeviceDataHardwareAddressMaxLength)...)
}

// Slice checks the spec of a slice. old is nil for a new slice.
func (d declaredRules) Slice(spec, old *resourcev1.ResourceSliceSpec, path *field.Path) (errs field.ErrorList) {
	if old == nil || !apiequality.Semantic.DeepEqual(spec.Devices, old.Devices) {
		errs = append(errs, items(spec.Devices, len(spec.Devices), nil, d.device, path.Child("devices"))...)
	}
	if old == nil || !apiequality.Semantic.DeepEqual(spec.SharedCounters, old.SharedCounters) {
		same := func(a, b *resourcev1.CounterSet) bool { return a.Name == b.Name }
		errs = append(errs, items(spec.SharedCounters, resourcev1.ResourceSliceMaxCounterSets, same,
			func(s *resourcev1.CounterSet, path *field.Path) field.ErrorList {
				return append(name(&s.Name, path.Child("name"), validate.ShortName), counters(s.Counters, path)...)
			}, path.Child("sharedCounters"))...)
	}
	return errs.MarkCoveredByDeclarative()
}

func (d declaredRules) device(v *resourcev1.Device, path *field.Path) (errs field.ErrorList) {
	if d.Flat {
		path = path.Child("basic")
	}
	for _, key := range slices.Sorted(maps.Keys(v.Attributes)) {
		attribute := v.Attributes[key]
		errs = append(errs, validate.Union(ctx, op, path.Child("attributes").Key(string(key)), &attribute, nil, attributeValues,
			func(a *resourcev1.DeviceAttribute) bool { return a.IntValue != nil },
			func(a *resourcev1.DeviceAttribute) bool { return a.BoolValue != nil },
			func(a *resourcev1.DeviceAttribute) bool { return a.StringValue != nil },
			func(a *resourcev1.DeviceAttribute) bool { return a.VersionValue != nil },
			func(a *resourcev1.DeviceAttribute) bool { return len(a.IntValues) > 0 },
			func(a *resourcev1.DeviceAttribute) bool { return len(a.BoolValues) > 0 },
			func(a *resourcev1.DeviceAttribute) bool { return len(a.StringValues) > 0 },
			func(a *resourcev1.DeviceAttribute) bool { return len(a.VersionValues) > 0 })...)
	}
	same := func(a, b *resourcev1.DeviceCounterConsumption) bool { return a.CounterSet == b.CounterSet }
	errs = append(errs, items(v.ConsumesCounters, resourcev1.ResourceSliceMaxDeviceCounterConsumptionsPerDevice, same,
		func(c *resourcev1.DeviceCounterConsumption, path *field.Path) field.ErrorList {
			return append(name(&c.CounterSet, path.Child("counterSet"), validate.ShortName), counters(c.Counters, path)...)
		}, path.Child("consumesCounters"))...)
	errs = append(errs, items(v.Taints, len(v.Taints), nil, func(t *resourcev1.DeviceTaint, path *field.Path) field.ErrorList {
		return enum(&t.Effect, effects, path.Child("effect"))
	}, path.Child("taints"))...)
	return append(errs, bindings(v.BindingConditions, v.BindingFailureConditions, path)...)
}

var attributeValues = validate.NewUnionMembership(validate.NewUnionMember("int"), validate.NewUnionMember("bool"),
	validate.NewUnionMember("string"), validate.NewUnionMember("version"), validate.NewUnionMember("ints"),
	validate.NewUnionMember("bools"), validate.NewUnionMember("strings"), validate.NewUnionMember("versions"))

func counters(all map[string]resourcev1.Counter, path *field.Path) (errs field.ErrorList) {
	path = path.Child("counters")
	if len(all) == 0 {
		return field.ErrorList{field.Required(path, "")}
	}
	for _, key := range slices.Sorted(maps.Keys(all)) {
		errs = append(errs, validate.ShortName(ctx, op, path, &key, nil)...)
	}
	return errs
}

// The library's functions take both arguments, but these rules use neither.
var ctx, op = context.Background(), operation.Operation{}

// items checks a list: first its length, then duplicates, then each item.
func items[T any](list []T, most int, same func(a, b *T) bool, each func(*T, *field.Path) field.ErrorList,
	path *field.Path) (errs field.ErrorList) {
	if errs := validate.MaxItems(ctx, op, path, list, nil, most); len(errs) > 0 {
		return errs
	}
	if same != nil {
		errs = validate.ValSliceUnique(ctx, op, path, list, nil, same)
	}
	for i := range list {
		if each != nil {
			errs = append(errs, each(&list[i], path.Index(i))...)
		}
	}
	return errs
}

// name checks a required name.
func name(value *string, path *field.Path,
	form func(context.Context, operation.Operation, *field.Path, *string, *string) field.ErrorList) field.ErrorList {
	if *value == "" {
		return field.ErrorList{field.Required(path, "")}
	}
	return form(ctx, op, path, value, nil)
}

// enum checks a required value.
func enum[T ~string](value *T, known sets.Set[T], path *field.Path) field.ErrorList {
	if *value == "" {
		return field.ErrorList{field.Required(path, "")}
	}
	return validate.Enum(ctx, op, path, value, nil, known, nil)
}

func equal(a, b *string) bool { return *a == *b }
