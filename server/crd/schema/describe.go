package schema

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	structuralschema "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"
)

// maxNamed is how many paths a reason names; the others it counts.
const maxNamed = 10

// listed says "2 unknown fields dropped: spec.bar, spec.foo".
func listed(paths []string, noun, verb string) string {
	if len(paths) != 1 {
		noun += "s"
	}
	more := ""
	named := paths
	if len(paths) > maxNamed {
		named, more = paths[:maxNamed], fmt.Sprintf(" and %d more", len(paths)-maxNamed)
	}
	return fmt.Sprintf("%d %s %s: %s%s", len(paths), noun, verb, strings.Join(named, ", "), more)
}

// nullPaths are the fields that are null, sorted.
func nullPaths(obj map[string]any) []string {
	var paths []string
	var walk func(path string, x any)
	walk = func(path string, x any) {
		switch x := x.(type) {
		case map[string]any:
			for k, v := range x {
				if v == nil {
					paths = append(paths, child(path, k))
					continue
				}
				if nested(v) {
					walk(child(path, k), v)
				}
			}
		case []any:
			for i, v := range x {
				if nested(v) {
					walk(path+"["+strconv.Itoa(i)+"]", v)
				}
			}
		}
	}
	walk("", obj)
	slices.Sort(paths)
	return paths
}

// nested spares a path's making where nothing lies beneath.
func nested(x any) bool {
	switch x.(type) {
	case map[string]any, []any:
		return true
	}
	return false
}

// without is what is in all and not in left. Both are sorted.
func without(all, left []string) []string {
	var out []string
	for _, path := range all {
		if _, found := slices.BinarySearch(left, path); !found {
			out = append(out, path)
		}
	}
	return out
}

// missingDefaults are the fields of x to which defaulting by s will give a value, sorted.
func missingDefaults(x any, s *structuralschema.Structural) []string {
	var paths []string
	var walk func(path string, x any, s *structuralschema.Structural)
	// put notes a field that gets a default, or goes on below one that has a value.
	put := func(path string, v any, s *structuralschema.Structural) {
		if v == nil && s != nil && !s.Nullable {
			paths = append(paths, path)
		} else if s != nil && nested(v) {
			walk(path, v, s)
		}
	}
	walk = func(path string, x any, s *structuralschema.Structural) {
		switch x := x.(type) {
		case map[string]any:
			for k, prop := range s.Properties {
				if _, found := x[k]; !found && prop.Default.Object != nil {
					paths = append(paths, child(path, k))
				}
			}
			for k, v := range x {
				if prop, found := s.Properties[k]; found {
					if v != nil || prop.Default.Object != nil {
						put(child(path, k), v, &prop)
					}
				} else if s.AdditionalProperties != nil {
					put(child(path, k), v, s.AdditionalProperties.Structural)
				}
			}
		case []any:
			for i, v := range x {
				put(path+"["+strconv.Itoa(i)+"]", v, s.Items)
			}
		}
	}
	if s != nil {
		walk("", x, s)
	}
	slices.Sort(paths)
	return paths
}

func child(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}
