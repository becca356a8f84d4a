package trace

import (
	"fmt"
	"strings"
	"sync"

	"github.com/kx-apiserver/kx/core/filter"
)

// Known are the names that filters can ask for: the steps, the layers and the reasons that this version of kx has; and
// what does the work of functions that no step is.
func Known(field string) []string {
	if word, ok := strings.CutPrefix(field, filter.Instead); ok {
		if s := LookupStepless(word); s != nil {
			return []string{s.Text, s.Place()}
		}
		return nil
	}
	return known()[field]
}

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
