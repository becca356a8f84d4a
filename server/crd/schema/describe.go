package schema

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
)

// maxNamed is how many paths a reason names. It counts the others.
const maxNamed = 10

// listed names the first paths: "spec.bar, spec.foo and 3 more".
func listed(paths []string) string {
	if len(paths) <= maxNamed {
		return strings.Join(paths, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(paths[:maxNamed], ", "), len(paths)-maxNamed)
}

// nullPaths returns the paths of null fields, sorted.
func nullPaths(obj map[string]any) []string {
	var paths []string
	addNulls(&paths, "", obj)
	slices.Sort(paths)
	return paths
}

func addNulls(paths *[]string, path string, x any) {
	switch x := x.(type) {
	case map[string]any:
		for k, v := range x {
			if v == nil {
				*paths = append(*paths, child(path, k))
			} else if nested(v) {
				addNulls(paths, child(path, k), v)
			}
		}
	case []any:
		for i, v := range x {
			if nested(v) {
				addNulls(paths, item(path, i), v)
			}
		}
	}
}

// nested says whether a value has fields or items, so that no path is built for one that has none.
func nested(x any) bool {
	switch x.(type) {
	case map[string]any, []any:
		return true
	}
	return false
}

// without returns the elements of all that are not in left. Both are sorted.
func without(all, left []string) []string {
	var out []string
	for _, path := range all {
		if _, found := slices.BinarySearch(left, path); !found {
			out = append(out, path)
		}
	}
	return out
}

// missingDefaults returns the paths of the fields that defaults will set, sorted.
func missingDefaults(obj map[string]any, s *structuralschema.Structural) []string {
	var paths []string
	addMissing(&paths, "", obj, s)
	slices.Sort(paths)
	return paths
}

func addMissing(paths *[]string, path string, x any, s *structuralschema.Structural) {
	if s == nil {
		return
	}
	switch x := x.(type) {
	case map[string]any:
		for k := range s.Properties {
			if _, found := x[k]; !found && s.Properties[k].Default.Object != nil {
				*paths = append(*paths, child(path, k))
			}
		}
		for k, v := range x {
			if v != nil && !nested(v) {
				continue
			}
			if prop, found := s.Properties[k]; found {
				addMissingOf(paths, child(path, k), v, &prop)
			} else if s.AdditionalProperties != nil {
				addMissingOf(paths, child(path, k), v, s.AdditionalProperties.Structural)
			}
		}
	case []any:
		for i, v := range x {
			if v == nil || nested(v) {
				addMissingOf(paths, item(path, i), v, s.Items)
			}
		}
	}
}

// addMissingOf handles a present value. A null counts as missing where null is not allowed.
func addMissingOf(paths *[]string, path string, v any, s *structuralschema.Structural) {
	if v != nil {
		addMissing(paths, path, v, s)
	} else if s != nil && !s.Nullable && s.Default.Object != nil {
		*paths = append(*paths, path)
	}
}

func child(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}

func item(path string, i int) string { return path + "[" + strconv.Itoa(i) + "]" }
