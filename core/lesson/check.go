package lesson

// check looks at what the blocks say of each other.
func (p *parser) check(l *Lesson) error {
	c := &checker{parser: p, lesson: l, at: map[string]int{}, tasks: map[string]bool{}, asked: map[string]bool{}}
	for i, part := range l.Parts {
		if err := c.names(i, part); err != nil {
			return err
		}
	}
	for i, part := range l.Parts {
		if err := c.part(i, part); err != nil {
			return err
		}
	}
	if c.hints > 0 {
		return p.errorf(c.hintLine, "hint: expected a starter after the hints")
	}
	for _, task := range l.Tasks() {
		if task.Solution.ID == "" {
			return p.errorf(task.Starter.At(), "starter: the task %s has no solution", task.ID)
		}
		if len(task.Expects) == 0 {
			return p.errorf(task.Starter.At(), "starter: the task %s expects nothing", task.ID)
		}
	}
	if m := l.Mutation; m != nil {
		if _, ok := c.at[m.Of]; !ok {
			return p.errorf(p.lineOf("mutation"), "mutation: there is no run %s", m.Of)
		}
	}
	return nil
}

type checker struct {
	*parser
	lesson *Lesson
	at     map[string]int  // of each run and task the index of its part
	tasks  map[string]bool // those that are tasks
	asked  map[string]bool // the questions so far

	hints, hintLine int // those that no starter has taken yet
}

// names notes what can be named by others.
func (c *checker) names(i int, part Part) error {
	id, task := "", false
	switch part := part.(type) {
	case Run:
		id = part.ID
	case Starter:
		id, task = part.ID, true
	default:
		return nil
	}
	if _, twice := c.at[id]; twice {
		return c.errorf(part.At(), "there are two runs or tasks %s", id)
	}
	c.at[id] = i
	c.tasks[id] = task
	return nil
}

// part looks at what one part names.
func (c *checker) part(i int, part Part) error {
	switch part := part.(type) {
	case Hold:
		if r := c.lesson.Run(part.Of); r != nil && !r.Background {
			return c.errorf(part.At(), "hold: the run %s would wait for ever: mark it bg", part.Of)
		}
		return c.run(part, part.Of)
	case Fault:
		return c.run(part, part.Of)
	case Release:
		return c.after(i, part, part.Of)
	case Stop:
		if err := c.after(i, part, part.Of); err != nil {
			return err
		}
		if r := c.lesson.Run(part.Of); r == nil || !r.Background {
			return c.errorf(part.At(), "stop: %s does not run in the background", part.Of)
		}
	case Show:
		return c.after(i, part, part.Of)
	case Reading:
		return c.after(i, part, part.Of)
	case Solution:
		if !c.tasks[part.ID] {
			return c.errorf(part.At(), "solution: there is no starter %s", part.ID)
		}
		return c.after(i, part, part.ID)
	case Predict:
		if c.asked[part.ID] {
			return c.errorf(part.At(), "predict: there are two questions %s", part.ID)
		}
		c.asked[part.ID] = true
	case Expect:
		if part.Reveal != "" && !c.asked[part.Reveal] {
			return c.errorf(part.At(), "expect: there is no question %s before it", part.Reveal)
		}
		return c.after(i, part, part.Of)
	case Hint:
		if c.hints++; part.Number != c.hints {
			return c.errorf(part.At(), "hint: expected hint %d", c.hints)
		}
		c.hintLine = part.At()
	case Starter:
		c.hints = 0
	}
	return nil
}

// run says whether there is such a run.
func (c *checker) run(part Part, id string) error {
	if _, ok := c.at[id]; !ok || c.tasks[id] {
		return c.errorf(part.At(), "there is no run %s", id)
	}
	return nil
}

// after says whether there is such a run or task before the part.
func (c *checker) after(i int, part Part, id string) error {
	at, ok := c.at[id]
	switch {
	case !ok:
		return c.errorf(part.At(), "there is no run %s", id)
	case at > i:
		return c.errorf(part.At(), "%s comes after it, and must come before", id)
	}
	return nil
}
