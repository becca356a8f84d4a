package store

import (
	"math"
	"strconv"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
)

// A selector's terms are looked through for each object, in the order of a client. One of many terms is compiled: those
// about one label or field become one set, so that an object costs one look for each label or field that is named,
// however many values there are.
const fewTerms = 8

// CompileLabels returns a selector that selects the same. One with few terms stays as it is: nothing is faster.
func CompileLabels(s labels.Selector) labels.Selector {
	if s == nil || s.Empty() {
		return s
	}
	requirements, selectable := s.Requirements()
	if !selectable {
		return s
	}
	terms := 0
	for i := range requirements {
		terms += max(1, len(requirements[i].ValuesUnsorted()))
	}
	if terms <= fewTerms {
		return s
	}
	compiled := &labelSets{Selector: s, keys: newKeys()}
	for i := range requirements {
		r := &requirements[i]
		if !compiled.find(r.Key()).require(r.Operator(), r.ValuesUnsorted()) {
			return s
		}
	}
	return compiled
}

// CompileFields is CompileLabels for a selector of fields.
func CompileFields(s fields.Selector) fields.Selector {
	if s == nil || s.Empty() {
		return s
	}
	requirements := s.Requirements()
	if len(requirements) <= fewTerms {
		return s
	}
	compiled := &fieldSets{Selector: s, keys: newKeys()}
	for _, r := range requirements {
		if !compiled.find(r.Field).require(r.Operator, []string{r.Value}) {
			return s
		}
	}
	return compiled
}

// labelSets is a compiled selector. All but Matches is the selector's.
type labelSets struct {
	labels.Selector
	keys
}

func (s *labelSets) Matches(l labels.Labels) bool {
	for i := range s.all {
		k := &s.all[i]
		if value, there := l.Lookup(k.name); !k.holds(value, there) {
			return false
		}
	}
	return true
}

func (s *labelSets) DeepCopySelector() labels.Selector {
	return CompileLabels(s.Selector.DeepCopySelector())
}

// fieldSets is a compiled selector. A field that is not there is empty.
type fieldSets struct {
	fields.Selector
	keys
}

func (s *fieldSets) Matches(f fields.Fields) bool {
	for i := range s.all {
		k := &s.all[i]
		if !k.holds(f.Get(k.name), true) {
			return false
		}
	}
	return true
}

func (s *fieldSets) DeepCopySelector() fields.Selector {
	return CompileFields(s.Selector.DeepCopySelector())
}

// keys groups the requirements by label or field, in the order in which a selector names them.
type keys struct {
	all []key
	at  map[string]int
}

func newKeys() keys { return keys{at: map[string]int{}} }

func (k *keys) find(name string) *key {
	i, known := k.at[name]
	if !known {
		i = len(k.all)
		k.at[name] = i
		k.all = append(k.all, key{name: name, above: math.MinInt64, below: math.MaxInt64})
	}
	return &k.all[i]
}

// key is all that is required of one label or field.
type key struct {
	name          string
	there, absent bool
	in            map[string]bool // nil if any value will do
	out           map[string]bool
	numeric       bool
	above, below  int64
	boundedAbove  bool
	boundedBelow  bool
}

// require adds a requirement. It returns false for one that it does not know.
func (k *key) require(operator selection.Operator, values []string) bool {
	switch operator {
	case selection.In, selection.Equals, selection.DoubleEquals:
		k.there = true
		in := make(map[string]bool, len(values))
		for _, value := range values {
			if k.in == nil || k.in[value] {
				in[value] = true
			}
		}
		k.in = in
	case selection.NotIn, selection.NotEquals:
		if k.out == nil {
			k.out = make(map[string]bool, len(values))
		}
		for _, value := range values {
			k.out[value] = true
		}
	case selection.Exists:
		k.there = true
	case selection.DoesNotExist:
		k.absent = true
	case selection.GreaterThan, selection.LessThan:
		return k.compare(operator, values)
	default:
		return false
	}
	return true
}

func (k *key) compare(operator selection.Operator, values []string) bool {
	if len(values) != 1 {
		return false
	}
	n, err := strconv.ParseInt(values[0], 10, 64)
	if err != nil {
		return false
	}
	k.there, k.numeric = true, true
	if operator == selection.GreaterThan {
		k.above, k.boundedBelow = max(k.above, n), true
	} else {
		k.below, k.boundedAbove = min(k.below, n), true
	}
	return true
}

// holds says whether a value, which may not be there, is as required.
func (k *key) holds(value string, there bool) bool {
	switch {
	case !there:
		return !k.there
	case k.absent, k.in != nil && !k.in[value], k.out[value]:
		return false
	case !k.numeric:
		return true
	}
	n, err := strconv.ParseInt(value, 10, 64)
	return err == nil && (!k.boundedBelow || n > k.above) && (!k.boundedAbove || n < k.below)
}
