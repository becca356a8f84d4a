package rules

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/kx-apiserver/kx/core/filter"
	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/tui/control"
	"github.com/kx-apiserver/kx/tui/keys"
	"github.com/kx-apiserver/kx/tui/screen"
)

// The commands of the screen.
const (
	breakID    keys.ID = "breakpoints.new"
	traceID    keys.ID = "breakpoints.new-tracepoint"
	faultID    keys.ID = "breakpoints.new-fault"
	toggleID   keys.ID = "breakpoints.toggle"
	deleteID   keys.ID = "breakpoints.delete"
	editID     keys.ID = "breakpoints.edit"
	filterID   keys.ID = "breakpoints.filter"
	edgeID     keys.ID = "breakpoints.edge"
	countID    keys.ID = "breakpoints.count"
	copyAllID  keys.ID = "breakpoints.copy-all"
	continueID keys.ID = "breakpoints.continue"
	allID      keys.ID = "breakpoints.continue-all"
)

// Commands implements screen.Screen.
func (s *Screen) Commands() []keys.Command {
	rules, held, both := []keys.Context{rulesPane}, []keys.Context{heldPane}, s.Contexts()
	one := func() string {
		if _, ok := s.selected(); !ok {
			return "there is no rule"
		}
		return ""
	}
	may := func(kind control.Kind) func() string { return func() string { return s.view.Refused[kind] } }
	return []keys.Command{
		{ID: breakID, Title: "make a breakpoint", Help: "Hold the requests that reach a step. Type which, such as: step:etcd.txn resource:configmaps", Hint: "break",
			Contexts: both, Keys: []string{"b"}, Enabled: may(control.Breakpoint)},
		{ID: traceID, Title: "make a tracepoint", Help: "Count the requests that reach a step, and note it in their journeys, without holding them.",
			Contexts: both, Keys: []string{"t"}, Enabled: may(control.Breakpoint)},
		{ID: faultID, Title: "make a fault", Help: "Have requests fail, wait, or be answered from an old cache: chosen from a menu, or written as YAML.", Hint: "fault",
			Contexts: both, Keys: []string{"X"}, Enabled: may(control.Fault)},
		{ID: toggleID, Title: "switch the rule on or off", Help: "Off, it is deleted on the server and kept here, and what it holds goes on.", Hint: "on/off",
			Contexts: rules, Keys: []string{" "}, Enabled: one},
		{ID: deleteID, Title: "delete the rule", Help: "What it holds goes on.", Hint: "delete", Contexts: rules, Keys: []string{"d"}, Enabled: one},
		{ID: filterID, Title: "change which steps it is about", Help: "Edit the filter of the rule.", Hint: "filter", Contexts: rules, Keys: []string{"/"}, Enabled: one},
		{ID: editID, Title: "edit the rule as YAML", Help: "All fields, in your editor. What the rule holds goes on.", Hint: "edit", Contexts: rules, Keys: []string{"e"}, Enabled: one},
		{ID: edgeID, Title: "change between start and end of the step", Help: "At its end a step has done its work, and its result can be asked for: why, error.",
			Contexts: rules, Keys: []string{"@"}, Enabled: s.hasEdge},
		{ID: countID, Title: "change how many matches count", Help: "How many matches pass first, and how many are hit at most.",
			Contexts: rules, Keys: []string{"#"}, Enabled: one},
		{ID: copyAllID, Title: "copy all rules as YAML", Help: "Put all rules on the clipboard, as kubectl create -f takes them.", Contexts: both, Keys: []string{"Y"}, Enabled: one},
		{ID: continueID, Title: "let the request go on", Help: "To the next breakpoint, or to its end.", Hint: "continue", Contexts: held, Keys: []string{"c"},
			Enabled: s.anyHeld},
		{ID: allID, Title: "let all requests go on", Help: "All that are held, to the next breakpoint or to their ends.", Hint: "continue all", Contexts: both, Keys: []string{"C"},
			Enabled: s.anyHeld},
	}
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
		return fmt.Sprintf("%s has its own place", r.Fault.Effect)
	}
	return ""
}

// Handle implements screen.Screen.
func (s *Screen) Handle(id keys.ID) (tea.Cmd, bool) {
	if cmd, ok := s.Split.Handle(id); ok {
		return cmd, true
	}
	r, _ := s.selected()
	switch id {
	case keys.Open:
		return s.open(r), true
	case keys.Copy:
		return s.copy(r), true
	case breakID:
		return Ask(s.host, s.control, v1alpha1.BreakpointHold, ""), true
	case traceID:
		return Ask(s.host, s.control, v1alpha1.BreakpointTrace, ""), true
	case faultID:
		return s.newFault(), true
	case toggleID:
		return s.toggle(r), true
	case deleteID:
		return s.delete(r), true
	case filterID:
		return s.editFilter(r, r.Filter()), true
	case editID:
		return s.edit(r), true
	case edgeID:
		return s.replace(r, otherEdge(r.Spec)), true
	case countID:
		return s.editCounts(r), true
	case copyAllID:
		return s.copyYAML(s.view.Rules), true
	case continueID:
		return s.letGo(s.selectedHeld()), true
	case allID:
		return ContinueAll(s.host, s.control), true
	}
	return nil, false
}

// open leads to the request under the cursor, or to the one that the rule met last.
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
		s.host.Complain("can't open: it met a watch cache last, at " + hit.Step + ", and no request")
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
	return s.copyYAML([]control.Rule{r})
}

func (s *Screen) copyYAML(rules []control.Rule) tea.Cmd {
	data, err := control.YAML(rules)
	if err != nil {
		s.host.Complain(err.Error())
		return nil
	}
	return s.host.Copy(string(data))
}

// do asks the server for something, and says what came of it.
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
	return do(s.host, func(ctx context.Context) (string, error) {
		on := !r.On
		return fmt.Sprintf("%s is %s", r.Key, map[bool]string{true: "on", false: "off"}[on]), s.control.Switch(ctx, r, on)
	})
}

func (s *Screen) delete(r control.Rule) tea.Cmd {
	return do(s.host, func(ctx context.Context) (string, error) {
		return fmt.Sprintf("%s is deleted", r.Key), s.control.Delete(ctx, r.Key)
	})
}

func (s *Screen) replace(r control.Rule, spec control.Spec) tea.Cmd {
	return do(s.host, func(ctx context.Context) (string, error) {
		return fmt.Sprintf("%s is changed", r.Key), s.control.Replace(ctx, r, spec)
	})
}

func otherEdge(spec control.Spec) control.Spec {
	edge := v1alpha1.AtEnd
	if spec.Edge() == v1alpha1.AtEnd {
		edge = v1alpha1.AtStart
	}
	return change(spec, func(b *v1alpha1.BreakpointSpec) { b.At = edge }, func(f *v1alpha1.FaultSpec) { f.At = edge })
}

// change is a copy of spec with a change to whichever of the two it is.
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

func (s *Screen) editFilter(r control.Rule, initial string) tea.Cmd {
	return s.host.Ask("which steps:", initial, func(text string) tea.Cmd {
		if _, err := filter.Parse(text); err != nil {
			s.host.Complain(err.Error())
			return s.editFilter(r, text)
		}
		return s.replace(r, change(r.Spec, func(b *v1alpha1.BreakpointSpec) { b.Filter = text }, func(f *v1alpha1.FaultSpec) { f.Filter = text }))
	})
}

func (s *Screen) editCounts(r control.Rule) tea.Cmd {
	skip, count := r.Counts()
	return s.host.Ask("matches that pass first, and hits at most (0: no limit):", fmt.Sprintf("%d %d", skip, count), func(text string) tea.Cmd {
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

func (s *Screen) letGo(j *v1alpha1.Journey) tea.Cmd {
	return do(s.host, func(ctx context.Context) (string, error) {
		_, err := s.control.Tell(ctx, j.Name, v1alpha1.JourneyCommandSpec{Action: v1alpha1.ActionContinue})
		return j.Name + " goes on", err
	})
}

// ContinueAll lets all go on that are held.
func ContinueAll(host screen.Host, c *control.Control) tea.Cmd {
	return do(host, func(ctx context.Context) (string, error) {
		n, err := c.ContinueAll(ctx)
		return fmt.Sprintf("continued: %d", n), err
	})
}
