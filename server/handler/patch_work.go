package handler

import (
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/util/strategicpatch"
)

// maxComparedItems limits the pairs of list items that a strategic merge patch compares. The library finds each item of
// the patch by a look at all stored ones, and sorts the stored ones by looks at all: a patch with 20,000 owners of an
// object with as many took minutes, and one with a single owner is not much cheaper. No context ends that work, so it
// is limited before it begins.
const maxComparedItems = 5_000_000

// checkMerge refuses a strategic merge patch that would take too long on a document.
func (scope *RequestScope) checkMerge(document, patch map[string]any, schema strategicpatch.LookupPatchMeta) error {
	if scope.MaxObjectFields <= 0 {
		return nil
	}
	if all := countValue(patch) + countValue(document); all*all <= maxComparedItems {
		return nil // as most: whatever the lists are, they are short enough
	}
	if n := comparedItems(document, patch, schema); n > maxComparedItems {
		return tooLarge("the patch compares %d pairs of list items, the limit is %d; use another kind of patch", n, maxComparedItems)
	}
	return nil
}

// These directives of a patch are lists that name items of another list.
const (
	orderDirective = "$setElementOrder/"
	goneDirective  = "$deleteFromPrimitiveList/"
)

// comparedItems estimates the pairs of list items that a merge of patch into document compares.
func comparedItems(document, patch map[string]any, schema strategicpatch.LookupPatchMeta) int {
	n := 0
	counted := map[string]bool{}
	for name, value := range patch {
		if inner, ok := value.(map[string]any); ok {
			stored, _ := document[name].(map[string]any)
			below, _, err := schema.LookupPatchMetadataForStruct(name)
			if stored != nil && err == nil { // else the library takes it as it is, or refuses it
				n += comparedItems(stored, inner, below)
			}
			continue
		}
		name = strings.TrimPrefix(strings.TrimPrefix(name, orderDirective), goneDirective)
		if !counted[name] {
			counted[name] = true
			n += comparedInList(name, document, patch, schema)
		}
	}
	return n
}

// comparedInList is comparedItems for one list of the document.
func comparedInList(name string, document, patch map[string]any, schema strategicpatch.LookupPatchMeta) int {
	stored, items := listOf(document, name), listOf(patch, name)
	directed := len(listOf(patch, orderDirective+name)) + len(listOf(patch, goneDirective+name))
	if len(items)+directed == 0 || stored == nil && directed == 0 {
		return 0
	}
	below, how, err := schema.LookupPatchMetadataForSlice(name)
	if err != nil || !slices.Contains(how.GetPatchStrategies(), "merge") {
		return 0 // the library replaces the list, or refuses it
	}
	all := len(stored) + len(items) + directed
	return all*all + comparedInItems(stored, items, how.GetPatchMergeKey(), below)
}

// comparedInItems estimates the pairs in the lists of merged items.
func comparedInItems(stored, items []any, key string, schema strategicpatch.LookupPatchMeta) int {
	if key == "" {
		return 0
	}
	byKey := map[string]map[string]any{}
	for _, item := range stored {
		if fields, name, ok := keyed(item, key); ok && byKey[name] == nil {
			byKey[name] = fields
		}
	}
	n := 0
	merged := map[string]int{}
	for _, item := range items {
		fields, name, ok := keyed(item, key)
		if !ok {
			continue
		}
		size := countValue(fields)
		if before, again := merged[name]; again {
			n += before * size // an item with the same key, whose lists have grown
		} else if stored := byKey[name]; stored != nil {
			n += comparedItems(stored, fields, schema)
		}
		merged[name] += size
	}
	return n
}

// keyed returns the fields of an item, and its merge key as text.
func keyed(item any, key string) (fields map[string]any, name string, ok bool) {
	fields, _ = item.(map[string]any)
	switch value := fields[key].(type) {
	case string:
		return fields, "s" + value, true
	case int64:
		return fields, "i" + strconv.FormatInt(value, 10), true
	}
	return nil, "", false
}

func listOf(fields map[string]any, name string) []any {
	list, _ := fields[name].([]any)
	return list
}
