package resource

import (
	"fmt"
	"testing"

	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// TestStoredIsLeftAlone: a class of before a rule was declared can still be changed elsewhere, such as in its labels.
func TestStoredIsLeftAlone(t *testing.T) {
	spec := func(drivers ...string) *resourcev1.DeviceClassSpec {
		s := &resourcev1.DeviceClassSpec{}
		for _, driver := range drivers {
			s.Config = append(s.Config, resourcev1.DeviceClassConfiguration{DeviceConfiguration: resourcev1.DeviceConfiguration{
				Opaque: &resourcev1.OpaqueDeviceConfiguration{Driver: driver, Parameters: runtime.RawExtension{Raw: []byte("{}")}},
			}})
		}
		return s
	}
	for _, test := range []struct {
		name     string
		obj, old *resourcev1.DeviceClassSpec
		want     int
	}{
		{"new", spec("no driver"), nil, 1},
		{"as stored", spec("no driver"), spec("no driver"), 0},
		{"with one more", spec("no driver", "gpu.example.com"), spec("no driver"), 1},
	} {
		errs := applyRules(t.Context(), resourcev1.Validate_DeviceClassSpec, deviceClassSpecPath, test.obj, test.old)
		if len(errs) != test.want {
			t.Errorf("%s: %v", test.name, errs)
		}
	}
}

// TestFlatten gives errors the shape of v1beta1.
func TestFlatten(t *testing.T) {
	var errs field.ErrorList
	for _, at := range []string{
		"spec.devices.requests[0].exactly.selectors", "spec.devices.requests[0].exactly.tolerations[0].key",
		"spec.devices.requests[0].firstAvailable[1].selectors", "spec.devices.requests[1].exactly.tolerations[0].key",
		"spec.devices[2].taints[0].effect", "spec.devices[2]", "spec.devices.config[0].opaque.driver", "status.devices[0].shareID",
	} {
		errs = append(errs, &field.Error{Field: at})
	}
	flatten(errs)
	var got []string
	for _, err := range errs {
		got = append(got, err.Field)
	}
	want := []string{
		"spec.devices.requests[0].selectors", "spec.devices.requests[0].firstAvailable[1].selectors", "spec.devices.requests[0].tolerations[0].key",
		"spec.devices.requests[1].tolerations[0].key", "spec.devices[2].basic.taints[0].effect", "spec.devices[2]", "spec.devices.config[0].opaque.driver",
		"status.devices[0].shareID",
	}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got\n%q, want\n%q", got, want)
	}
}
