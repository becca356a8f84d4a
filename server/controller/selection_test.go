package controller_test

import (
	"strings"
	"testing"

	"github.com/kx-apiserver/kx/server/controller"
)

func TestSelection(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		flag string
		want bool
	}{
		{"*", true},
		{"namespace-controller", true},
		{"namespace", true},
		{"-namespace-controller", false},
		{"*,-namespace-controller", false},
		{"-namespace,*", false},
		// The first that names it decides.
		{"namespace,-namespace-controller", true},
		{"-namespace-controller,namespace-controller", false},
		{"-*", false},
		{"", false},
	} {
		s := controller.Selection(strings.FieldsFunc(test.flag, func(r rune) bool { return r == ',' }))
		if got := s.Has(controller.Namespace); got != test.want {
			t.Errorf("--controllers=%s: %v", test.flag, got)
		}
	}
}

// TestOneOfTwo has selections that say nothing of one controller, or name it beside others.
func TestOneOfTwo(t *testing.T) {
	t.Parallel()
	for flag, want := range map[string]bool{"*": true, "namespace": false, "garbage-collector-controller": true, "*,-garbagecollector": false, "*,-namespace": true} {
		if got := controller.Selection(strings.Split(flag, ",")).Has(controller.Garbage); got != want {
			t.Errorf("--controllers=%s: %v", flag, got)
		}
	}
}

func TestUnknownController(t *testing.T) {
	t.Parallel()
	if err := (controller.Selection{"*", "-namespace", "namespace-controller"}).Validate(); err != nil {
		t.Error(err)
	}
	err := controller.Selection{"*", "-persistentvolume-binder-controller", "", "**"}.Validate()
	if err == nil {
		t.Fatal("a controller that there is not was taken")
	}
	for _, part := range []string{`"-persistentvolume-binder-controller"`, `""`, `"**"`, "known controllers: ", "namespace-controller"} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%s is not in: %v", part, err)
		}
	}
}
