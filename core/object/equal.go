package object

// EqualJSON reports whether two values that were read from JSON are equal. A nil map or list does not equal an empty
// one. It does what reflect.DeepEqual does with such values, but does not allocate.
func EqualJSON(a, b any) bool {
	switch a := a.(type) {
	case map[string]any:
		b, ok := b.(map[string]any)
		if !ok || len(a) != len(b) || (a == nil) != (b == nil) {
			return false
		}
		for name, value := range a {
			if other, found := b[name]; !found || !EqualJSON(value, other) {
				return false
			}
		}
		return true
	case []any:
		b, ok := b.([]any)
		if !ok || len(a) != len(b) || (a == nil) != (b == nil) {
			return false
		}
		for i := range a {
			if !EqualJSON(a[i], b[i]) {
				return false
			}
		}
		return true
	}
	return a == b
}
