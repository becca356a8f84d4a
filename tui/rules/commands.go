package rules

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/kx-apiserver/kx/core/filter"
	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/tui/control"
	"github.com/kx-apiserver/kx/tui/keys"
	"github.com/kx-apiserver/kx/tui/screen"
)

func (s *Screen) Commands() []keys.Command {
	return slices.Concat(s.makeCommands(), s.ruleCommands())
}

// makeCommands make rules, and continue requests.
func (s *Screen) makeCommands() []keys.Command {
	held, both := []keys.Context{heldPane}, s.Panes()
	return []keys.Command{
		{ID: "breakpoints.new", Meaning: keys.Break, Contexts: both, Hint: "break",
			WhyNot: keys.Bind(s.refusalOf, control.Breakpoint), Do: keys.Bind(s.ask, v1alpha1.BreakpointHold),
			Help: "Hold the requests that reach a step. Type which, such as: step:etcd.txn resource:configmaps"},
		{ID: "breakpoints.new-tracepoint", Meaning: keys.Trace, Contexts: both, WhyNot: keys.Bind(s.refusalOf, control.Breakpoint),
			Do:   keys.Bind(s.ask, v1alpha1.BreakpointTrace),
			Help: "Count the requests that reach a step and note it in their journeys, without holding them."},
		{ID: "breakpoints.new-fault", Meaning: keys.GoWrong, Contexts: both, Hint: "fault",
			WhyNot: keys.Bind(s.refusalOf, control.Fault), Do: s.newFault,
			Help: "Make requests fail or wait, have events of watches come later, or have answers come from an old cache. Choose from a " +
				"menu, or write YAML."},
		{ID: "breakpoints.continue", Meaning: keys.Continue, Contexts: held, Hint: "continue", WhyNot: s.anyHeld, Do: s.letGo,
			Help: "Let the request under the cursor run to the next breakpoint, or to its end."},
		{ID: "breakpoints.continue-all", Meaning: keys.ContinueAll, Contexts: both, Hint: "continue all",
			WhyNot: s.anyHeld, Do: s.continueAll,
			Help: "Let all held requests run to the next breakpoint, or to their ends."},
		{ID: "breakpoints.copy-all", Meaning: keys.CopyCommand, Contexts: both, WhyNot: s.noRule, Do: s.copyCommand,
			Help: "Copy a command for a shell that makes all rules with kubectl create -f."},
	}
}

// ruleCommands change the rule under the cursor.
func (s *Screen) ruleCommands() []keys.Command {
	in := []keys.Context{rulesPane}
	return []keys.Command{
		{ID: "breakpoints.toggle", Meaning: keys.Switch, Contexts: in, Hint: "on/off", WhyNot: s.noRule, Do: s.toRule(s.toggle),
			Help: "Switch the rule on or off. Off, the server no longer has it, and what it holds goes on."},
		{ID: "breakpoints.delete", Meaning: keys.Remove, Contexts: in, Hint: "delete", WhyNot: s.noRule, Do: s.toRule(s.delete),
			Help: "Delete the rule. What it holds goes on."},
		{ID: "breakpoints.filter", Meaning: keys.Narrow, Contexts: in, Hint: "filter", WhyNot: s.noRule, Do: s.toRule(s.askFilter),
			Help: "Change the filter of the rule: the steps that it is about."},
		{ID: "breakpoints.edit", Meaning: keys.Edit, Contexts: in, Hint: "edit", WhyNot: s.noRule, Do: s.toRule(s.edit),
			Help: "Change all fields of the rule as YAML, in your editor. What it holds goes on."},
		{ID: "breakpoints.edge", Meaning: keys.OtherSide, Contexts: in, WhyNot: s.hasEdge, Do: s.toRule(s.turn),
			Help: "Turn between the start of the step and its end. At the end, a filter can ask for its result: why, error."},
		{ID: "breakpoints.count", Meaning: keys.Count, Contexts: in, WhyNot: s.noRule, Do: s.toRule(s.editCounts),
			Help: "Change how many matches pass first, and how many the rule hits at most."},
	}
}

// toRule makes a command that acts on the rule under the cursor.
func (s *Screen) toRule(do func(control.Rule) tea.Cmd) func() tea.Cmd {
	return func() tea.Cmd {
		r, _ := s.selected()
		return do(r)
	}
}

// refusalOf returns the reason why the user may not make rules of a kind.
func (s *Screen) refusalOf(kind control.Kind) string { return s.view.Refused[kind] }

func (s *Screen) ask(action v1alpha1.BreakpointAction) tea.Cmd {
	return Ask(s.host, s.control, action, "")
}

func (s *Screen) continueAll() tea.Cmd { return ContinueAll(s.host, s.control) }

func (s *Screen) noRule() string {
	if _, ok := s.selected(); !ok {
		return "there is no rule"
	}
	return ""
}

func (s *Screen) anyHeld() string {
	if len(s.view.Held) == 0 {
		return "no request is held"
	}
	return ""
}

func (s *Screen) hasEdge() string {
	r, ok := s.selected()
	switch {
	case !ok:
		return "there is no rule"
	case r.Fault != nil && r.Fault.Effect != v1alpha1.FaultDelay && r.Fault.Effect != v1alpha1.FaultFail:
		return s.host.Theme().Words.Phrase("%s has its own place", r.Fault.Effect)
	}
	return ""
}

func (s *Screen) Handle(id keys.ID) (tea.Cmd, bool) {
	if cmd, ok := s.Split.Handle(id); ok {
		return cmd, true
	}
	switch id {
	case keys.Open:
		return s.toRule(s.open)(), true
	case keys.Copy:
		return s.toRule(s.copy)(), true
	}
	return nil, false
}

// open leads to the request under the cursor, or to the last request that matched the rule.
func (s *Screen) open(r control.Rule) tea.Cmd {
	if s.onHeld() {
		j := s.selectedHeld()
		if j == nil {
			s.host.Complain("can't open: no request is held")
			return nil
		}
		return s.host.Go(screen.ToRequest{Journey: j.Name})
	}
	switch hit := r.Status.LastHit; {
	case hit == nil:
		s.host.Complain("can't open: the rule has not met any request")
	case hit.Journey == "":
		s.host.Complain(s.host.Theme().Words.Phrase("can't open: it met a watch cache last, at %s, and no request", hit.Step))
	default:
		return s.host.Go(screen.ToRequest{Journey: hit.Journey, Step: hit.Step})
	}
	return nil
}

func (s *Screen) copy(r control.Rule) tea.Cmd {
	if s.onHeld() {
		if j := s.selectedHeld(); j != nil {
			return s.host.Copy(j.Name)
		}
		s.host.Complain("can't copy: no request is held")
		return nil
	}
	if r.Name == "" {
		s.host.Complain("can't copy: there is no rule")
		return nil
	}
	return s.copyYAML("", "", r)
}

// copyCommand copies a shell command that makes all rules.
func (s *Screen) copyCommand() tea.Cmd {
	const end = "END_OF_RULES"
	return s.copyYAML("kubectl create -f - <<'"+end+"'\n", end+"\n", s.view.Rules...)
}

// copyYAML copies rules as YAML, between two texts.
func (s *Screen) copyYAML(before, after string, rules ...control.Rule) tea.Cmd {
	data, err := control.YAML(rules)
	if err != nil {
		s.host.Complain(err.Error())
		return nil
	}
	return s.host.Copy(before + string(data) + after)
}

// do runs f in the background, and reports its result.
func do(host screen.Host, f func(context.Context) (did string, err error)) tea.Cmd {
	return screen.Do(host, func() (string, error) { return f(host.Context()) }, func(did string, err error) tea.Cmd {
		switch {
		case errors.Is(err, context.Canceled): // the program ends
		case err != nil:
			host.Complain(control.Reason(err))
		case did != "":
			host.Say(did)
		}
		return nil
	})
}

func (s *Screen) toggle(r control.Rule) tea.Cmd {
	words := s.host.Theme().Words
	return do(s.host, func(ctx context.Context) (string, error) {
		on := !r.On
		return words.Phrase("%s is %s", r.Key, words.Text(map[bool]string{true: "on", false: "off"}[on])), s.control.Switch(ctx, r, on)
	})
}

func (s *Screen) delete(r control.Rule) tea.Cmd {
	words := s.host.Theme().Words
	return do(s.host, func(ctx context.Context) (string, error) {
		return words.Phrase("%s is deleted", r.Key), s.control.Delete(ctx, r.Key)
	})
}

func (s *Screen) replace(r control.Rule, spec control.Spec) tea.Cmd {
	words := s.host.Theme().Words
	return do(s.host, func(ctx context.Context) (string, error) {
		return words.Phrase("%s is changed", r.Key), s.control.Replace(ctx, r, spec)
	})
}

// turn moves the rule to the other end of the step.
func (s *Screen) turn(r control.Rule) tea.Cmd { return s.replace(r, otherEdge(r.Spec)) }

func otherEdge(spec control.Spec) control.Spec {
	edge := v1alpha1.AtEnd
	if spec.Edge() == v1alpha1.AtEnd {
		edge = v1alpha1.AtStart
	}
	return change(spec, func(b *v1alpha1.BreakpointSpec) { b.At = edge }, func(f *v1alpha1.FaultSpec) { f.At = edge })
}

// change returns a copy of spec with a change to its breakpoint or fault.
func change(spec control.Spec, breakpoint func(*v1alpha1.BreakpointSpec), fault func(*v1alpha1.FaultSpec)) control.Spec {
	if spec.Fault != nil {
		changed := *spec.Fault
		fault(&changed)
		return control.Spec{Fault: &changed}
	}
	changed := *spec.Breakpoint
	breakpoint(&changed)
	return control.Spec{Breakpoint: &changed}
}

func (s *Screen) askFilter(r control.Rule) tea.Cmd { return s.editFilter(r, r.Filter()) }

func (s *Screen) editFilter(r control.Rule, initial string) tea.Cmd {
	return s.host.Ask(s.host.Theme().Words.Phrase("which steps:"), initial, func(text string) tea.Cmd {
		if _, err := filter.ParseRunning(text, s.host.Reasons().Names); err != nil {
			s.host.Complain(screen.FilterError(s.host.Theme().Words, err))
			return s.editFilter(r, text)
		}
		return s.replace(r, change(r.Spec, func(b *v1alpha1.BreakpointSpec) { b.Filter = text },
			func(f *v1alpha1.FaultSpec) { f.Filter = text }))
	})
}

func (s *Screen) editCounts(r control.Rule) tea.Cmd {
	skip, count := r.Counts()
	return s.host.Ask(s.host.Theme().Words.Phrase("matches that pass first, and hits at most (0: no limit):"),
		fmt.Sprintf("%d %d", skip, count), func(text string) tea.Cmd {
			skip, count, err := readCounts(text)
			if err != nil {
				s.host.Complain(err.Error())
				return nil
			}
			return s.replace(r, change(r.Spec,
				func(b *v1alpha1.BreakpointSpec) { b.Skip, b.Count = skip, count },
				func(f *v1alpha1.FaultSpec) { f.Skip, f.Count = skip, count }))
		})
}

func readCounts(text string) (skip, count int64, err error) {
	words := strings.Fields(text)
	if len(words) != 2 {
		return 0, 0, fmt.Errorf("%q: it must be two numbers, such as 10 1", text)
	}
	for i, at := range []*int64{&skip, &count} {
		if *at, err = strconv.ParseInt(words[i], 10, 64); err != nil || *at < 0 {
			return 0, 0, fmt.Errorf("%q must be a number, 0 or more", words[i])
		}
	}
	return skip, count, nil
}

// letGo continues the held request under the cursor.
func (s *Screen) letGo() tea.Cmd {
	j, words := s.selectedHeld(), s.host.Theme().Words
	return do(s.host, func(ctx context.Context) (string, error) {
		_, err := s.control.Tell(ctx, j.Name, v1alpha1.JourneyCommandSpec{Action: v1alpha1.ActionContinue})
		return words.Phrase("%s goes on", j.Name), err
	})
}

// ContinueAll continues all held requests.
func ContinueAll(host screen.Host, c *control.Control) tea.Cmd {
	words := host.Theme().Words
	return do(host, func(ctx context.Context) (string, error) {
		n, err := c.ContinueAll(ctx)
		return words.Phrase("continued: %d", n), err
	})
}
