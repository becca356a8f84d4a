package naming

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"

	"github.com/kx-apiserver/kx/server/crd/controller/work"
)

type names = apiextensionsv1.CustomResourceDefinitionNames

// key is a name that at most one definition may hold. Kinds and resources are separate name spaces.
type key struct {
	group string
	kind  bool
	name  string
}

// Holders records which definitions hold which names.
type Holders struct {
	by map[key][]*work.Definition
}

// NewHolders reads acceptedNames of all definitions.
func NewHolders(all []*work.Definition) *Holders {
	h := &Holders{by: make(map[key][]*work.Definition, 5*len(all))}
	for _, d := range all {
		h.add(d)
	}
	return h
}

func (h *Holders) add(d *work.Definition) {
	for _, k := range held(d) {
		h.by[k] = append(h.by[k], d)
	}
}

func (h *Holders) remove(d *work.Definition) {
	for _, k := range held(d) {
		h.by[k] = slices.DeleteFunc(h.by[k], func(other *work.Definition) bool { return other.Name == d.Name })
	}
}

// held returns the names that d holds, each once.
func held(d *work.Definition) []key {
	n := &d.Status.AcceptedNames
	keys := make([]key, 0, 4+len(n.ShortNames))
	add := func(kind bool, name string) {
		if k := (key{d.Spec.Group, kind, name}); name != "" && !slices.Contains(keys, k) {
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

// Rivals returns the other definitions that hold one of d's names, sorted by name.
func (h *Holders) Rivals(d *work.Definition) []*work.Definition {
	var rivals []*work.Definition
	for _, k := range held(d) {
		for _, other := range h.by[k] {
			if other.Name != d.Name {
				rivals = append(rivals, other)
			}
		}
	}
	slices.SortFunc(rivals, func(a, b *work.Definition) int { return strings.Compare(a.Name, b.Name) })
	return slices.Compact(rivals)
}

// isUsed reports whether any definition holds the name.
func (h *Holders) isUsed(k key) bool { return len(h.by[k]) > 0 }

// isLost reports whether d must give up a name to another definition that also holds it.
func (h *Holders) isLost(d *work.Definition, k key) bool {
	return slices.ContainsFunc(h.by[k], func(other *work.Definition) bool { return other.Name != d.Name && yields(d, other) })
}

// yields reports whether d, and not other, gives up a name that both hold.
func yields(d, other *work.Definition) bool {
	return cmp.Or(
		first(isEstablished(d), isEstablished(other)),
		first(isAccepted(d), isAccepted(other)),
		acceptedAt(d).Compare(acceptedAt(other)),
		strings.Compare(string(d.UID), string(other.UID)),
		strings.Compare(d.Name, other.Name)) > 0
}

// first orders true before false.
func first(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return -1
	}
	return 1
}

func isEstablished(d *work.Definition) bool {
	return apihelpers.IsCRDConditionTrue(d, apiextensionsv1.Established)
}

func isAccepted(d *work.Definition) bool {
	return apihelpers.IsCRDConditionTrue(d, apiextensionsv1.NamesAccepted)
}

func acceptedAt(d *work.Definition) time.Time {
	if c := apihelpers.FindCRDCondition(d, apiextensionsv1.NamesAccepted); c != nil {
		return c.LastTransitionTime.Time
	}
	return time.Time{}
}
