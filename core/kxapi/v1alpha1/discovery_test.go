package v1alpha1_test

import (
	"testing"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
)

func TestIsDiscovery(t *testing.T) {
	for _, test := range []struct {
		method, uri, resource string
		code                  int32
		want                  bool
	}{
		{"GET", "/api", "", 200, true}, {"GET", "/apis?timeout=32s", "", 200, true}, {"GET", "/apis/apps/v1", "", 200, true}, {"HEAD", "/openapi/v3", "", 304, true},
		{"GET", "/readyz", "", 0, true}, {"GET", "/apis/nope", "", 404, false}, {"GET", "/apishop", "", 200, false}, {"GET", "/metrics", "", 200, false},
		{"GET", "/api/v1/pods", "pods", 200, false}, {"POST", "/api", "", 200, false},
	} {
		j := &v1alpha1.Journey{Spec: v1alpha1.JourneySpec{Method: test.method, URI: test.uri, Resource: test.resource}, Status: v1alpha1.JourneyStatus{Code: test.code}}
		if got := j.IsDiscovery(); got != test.want {
			t.Errorf("%+v: %v", test, got)
		}
	}
	held := &v1alpha1.Journey{Spec: v1alpha1.JourneySpec{Method: "GET", URI: "/api"}, Status: v1alpha1.JourneyStatus{Phase: v1alpha1.JourneyHeld}}
	if held.IsDiscovery() {
		t.Error("a request that is held is hidden")
	}
}
