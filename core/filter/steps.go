package filter

// stepNode asks for a step that fulfils a condition.
type stepNode struct{ condition node }

func (n stepNode) match(s Subject) bool {
	w, ok := s.(WithSteps)
	if !ok {
		return n.condition.match(s)
	}
	return stepAfter(w.Steps(), -1, n.condition) >= 0
}

// write leaves out the parentheses around a single condition: alone it means the same.
func (n stepNode) write(w *writer, around int) {
	if single(n.condition) {
		n.condition.write(w, around)
		return
	}
	w.WriteString("step")
	writeCondition(w, n.condition)
}

func (n stepNode) cost() int { return max(costSteps, n.condition.cost()) }

// chainNode asks for steps that fulfil its conditions, each after the one before.
type chainNode struct{ conditions []node }

func (n chainNode) match(s Subject) bool {
	w, ok := s.(WithSteps)
	if !ok {
		return false
	}
	steps, at := w.Steps(), -1
	// The first step that fulfils a condition leaves most room for those behind it.
	for _, condition := range n.conditions {
		if at = stepAfter(steps, at, condition); at < 0 {
			return false
		}
	}
	return true
}

func (n chainNode) write(w *writer, around int) {
	for i, condition := range n.conditions {
		if i > 0 {
			w.WriteString(" -> ")
		}
		if !single(condition) {
			stepNode{condition}.write(w, around)
			continue
		}
		w.bare = true
		condition.write(w, around)
		w.bare = false
	}
}

func (n chainNode) cost() int {
	cost := costSteps
	for _, condition := range n.conditions {
		cost = max(cost, condition.cost())
	}
	return cost
}

// countNode compares the number of steps that fulfil a condition.
type countNode struct {
	condition node
	count     numberNode
}

func (n countNode) match(s Subject) bool {
	w, ok := s.(WithSteps)
	if !ok {
		return false
	}
	steps, found := w.Steps(), int64(0)
	if steps.Len() == 0 {
		return false // they are not known
	}
	for at := stepAfter(steps, -1, n.condition); at >= 0; at = stepAfter(steps, at, n.condition) {
		found++
	}
	return n.count.holds(found)
}

func (n countNode) write(w *writer, _ int) {
	w.WriteString("steps")
	writeCondition(w, n.condition)
	n.count.writeComparison(w)
}

func (n countNode) cost() int { return max(costSteps, n.condition.cost()) }

// stepAfter is the index of the first step behind the i-th that fulfils a condition, or -1. Where the condition begins
// with a text, only the steps with that text are looked at.
func stepAfter(steps Steps, i int, condition node) int {
	first := condition
	if and, ok := condition.(andNode); ok {
		first = and.cheapFirst[0]
	}
	field, text := textCondition(first)
	at := oneStep{steps: steps}
	for n := steps.Len(); ; {
		if i++; text != nil {
			i = steps.Find(i, field, text)
		}
		if i < 0 || i >= n {
			return -1
		}
		if text != nil && first == condition {
			return i
		}
		at.i = i
		if condition.match(&at) {
			return i
		}
	}
}

func textCondition(n node) (field string, c TextCondition) {
	switch n := n.(type) {
	case *textNode:
		return n.field.Name, n
	case *regexpNode:
		return n.field.Name, n
	}
	return "", nil
}

// oneStep is one step as a subject.
type oneStep struct {
	steps Steps
	i     int
}

func (s *oneStep) Field(name string) (Value, bool) { return s.steps.Field(s.i, name) }

// single says whether a condition is one field with its values.
func single(n node) bool {
	switch n.(type) {
	case *textNode, *regexpNode, numberNode:
		return true
	}
	return false
}

func writeCondition(w *writer, condition node) {
	w.WriteByte('(')
	w.ofStep, w.bare = true, true
	condition.write(w, precedenceOr)
	w.ofStep, w.bare = false, false
	w.WriteByte(')')
}
