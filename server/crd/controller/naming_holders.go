package controller

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

type names = apiextensionsv1.CustomResourceDefinitionNames

// nameKey is a name that at most one definition may hold. Kinds and resources are separate name spaces.
type nameKey struct {
	group string
	kind  bool
	name  string
}

// nameHolders records which definitions hold which names.
type nameHolders struct {
	by map[nameKey][]*Definition
}

// newNameHolders reads acceptedNames of all definitions.
func newNameHolders(all []*Definition) *nameHolders {
	h := &nameHolders{by: make(map[nameKey][]*Definition, 5*len(all))}
	for _, d := range all {
		h.add(d)
	}
	return h
}

func (h *nameHolders) add(d *Definition) {
	for _, k := range heldNames(d) {
		h.by[k] = append(h.by[k], d)
	}
}

func (h *nameHolders) remove(d *Definition) {
	for _, k := range heldNames(d) {
		h.by[k] = slices.DeleteFunc(h.by[k], func(other *Definition) bool { return other.Name == d.Name })
	}
}

// heldNames returns the names that d holds, each once.
func heldNames(d *Definition) []nameKey {
	n := &d.Status.AcceptedNames
	keys := make([]nameKey, 0, 4+len(n.ShortNames))
	add := func(kind bool, name string) {
		if k := (nameKey{d.Spec.Group, kind, name}); name != "" && !slices.Contains(keys, k) {
			keys = append(keys, k)
		}
	}
	add(false, n.Plural)
	add(false, n.Singular)
	for _, short := range n.ShortNames {
		add(false, short)
	}
	add(true, n.Kind)
	add(true, n.ListKind)
	return keys
}

// rivals returns the other definitions that hold one of d's names, sorted by name.
func (h *nameHolders) rivals(d *Definition) []*Definition {
	var rivals []*Definition
	for _, k := range heldNames(d) {
		for _, other := range h.by[k] {
			if other.Name != d.Name {
				rivals = append(rivals, other)
			}
		}
	}
	slices.SortFunc(rivals, func(a, b *Definition) int { return strings.Compare(a.Name, b.Name) })
	return slices.Compact(rivals)
}

// isUsed reports whether any definition holds the name.
func (h *nameHolders) isUsed(k nameKey) bool { return len(h.by[k]) > 0 }

// isLost reports whether d must give up a name to another definition that also holds it.
func (h *nameHolders) isLost(d *Definition, k nameKey) bool {
	return slices.ContainsFunc(h.by[k], func(other *Definition) bool { return other.Name != d.Name && yields(d, other) })
}

// yields reports whether d, and not other, gives up a name that both hold.
func yields(d, other *Definition) bool {
	return cmp.Or(
		compareFlags(isEstablished(d), isEstablished(other)),
		compareFlags(isAccepted(d), isAccepted(other)),
		acceptedAt(d).Compare(acceptedAt(other)),
		strings.Compare(string(d.UID), string(other.UID)),
		strings.Compare(d.Name, other.Name)) > 0
}

// compareFlags orders true before false.
func compareFlags(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}

func isEstablished(d *Definition) bool {
	return apihelpers.IsCRDConditionTrue(d, apiextensionsv1.Established)
}

func isAccepted(d *Definition) bool {
	return apihelpers.IsCRDConditionTrue(d, apiextensionsv1.NamesAccepted)
}

func acceptedAt(d *Definition) time.Time {
	if c := apihelpers.FindCRDCondition(d, apiextensionsv1.NamesAccepted); c != nil {
		return c.LastTransitionTime.Time
	}
	return time.Time{}
}
