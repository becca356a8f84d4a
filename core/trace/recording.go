package trace

import (
	"fmt"
	"slices"
	"strings"

	"github.com/kx-apiserver/kx/core/filter"
)

// Record returns the name of the first recording whose filter selects the request of step s, which must know verb,
// resource and user. It is empty if there is none. Without recordings this costs one atomic load.
func (c *Control) Record(s *Step) (name string) {
	recordings := c.recordings.Load()
	if recordings == nil || s == nil {
		return ""
	}
	of := subjectOf(s, false, nil)
	for _, r := range *recordings {
		if r.Filter.Match(of) && c.matched(r, Hit{Journey: s.j.id, Step: s.id.String()}) {
			return r.Name
		}
	}
	return ""
}

// beforeRecording are the fields whose values are known when recordings are asked.
var beforeRecording = slices.Concat(pathFields, userFields,
	[]string{"method", "uri", "type", "agent", "ip", "audit", "trace", "id", "after"})

// CheckRecording refuses a filter that asks for what is known only after the objects of a request would have been
// recorded.
func CheckRecording(f filter.Filter) error {
	for _, field := range filter.Fields() {
		if f.AsksFor(field.Name) && !slices.Contains(beforeRecording, field.Name) {
			return fmt.Errorf("%s is known only later: a recording can ask for %s", field.Name, strings.Join(beforeRecording, ", "))
		}
	}
	return nil
}
