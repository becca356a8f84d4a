package rules

import (
	"context"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/kx-apiserver/kx/core/filter"
	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/tui/control"
	"github.com/kx-apiserver/kx/tui/screen"
)

// Ask asks for the filter of a new breakpoint or tracepoint, beginning with initial, and makes it. It asks again
// after a syntax error.
func Ask(host screen.Host, c *control.Control, action v1alpha1.BreakpointAction, initial string) tea.Cmd {
	question := host.Theme().Words.Phrase("break at:")
	if action == v1alpha1.BreakpointTrace {
		question = host.Theme().Words.Phrase("trace at:")
	}
	return host.Ask(question, initial, func(text string) tea.Cmd {
		if _, err := filter.ParseRunning(text, host.Reasons().Names); err != nil {
			host.Complain(screen.FilterError(host.Theme().Words, err))
			return Ask(host, c, action, text)
		}
		return Make(host, c, control.Spec{Breakpoint: &v1alpha1.BreakpointSpec{Filter: text, Action: action}})
	})
}

// Make makes a rule, and reports its name.
func Make(host screen.Host, c *control.Control, spec control.Spec) tea.Cmd {
	words := host.Theme().Words
	return do(host, func(ctx context.Context) (string, error) {
		key, err := c.Add(ctx, spec)
		return words.Phrase("%s: %s at %s", key, spec.Summary(), words.Text(orAny(spec.Filter()))), err
	})
}

func orAny(filter string) string {
	if filter == "" {
		return "any step"
	}
	return filter
}

// template is the initial text of a fault.
const template = `# A fault, as kubectl create -f takes it. An empty file makes none.
apiVersion: kx.dev/v1alpha1
kind: Fault
metadata:
  name: new # another is chosen when it is made
spec:
  # Delay (with delay), Fail (with code, and message if you like), TimeoutAfterCommit, DropWatch,
  # Lag (with delay), StaleCache or WebhookDown (with outage: Refused, Silent, Error or Certificate).
  effect: Fail
  code: 409
  # Which steps of which requests.
  filter: "verb:update,patch resource:configmaps"
  # How many matches pass first, and how many are hit at most; 0 is without limit.
  skip: 0
  count: 0
  # How likely a match is hit. The same seed hits the same matches.
  probability: 1
  seed: 0
`

// Break offers the possible failures at a step of requests of a verb (each empty if unknown), and makes a fault of
// the choice, with the filter and the count of scope. If the filter is empty, Break asks the user. more adds choices.
func Break(host screen.Host, c *control.Control, step, verb string, scope v1alpha1.FaultSpec, more ...screen.Choice) tea.Cmd {
	choice := func(e Effect) screen.Choice {
		return screen.Choice{Title: e.Title, Help: e.Help, Why: e.Why, Do: func() tea.Cmd {
			e.Fault.Filter, e.Fault.Count = scope.Filter, scope.Count
			return makeFault(host, c, e.Fault)
		}}
	}
	typed := func(text string) (screen.Choice, error) {
		e, err := ReadEffect(step, verb, text)
		return choice(e), err
	}
	menu := screen.Menu{Title: host.Theme().Words.Phrase("What goes wrong"), Hint: Hint(verb), Typed: typed}
	if scope.Count == 1 {
		menu.Title = host.Theme().Words.Phrase("What goes wrong once")
	}
	if scope.Filter != "" {
		menu.Title = host.Theme().Words.Phrase("%s at %s", menu.Title, scope.Filter)
	}
	for _, e := range Effects(step, verb) {
		menu.Choices = append(menu.Choices, choice(e))
	}
	menu.Choices = append(menu.Choices, more...)
	return host.Choose(menu)
}

// makeFault makes a fault. It asks for an empty filter first, and again after a syntax error.
func makeFault(host screen.Host, c *control.Control, spec v1alpha1.FaultSpec) tea.Cmd {
	if spec.Filter != "" {
		return Make(host, c, control.Spec{Fault: &spec})
	}
	example := "verb:update,patch resource:configmaps"
	if spec.Effect == v1alpha1.FaultDropWatch || spec.Effect == v1alpha1.FaultLag {
		example = "verb:watch resource:configmaps"
	}
	return askFault(host, c, spec, example)
}

func askFault(host screen.Host, c *control.Control, spec v1alpha1.FaultSpec, initial string) tea.Cmd {
	return host.Ask(host.Theme().Words.Phrase("%s at:", (control.Spec{Fault: &spec}).Summary()), initial, func(text string) tea.Cmd {
		if _, err := filter.ParseRunning(text, host.Reasons().Names); err != nil {
			host.Complain(screen.FilterError(host.Theme().Words, err))
			return askFault(host, c, spec, text)
		}
		spec.Filter = text
		return Make(host, c, control.Spec{Fault: &spec})
	})
}

func (s *Screen) newFault() tea.Cmd {
	return Break(s.host, s.control, "", "", v1alpha1.FaultSpec{},
		screen.Choice{Title: "keep a cache behind",
			Help: "a watch cache hears nothing new, as long as the fault is there", Do: func() tea.Cmd {
				return askFault(s.host, s.control, v1alpha1.FaultSpec{Effect: v1alpha1.FaultStaleCache}, "resource:configmaps")
			}},
		screen.Choice{Title: "write it as YAML",
			Help: "all fields, in your editor: also how likely, and what the client is told", Do: s.writeFault})
}

func (s *Screen) writeFault() tea.Cmd {
	return s.host.Edit([]byte(template), ".yaml", func(edited []byte, err error) tea.Cmd {
		r, ok := s.parseEdit(edited, err)
		if !ok {
			return nil
		}
		return Make(s.host, s.control, r.Spec)
	})
}

// edit opens a rule as YAML in the editor.
func (s *Screen) edit(r control.Rule) tea.Cmd {
	data, err := control.YAML([]control.Rule{r})
	if err != nil {
		s.host.Complain(err.Error())
		return nil
	}
	return s.host.Edit(data, ".yaml", func(edited []byte, err error) tea.Cmd {
		changed, ok := s.parseEdit(edited, err)
		switch {
		case !ok || string(edited) == string(data):
			return nil
		case changed.Kind != r.Kind || changed.Name != r.Name:
			s.host.Complain(s.host.Theme().Words.Phrase("%s can't become %s: make another instead", r.Key, changed.Key))
			return nil
		}
		return s.replace(r, changed.Spec)
	})
}

// parseEdit parses an edited rule. It returns false for an empty file or a mistake.
func (s *Screen) parseEdit(data []byte, err error) (control.Rule, bool) {
	if err != nil {
		s.host.Complain(err.Error())
		return control.Rule{}, false
	}
	if len(data) == 0 {
		s.host.Say("nothing was made: the file is empty")
		return control.Rule{}, false
	}
	r, err := control.Parse(data)
	if err == nil {
		_, err = filter.ParseRunning(r.Filter(), s.host.Reasons().Names)
	}
	if err != nil {
		s.host.Complain(screen.FilterError(s.host.Theme().Words, err))
		return control.Rule{}, false
	}
	return r, true
}
