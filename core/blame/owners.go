package blame

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Owner is a manager that owns a field by the object's managedFields.
type Owner struct {
	Manager     string       `json:"manager"`
	Operation   string       `json:"operation"`
	Subresource string       `json:"subresource,omitempty"`
	Time        *metav1.Time `json:"time,omitempty"`
}

// Owners returns a field's value as JSON, and the managers that own it by the object's managedFields. It needs no
// request.
func Owners(object []byte, path string) (value string, owners []Owner, err error) {
	parts, err := ParsePath(path)
	if err != nil {
		return "", nil, err
	}
	v, err := parse(object)
	if err != nil {
		return "", nil, err
	}
	var o struct {
		Metadata struct {
			ManagedFields []metav1.ManagedFieldsEntry `json:"managedFields"`
		} `json:"metadata"`
	}
	if err := json.Unmarshal(object, &o); err != nil {
		return "", nil, fmt.Errorf("the object can't be read: %w", err)
	}
	for _, entry := range o.Metadata.ManagedFields {
		if entry.FieldsV1 == nil {
			continue
		}
		set, err := parse(entry.FieldsV1.GetRawBytes())
		if err != nil {
			return "", nil, fmt.Errorf("the fields of %s: %w", entry.Manager, err)
		}
		if owns(set, v, parts) {
			owners = append(owners, Owner{entry.Manager, string(entry.Operation), entry.Subresource, entry.Time})
		}
	}
	return jsonText(at(v, parts)), owners, nil
}

// owns is whether a set of fields has the one at a path below v, or one above it that is owned as a whole.
func owns(set, v any, path Path) bool {
	fields, ok := set.(map[string]any)
	if !ok {
		return false
	}
	if len(path) == 0 {
		return true
	}
	if len(fields) == 0 {
		return true // a leaf: what is below is a part of it
	}
	switch container := v.(type) {
	case map[string]any:
		below, ok := fields["f:"+path[0]]
		return ok && owns(below, container[path[0]], path[1:])
	case []any:
		n, err := strconv.Atoi(path[0])
		if err != nil || n < 0 || n >= len(container) {
			return false
		}
		for element, below := range fields {
			if selects(element, n, container[n]) {
				return owns(below, container[n], path[1:])
			}
		}
	}
	return false
}

// selects is whether an element of a set of fields is the item of a list: k: has the item's keys, v: its value, and i:
// its index.
func selects(element string, index int, item any) bool {
	sort, text, _ := strings.Cut(element, ":")
	if sort == "i" {
		return text == strconv.Itoa(index)
	}
	want, err := parse([]byte(text))
	if err != nil {
		return false
	}
	if sort == "v" {
		return equal(want, item)
	}
	keys, ok := want.(map[string]any)
	have, isObject := item.(map[string]any)
	if sort != "k" || !ok || !isObject {
		return false
	}
	for key, value := range keys {
		if !equal(value, have[key]) {
			return false
		}
	}
	return true
}
