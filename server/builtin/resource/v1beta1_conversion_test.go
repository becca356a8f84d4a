package resource

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/api/resource/v1beta1"
	"k8s.io/apimachinery/pkg/runtime"
)

func newScheme(t *testing.T) *runtime.Scheme {
	t.Helper()
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{resourcev1.AddToScheme, v1beta1.AddToScheme, AddV1beta1} {
		if err := add(s); err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// TestConversion wants what v1beta1 says elsewhere in its place in v1, with the defaults, and back.
func TestConversion(t *testing.T) {
	for name, tc := range map[string]struct {
		old, hub runtime.Object
		in, want string
	}{
		"an exact request": {
			&v1beta1.ResourceClaim{}, &resourcev1.ResourceClaim{},
			`{"metadata":{},"spec":{"devices":{"requests":[{"name":"a","deviceClassName":"c","tolerations":[{"operator":"Exists"}]}]}},"status":{}}`,
			`{"metadata":{},"spec":{"devices":{"requests":[{"name":"a","exactly":{"deviceClassName":"c","allocationMode":"ExactCount","count":1,"tolerations":[{"operator":"Exists"}]}}]}},"status":{}}`,
		},
		"a choice": {
			&v1beta1.ResourceClaimTemplate{}, &resourcev1.ResourceClaimTemplate{},
			`{"metadata":{},"spec":{"metadata":{},"spec":{"devices":{"requests":[{"name":"a","deviceClassName":"","firstAvailable":[{"name":"b","deviceClassName":"c","allocationMode":"All"}]}]}}}}`,
			`{"metadata":{},"spec":{"metadata":{},"spec":{"devices":{"requests":[{"name":"a","firstAvailable":[{"name":"b","deviceClassName":"c","allocationMode":"All"}]}]}}}}`,
		},
		"a device": {
			&v1beta1.ResourceSlice{}, &resourcev1.ResourceSlice{},
			`{"metadata":{},"spec":{"driver":"d","pool":{"name":"p","generation":1,"resourceSliceCount":1},"nodeName":"n","devices":[{"name":"a","basic":{"attributes":{"x":{"int":1}},"bindsToNode":true}}]}}`,
			`{"metadata":{},"spec":{"driver":"d","pool":{"name":"p","generation":1,"resourceSliceCount":1},"nodeName":"n","devices":[{"name":"a","attributes":{"x":{"int":1}},"bindsToNode":true}]}}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScheme(t)
			if err := json.Unmarshal([]byte(tc.in), tc.old); err != nil {
				t.Fatal(err)
			}
			s.Default(tc.old)
			if err := s.Convert(tc.old, tc.hub, nil); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, text(t, tc.hub)); diff != "" {
				t.Error(diff)
			}
			before := text(t, tc.old)
			if err := s.Convert(tc.hub, tc.old, nil); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(before, text(t, tc.old)); diff != "" {
				t.Errorf("came back changed: %s", diff)
			}
		})
	}
}

func text(t *testing.T, object runtime.Object) string {
	t.Helper()
	data, err := json.Marshal(object)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
