package object

import (
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
)

// Attributes are the labels and fields that selectors match. Each object that a selector has matched keeps them, as
// sorted pairs, which take a third of a map's memory.
type Attributes struct {
	Labels, Fields Pairs
}

// Pairs are names and values, one after the other, sorted by name.
type Pairs []string

// Has implements labels.Labels and fields.Fields.
func (p Pairs) Has(name string) bool {
	_, ok := p.Lookup(name)
	return ok
}

// Get implements labels.Labels and fields.Fields.
func (p Pairs) Get(name string) string {
	value, _ := p.Lookup(name)
	return value
}

func (p Pairs) Lookup(name string) (value string, ok bool) {
	for i := 0; i < len(p); i += 2 {
		if p[i] == name {
			return p[i+1], true
		}
	}
	return "", false
}

var (
	_ labels.Labels = Pairs{}
	_ fields.Fields = Pairs{}
)

func pairs(set map[string]string) Pairs {
	if len(set) == 0 {
		return nil
	}
	names := make([]string, 0, len(set))
	for name := range set {
		names = append(names, name)
	}
	slices.SortFunc(names, strings.Compare)
	out := make(Pairs, 0, 2*len(set))
	for _, name := range names {
		out = append(out, name, set[name])
	}
	return out
}

// Attributes calls get once and remembers the result: get is the same for all objects of a resource.
func (e *Encoded) Attributes(get func(runtime.Object) (labels.Set, fields.Set, error)) (*Attributes, error) {
	if a := e.attrs.Load(); a != nil {
		return a, nil
	}
	obj, err := e.Object()
	if err != nil {
		return nil, err
	}
	l, f, err := get(obj)
	if err != nil {
		return nil, err
	}
	a := &Attributes{Labels: pairs(l), Fields: pairs(f)}
	e.attrs.Store(a)
	return a, nil
}
