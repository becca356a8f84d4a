package history

import (
	"fmt"
	"slices"
	"strings"
)

// Guard is what a server promised of the objects below a prefix, at each revision.
type Guard struct {
	Prefix string
	// Most is how many there are at most.
	Most int
	// Refused are colors that no object has.
	Refused []string
}

// guards looks in etcd's log for what a server must not have let pass, whoever asked and whatever happened meanwhile.
func guards(h *History) (violations []string) {
	for _, g := range h.Guards {
		there := map[string]bool{}
		for _, c := range h.Log {
			if !strings.HasPrefix(c.Key, g.Prefix) {
				continue
			}
			if c.Deleted {
				delete(there, c.Key)
				continue
			}
			there[c.Key] = true
			if len(there) > g.Most {
				violations = append(violations, fmt.Sprintf("%d objects are below %s at %d, and the quota is %d", len(there), g.Prefix, c.Revision, g.Most))
			}
			if slices.Contains(g.Refused, Color(c.Value)) {
				violations = append(violations, fmt.Sprintf("%s of %d is %q, which must be refused", c.Key, c.Revision, c.Value))
			}
		}
	}
	return violations
}
