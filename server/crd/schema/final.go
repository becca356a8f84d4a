package schema

import (
	"math"
	"unicode/utf8"
)

// IsFinal reports whether an object that Prune did not change stays the same when it is written as JSON, read,
// pruned as a stored object, and defaulted. It may return false for an object that does stay the same.
func (s *Schema) IsFinal(obj map[string]any) bool {
	metadata, _ := obj["metadata"].(map[string]any)
	if !ordinary(obj["metadata"]) || metadata["generation"] == nil || s.uses.embedded {
		return false
	}
	if s.uses.defaults && s.defaults().lacking(obj) {
		return false
	}
	for name, value := range obj {
		if name != "metadata" && !plain(value) {
			return false
		}
	}
	return true
}

// plain reports whether a value survives JSON unchanged and has no nulls, some of which would be dropped.
func plain(x any) bool {
	switch x := x.(type) {
	case bool, int64:
		return true
	case float64:
		return x != math.Trunc(x) // others are read as integers
	case string:
		return utf8.ValidString(x)
	case map[string]any:
		for key, value := range x {
			if !utf8.ValidString(key) || !plain(value) {
				return false
			}
		}
		return true
	case []any:
		for _, item := range x {
			if !plain(item) {
				return false
			}
		}
		return true
	}
	return false
}
