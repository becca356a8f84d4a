package schema

// nested says whether a value has fields or items, so that no walk goes into one that has none.
func nested(x any) bool {
	switch x.(type) {
	case map[string]any, []any:
		return true
	}
	return false
}

// child is the path of a field below a path of the schema.
func child(path, name string) string {
	if path == "" {
		return name
	}
	return path + "." + name
}
