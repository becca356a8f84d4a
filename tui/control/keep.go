package control

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
)

// memory is a rule in the state between runs.
type memory struct {
	Name string `json:"name"`
	Spec
	On bool `json:"on"`
}

// Keep returns the user's rules to keep; nil if there are none.
func (c *Control) Keep() any {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.own) == 0 {
		return nil
	}
	var all []memory
	for _, key := range slices.SortedFunc(maps.Keys(c.own), compareKeys) {
		own := c.own[key]
		all = append(all, memory{Name: key.Name, Spec: own.spec, On: own.on || own.wanted})
	}
	return all
}

// Restore takes the kept rules. Breakpoints that were on are switched on once the server is there. Faults stay off: a
// user who starts again should not meet failures that they have forgotten.
func (c *Control) Restore(data json.RawMessage) error {
	var all []memory
	if err := json.Unmarshal(data, &all); err != nil {
		return fmt.Errorf("read the breakpoints of the last time: %w", err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	left := 0
	for _, k := range all {
		if k.Name == "" || (k.Breakpoint == nil) == (k.Fault == nil) || len(c.own) >= objectsMost {
			left++
			continue
		}
		own := &ownRule{spec: k.Spec, wanted: k.On && k.Breakpoint != nil}
		if k.On && k.Fault != nil {
			own.note = "it was on the last time: switch it on again if you want"
		}
		c.own[Key{k.Spec.sort(), k.Name}] = own
	}
	if left > 0 {
		return fmt.Errorf("%d of %d rules of the last time can't be read", left, len(all))
	}
	return nil
}
