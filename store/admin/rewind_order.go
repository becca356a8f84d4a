package admin

import (
	"strings"

	apitypes "k8s.io/apimachinery/pkg/types"
)

// rewrite is one write of a rewind: before is the key as it was, nil if there was none, and after as it is.
type rewrite struct {
	key           string
	before, after *KV
	// other means that they are two objects of one name.
	other bool
	// uid and owners are those of the object that comes back or goes.
	uid    apitypes.UID
	owners []apitypes.UID
	// Other objects need namespaces and definitions.
	namespace, definition bool
}

// rewrite reads what the order of the writes depends on. A value that can't be read is one without owners.
func (r *Rewinder) rewrite(p pair) *rewrite {
	c := &rewrite{key: p.key(), before: p.before, after: p.after}
	below := strings.TrimPrefix(c.key, r.prefix())
	c.namespace, c.definition = strings.HasPrefix(below, "namespaces/"), strings.HasPrefix(below, definitions+"/")
	uid := func(kv *KV) (uid apitypes.UID) {
		if kv == nil {
			return ""
		}
		m, err := r.Decoder.Metadata(c.key, kv.Value)
		if err != nil {
			return ""
		}
		c.owners = nil
		for i := range m.OwnerReferences {
			c.owners = append(c.owners, m.OwnerReferences[i].UID)
		}
		return m.UID
	}
	after := uid(p.after)
	c.uid = uid(p.before)
	c.other = after != "" && c.uid != "" && after != c.uid
	if p.before == nil {
		c.uid = after
	}
	return c
}

// divideRanks divides changes into ranks, to be written one after the other: what comes back or changes, and then what
// goes.
func divideRanks(changes []*rewrite) (ranks [][]*rewrite) {
	var back, gone []*rewrite
	for _, c := range changes {
		if c.before != nil {
			back = append(back, c)
		} else {
			gone = append(gone, c)
		}
	}
	ranks = byOwners(back)
	ranks = append(ranks, byOwners(gone)...)
	// Objects go before their definition, while their watches are served.
	var last []*rewrite
	for i := range ranks {
		var stay []*rewrite
		for _, c := range ranks[i] {
			if c.definition && c.before == nil {
				last = append(last, c)
			} else {
				stay = append(stay, c)
			}
		}
		ranks[i] = stay
	}
	return append(ranks, last)
}

// byOwners ranks namespaces and definitions first, and owners before their dependents.
func byOwners(changes []*rewrite) (ranks [][]*rewrite) {
	objects := make(map[apitypes.UID]*rewrite, len(changes))
	for _, c := range changes {
		objects[c.uid] = c
	}
	rank := map[*rewrite]int{}
	var of func(c *rewrite) int
	of = func(c *rewrite) int {
		if known, ok := rank[c]; ok {
			return known // 0 in a circle of owners
		}
		rank[c] = 0
		if c.namespace || c.definition {
			return 0
		}
		highest := 1
		for _, owner := range c.owners {
			if o := objects[owner]; o != nil {
				highest = max(highest, of(o)+1)
			}
		}
		rank[c] = highest
		return highest
	}
	for _, c := range changes {
		n := of(c)
		for len(ranks) <= n {
			ranks = append(ranks, nil)
		}
		ranks[n] = append(ranks[n], c)
	}
	return ranks
}
