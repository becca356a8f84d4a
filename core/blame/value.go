package blame

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
)

// parse reads an object. Numbers stay as they are written.
func parse(object []byte) (any, error) {
	decoder := json.NewDecoder(bytes.NewReader(object))
	decoder.UseNumber()
	var v any
	if err := decoder.Decode(&v); err != nil {
		return nil, fmt.Errorf("the object can't be read: %w", err)
	}
	return v, nil
}

// at returns the value at a path, or nil.
func at(v any, path Path) any {
	for _, part := range path {
		switch container := v.(type) {
		case map[string]any:
			v = container[part]
		case []any:
			n, err := strconv.Atoi(part)
			if err != nil || n < 0 || n >= len(container) {
				return nil
			}
			v = container[n]
		default:
			return nil
		}
	}
	return v
}

func equal(a, b any) bool { return reflect.DeepEqual(a, b) }

// jsonText is a value as JSON, empty for nil.
func jsonText(v any) string {
	if v == nil {
		return ""
	}
	data, err := json.Marshal(v)
	if err != nil {
		return "" // what was decoded from JSON can be encoded
	}
	return string(data)
}

// whole are fields that are compared as one value, because their parts mean nothing alone.
var whole = map[string]bool{Path{"metadata", "managedFields"}.Key(): true}

// Whole says whether the field at a path is compared as one value.
func Whole(path []string) bool { return whole[Path(path).Key()] }

// leaves calls each with the deepest fields in which a and b differ. Lists of different length differ as a whole,
// because their items can't be matched.
func leaves(path Path, a, b any, each func(path Path, a, b any)) {
	if equal(a, b) {
		return
	}
	x, aIsMap := a.(map[string]any)
	y, bIsMap := b.(map[string]any)
	switch {
	case Whole(path):
	case aIsMap && bIsMap, aIsMap && b == nil && len(x) > 0, bIsMap && a == nil && len(y) > 0:
		for _, name := range names(x, y) {
			leaves(path.with(name), x[name], y[name], each)
		}
		return
	default:
		x, aIsList := a.([]any)
		y, bIsList := b.([]any)
		if aIsList && bIsList && len(x) == len(y) {
			for i := range x {
				leaves(path.with(strconv.Itoa(i)), x[i], y[i], each)
			}
			return
		}
	}
	each(path, a, b)
}

func names(a, b map[string]any) []string {
	all := make([]string, 0, len(a)+len(b))
	for name := range a {
		all = append(all, name)
	}
	for name := range b {
		if _, ok := a[name]; !ok {
			all = append(all, name)
		}
	}
	slices.Sort(all)
	return all
}

// count returns the number of fields that differ between two objects.
func count(before, after []byte) (int, error) {
	a, err := parse(before)
	if err != nil {
		return 0, err
	}
	b, err := parse(after)
	if err != nil {
		return 0, err
	}
	n := 0
	leaves(nil, a, b, func(Path, any, any) { n++ })
	return n, nil
}
