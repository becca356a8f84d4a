package trace

import (
	"fmt"
	"sync"
)

// Known are the names that filters can ask for: the steps, the layers and the reasons that this version of kx has.
func Known(field string) []string { return known()[field] }

var known = sync.OnceValue(func() map[string][]string {
	return map[string][]string{"step": names(All()), "layer": Layers(), "reason": names(Reasons())}
})

func names[T fmt.Stringer](all []T) []string {
	texts := make([]string, len(all))
	for i := range all {
		texts[i] = all[i].String()
	}
	return texts
}
