package resource

import (
	"context"
	"slices"
	"strings"

	resourcev1 "k8s.io/api/resource/v1"
	resourcev1beta1 "k8s.io/api/resource/v1beta1"
	"k8s.io/apimachinery/pkg/api/operation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kx-apiserver/kx/server/builtin"
)

// rules are the rules that a type of Kubernetes declares, as the function that is generated of them. In an update they
// leave alone what has not changed.
type rules[T any] func(ctx context.Context, op operation.Operation, path *field.Path, obj, old *T) field.ErrorList

// applyRules applies the rules of a type, in the shape that the version of the request has. old is nil for a new
// object.
func applyRules[T any](ctx context.Context, rules rules[T], path *field.Path, obj, old *T) (errs field.ErrorList) {
	// The feature is off by default, and its fields are dropped.
	op := operation.Operation{Type: operation.Create, Options: map[string]bool{"DRAPartitionableDevicesType": false}}
	if old != nil {
		op.Type = operation.Update
	}
	for _, err := range rules(ctx, op, path, obj, old) {
		if !err.IsAlpha() { // those are not in force yet
			errs = append(errs, err)
		}
	}
	version, _ := builtin.RequestVersion(ctx)
	if version != resourcev1.SchemeGroupVersion {
		lengthFirst(errs)
	}
	if version == resourcev1beta1.SchemeGroupVersion {
		flatten(errs)
	}
	return errs.MarkCoveredByDeclarative()
}

// lengthFirst gives the errors about a driver's name the order that the older versions declare.
func lengthFirst(errs field.ErrorList) {
	for i := 1; i < len(errs); i++ {
		form, length := errs[i-1], errs[i]
		driver := form.Field == length.Field && strings.HasSuffix(length.Field, ".opaque.driver")
		if driver && length.Type == field.ErrorTypeTooLong {
			errs[i-1], errs[i] = length, form
		}
	}
}

// flatRequest is a request in the shape of v1beta1, for messages.
type flatRequest struct {
	Name string `json:"name"`
	*resourcev1.ExactDeviceRequest
	FirstAvailable []resourcev1.DeviceSubRequest `json:"firstAvailable,omitempty"`
}

// flatten gives errors the shape of v1beta1: the fields of an exact request are in the request itself, before and
// behind firstAvailable, and the properties of a device are in its field basic.
func flatten(errs field.ErrorList) {
	for _, err := range errs {
		if r, ok := err.BadValue.(resourcev1.DeviceRequest); ok {
			err.BadValue = flatRequest{r.Name, r.Exactly, r.FirstAvailable}
		}
		if device, rest, below := strings.Cut(err.Field, "]."); below && strings.HasPrefix(device, "spec.devices[") {
			err.Field = device + "].basic." + rest
		} else {
			err.Field = strings.Replace(err.Field, "].exactly.", "].", 1)
		}
	}
	slices.SortStableFunc(errs, func(a, b *field.Error) int {
		request := func(e *field.Error) (string, bool) {
			request, at, _ := strings.Cut(e.Field, "].")
			return request, strings.HasPrefix(at, "tolerations[")
		}
		ofA, behindA := request(a)
		ofB, behindB := request(b)
		switch {
		case ofA != ofB || behindA == behindB || !strings.Contains(ofA, ".requests["):
			return 0
		case behindA:
			return 1
		}
		return -1
	})
}
