package trace

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/kx-apiserver/kx/core/filter"
	"github.com/kx-apiserver/kx/core/steps"
)

// Catalogue holds the reasons of a program by name. The zero Catalogue knows of none. It never changes.
type Catalogue struct {
	byName map[string]Reason
	names  []string
}

// NewCatalogue makes a Catalogue of the reasons of several packages.
func NewCatalogue(packages ...[]Reason) Catalogue {
	c := Catalogue{byName: map[string]Reason{}}
	for _, r := range slices.Concat(packages...) {
		c.byName[r.String()], c.names = r, append(c.names, r.String())
	}
	return c
}

// Reason finds a reason by name.
func (c Catalogue) Reason(name string) (r Reason, ok bool) {
	r, ok = c.byName[name]
	return r, ok
}

// Names are the names that filters can ask for: the reasons of the Catalogue, and those of [Names].
func (c Catalogue) Names(field string) []string {
	if field == "reason" {
		return c.names
	}
	return Names(field)
}

// Names are the names that filters can ask for: the steps and the layers that this version of kx has; and what does the
// work of functions that no step is. A filter may name any reason.
func Names(field string) []string {
	if word, ok := strings.CutPrefix(field, filter.Instead); ok {
		if s := steps.LookupStepless(word); s != nil {
			return []string{s.Text, s.Place()}
		}
		return nil
	}
	return known()[field]
}

var known = sync.OnceValue(func() map[string][]string {
	return map[string][]string{"step": names(steps.All()), "layer": steps.Layers()}
})

func names[T fmt.Stringer](all []T) []string {
	texts := make([]string, len(all))
	for i := range all {
		texts[i] = all[i].String()
	}
	return texts
}
