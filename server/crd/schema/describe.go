package schema

// nested reports whether a value has fields or items. Walks skip the others.
func nested(x any) bool {
	switch x.(type) {
	case map[string]any, []any:
		return true
	}
	return false
}

// child returns the path of a field below a path of the schema.
func child(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}
