package object

import (
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
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

// ManagedFields returns what u.GetManagedFields does, for a fraction of the memory.
func ManagedFields(u *unstructured.Unstructured) []metav1.ManagedFieldsEntry {
	metadata, _ := u.Object["metadata"].(map[string]any)
	items, ok := metadata["managedFields"].([]any)
	if !ok {
		return nil
	}
	entries := make([]metav1.ManagedFieldsEntry, len(items))
	for i := range items {
		if item, ok := items[i].(map[string]any); !ok || !readManager(item, &entries[i]) {
			return u.GetManagedFields() // it is unusual, or no entry
		}
	}
	return entries
}

// readManager fills an empty entry. It returns false if item has values that only the library can judge.
func readManager(item map[string]any, entry *metav1.ManagedFieldsEntry) bool {
	for name, value := range item {
		if fields, ok := value.(map[string]any); ok && name == "fieldsV1" {
			entry.FieldsV1 = rawFields(fields)
			continue
		}
		text, ok := value.(string)
		if !ok {
			return false
		}
		switch name {
		case "manager":
			entry.Manager = text
		case "operation":
			entry.Operation = metav1.ManagedFieldsOperationType(text)
		case "apiVersion":
			entry.APIVersion = text
		case "fieldsType":
			entry.FieldsType = text
		case "subresource":
			entry.Subresource = text
		case "time":
			entry.Time = &metav1.Time{}
			ok = entry.Time.UnmarshalQueryParameter(text) == nil && !entry.Time.IsZero()
		default:
			ok = false
		}
		if !ok {
			return false
		}
	}
	return item["fieldsV1"] == nil || entry.FieldsV1 != nil
}

// rawFields returns nil if the fields can't be written as JSON.
func rawFields(fields map[string]any) *metav1.FieldsV1 {
	j := jsonWriters.Get().(*jsonWriter)
	defer j.release()
	if j.value(fields) != nil {
		return nil
	}
	raw := &metav1.FieldsV1{}
	raw.SetRawBytes(j.out)
	return raw
}

// Managed is an unstructured object for a library that reads the managedFields more than once. They are decoded once,
// and the fields that do not change are not encoded again. Only the library may change managedFields meanwhile.
type Managed struct {
	*unstructured.Unstructured
	entries []metav1.ManagedFieldsEntry
	// before are the entries at first, and items what they were decoded from.
	before []metav1.ManagedFieldsEntry
	items  []any
}

// NewManaged decodes the managedFields of u. The result shares u.
func NewManaged(u *unstructured.Unstructured) *Managed {
	metadata, _ := u.Object["metadata"].(map[string]any)
	items, _ := metadata["managedFields"].([]any)
	entries := ManagedFields(u)
	return &Managed{Unstructured: u, entries: entries, before: entries, items: items}
}

// GetManagedFields implements metav1.Object.
func (m *Managed) GetManagedFields() []metav1.ManagedFieldsEntry { return m.entries }

// SetManagedFields implements metav1.Object.
func (m *Managed) SetManagedFields(entries []metav1.ManagedFieldsEntry) {
	m.entries = entries
	metadata, ok := m.Object["metadata"].(map[string]any)
	if !ok || entries == nil {
		m.Unstructured.SetManagedFields(entries)
		return
	}
	items := make([]any, len(entries))
	for i := range entries {
		item, err := m.item(entries[i])
		if err != nil {
			m.Unstructured.SetManagedFields(entries) // it logs the error
			return
		}
		items[i] = item
	}
	metadata["managedFields"] = items
}

// item encodes an entry.
func (m *Managed) item(entry metav1.ManagedFieldsEntry) (map[string]any, error) {
	i := slices.IndexFunc(m.before, func(e metav1.ManagedFieldsEntry) bool {
		return e.Manager == entry.Manager && e.Operation == entry.Operation && e.APIVersion == entry.APIVersion &&
			e.Subresource == entry.Subresource && e.FieldsV1 != nil && entry.FieldsV1 != nil && e.FieldsV1.Equal(*entry.FieldsV1)
	})
	if i < 0 {
		return runtime.DefaultUnstructuredConverter.ToUnstructured(&entry)
	}
	entry.FieldsV1 = nil
	item, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&entry)
	if err == nil {
		item["fieldsV1"] = m.items[i].(map[string]any)["fieldsV1"]
	}
	return item, err
}
