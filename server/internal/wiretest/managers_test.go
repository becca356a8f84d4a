package wiretest

import (
	"strings"
	"testing"
)

// TestSortManagers: entries of one operation have one order, whatever their seconds were, and others stay in their place.
func TestSortManagers(t *testing.T) {
	const (
		apply  = "  - fieldsV1:\n      f:z: {}\n    manager: ann\n    operation: Apply\n    time: \"<time>\"\n"
		scale  = "  - fieldsV1:\n      f:spec: {}\n    operation: Update\n    subresource: scale\n"
		spec   = "  - fieldsV1:\n      f:spec: {}\n    operation: Update\n    time: \"<time>\"\n"
		status = "  - fieldsV1:\n      f:status: {}\n    operation: Update\n    time: \"<time>\"\n"
	)
	object := func(entries ...string) string {
		return "kind: Lamp\nmetadata:\n  managedFields:\n" + strings.Join(entries, "") + "  name: one\nspec:\n  - a\n"
	}
	want := object(apply, scale, spec, status)
	for _, entries := range [][]string{{apply, scale, spec, status}, {apply, status, spec, scale}, {apply, spec, status, scale}} {
		if got := sortManagersOfYAML(object(entries...) + "---\n" + object(entries...)); got != want+"---\n"+want {
			t.Errorf("got\n%s", got)
		}
	}
	for _, other := range []string{"", "managedFields:\n", "a: managedFields:\n- x\n", "  managedFields:\n  - x"} {
		if got := sortManagersOfYAML(other); got != other {
			t.Errorf("%q became %q", other, got)
		}
	}
	const update, updated = `{"operation":"Update","fieldsV1":{"f:spec":{}}}`, `{"operation":"Update","fieldsV1":{"f:status":{}}}`
	if got, want := sortManagers(`"managedFields":[`+updated+","+update+"],"), `"managedFields":[`+update+","+updated+"],"; got != want {
		t.Errorf("got %s", got)
	}
}
