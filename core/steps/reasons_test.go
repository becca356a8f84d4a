package steps_test

import (
	"testing"

	"github.com/kx-apiserver/kx/core/steps"
)

// TestSayingOf tells places of one reason apart by the function and the file of the step.
func TestSayingOf(t *testing.T) {
	a, b := steps.Saying{Function: "store/cacher.(*Cacher).Get", File: "store/cacher/get.go", Line: 3},
		steps.Saying{Function: "store/cacher.(*listing).moment", File: "store/cacher/list.go", Line: 5}
	c := steps.Saying{Function: "store/cacher.(*listing).latest", File: "store/cacher/list.go", Line: 9}
	sayings := steps.Sayings{"one": {a}, "two": {a, b}, "three": {a, b, c}}
	for _, test := range []struct {
		reason, function, file string
		want                   steps.Saying
	}{
		{"one", "elsewhere.Get", "elsewhere/get.go", a},
		{"two", "store/cacher.(*Cacher).Get", "store/cacher/get.go", a},
		{"two", "store/cacher.(*Cacher).List", "store/cacher/list.go", b},
		{"three", "store/cacher.(*listing).latest.func1", "store/cacher/list.go", c},
		{"three", "store/cacher.(*Cacher).List", "store/cacher/list.go", steps.Saying{}},
		{"three", "elsewhere.Get", "elsewhere/get.go", steps.Saying{}},
		{"none", "elsewhere.Get", "elsewhere/get.go", steps.Saying{}},
	} {
		if at, ok := sayings.Of(test.reason, test.function, test.file); at != test.want || ok != (test.want.File != "") {
			t.Errorf("%s in %s of %s: %v", test.reason, test.function, test.file, at)
		}
	}
}
