package object

import (
	"maps"
	"slices"
)

// WithoutFieldSets is an unstructured object's metadata without the fields that its managers own: these are most of what it
// takes to make metadata of it, and nobody who validates it looks at them. It shares memory with metadata.
func WithoutFieldSets(metadata map[string]any) map[string]any {
	managers, ok := metadata["managedFields"].([]any)
	if !ok {
		return metadata
	}
	managers = slices.Clone(managers)
	for i := range managers {
		if entry, ok := managers[i].(map[string]any); ok {
			entry = maps.Clone(entry)
			delete(entry, "fieldsV1")
			managers[i] = entry
		}
	}
	metadata = maps.Clone(metadata)
	metadata["managedFields"] = managers
	return metadata
}
