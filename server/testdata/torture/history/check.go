package history

import (
	"fmt"
	"strings"
)

// Checker looks for one sort of violation.
type Checker struct {
	Name  string
	Check func(*History) []string
}

// Checkers are all there are.
var Checkers = []Checker{
	{"linearizable", linearizable},
	{"lives", lives},
	{"acknowledged", acknowledged},
	{"final", final},
	{"revisions", revisions},
	{"guards", guards},
	{"reads", reads},
	{"lists", lists},
	{"watches", watches},
}

// violationsMost is how many violations of a sort are told: the first are those to look at.
const violationsMost = 10

// Check is what all checkers found.
func Check(h *History) error {
	var all []string
	for _, c := range Checkers {
		found := c.Check(h)
		for i, v := range found {
			if i == violationsMost {
				all = append(all, fmt.Sprintf("%s: and %d more", c.Name, len(found)-i))
				break
			}
			all = append(all, c.Name+": "+v)
		}
	}
	if len(all) == 0 {
		return nil
	}
	return fmt.Errorf("%d violations:\n%s", len(all), strings.Join(all, "\n"))
}
