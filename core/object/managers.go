package object

import (
	"maps"
	"slices"
)

// WithoutFieldSets returns an unstructured object's metadata without the field sets in managedFields. Decoding these
// takes most of the time, and validation does not look at them. The result shares memory with metadata.
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
