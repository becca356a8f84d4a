package capture

import (
	"context"
	"errors"
	"fmt"
	"slices"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/kx-apiserver/kx/core/filter"
	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/tui/control"
	"github.com/kx-apiserver/kx/tui/keys"
	"github.com/kx-apiserver/kx/tui/rules"
	"github.com/kx-apiserver/kx/tui/screen"
)

// whyNoBreaking returns the reason why no failure can be injected at the step under the cursor.
func (s *Screen) whyNoBreaking() string {
	if s.whyNotHeld() == "" {
		return ""
	}
	if why := s.whyNoFault(); why != "" {
		return why
	}
	if s.steps.Mark() >= 0 {
		return s.phrase("this is what a watch cache does for all requests: %s keeps it behind, and %s has all faults",
			keys.StaleCache.Key(), keys.ToRules.Key())
	}
	return s.whyNoRequest()
}

// breakHere offers failures to inject: into the call at which the request is held, or else, once, at the step under
// the cursor of requests like this one.
func (s *Screen) breakHere() tea.Cmd {
	row := s.list.Selected()
	held := s.heldAt()
	if len(held) == 0 {
		once := v1alpha1.FaultSpec{Filter: s.filterHere(), Count: 1}
		return rules.Break(s.host, s.held, s.stepHere(), row.Spec.Verb, once, s.cacheChoice())
	}
	h := s.heldHere(held)
	menu := screen.Menu{Title: s.phrase("What goes wrong at %d %s of %s", h.Step+1, h.ID, row.Name), Hint: rules.Hint(row.Spec.Verb)}
	if slices.Contains([]string{"update", "patch", "delete"}, row.Spec.Verb) {
		menu.Choices = append(menu.Choices, screen.Choice{
			Title: s.phrase("lose the race"), Help: s.phrase("another writer commits first; the request stays held"),
			Why: s.whyNoSteal(), Do: s.steal,
		})
	}
	for _, e := range rules.Effects("", row.Spec.Verb) {
		if c, ok := s.breakChoice(row.Name, h, e); ok {
			menu.Choices = append(menu.Choices, c)
		}
	}
	menu.Choices = append(menu.Choices, s.cacheChoice())
	menu.Typed = func(text string) (screen.Choice, error) {
		e, err := rules.ReadEffect("", row.Spec.Verb, text)
		if err != nil {
			return screen.Choice{}, err
		}
		c, ok := s.breakChoice(row.Name, h, e)
		if !ok {
			return c, fmt.Errorf("%s can't be made to fail: type a time, such as 250ms", h.ID)
		}
		return c, nil
	}
	return s.host.Choose(menu)
}

// breakChoice makes a choice that injects an effect where a request is held. It reports whether that is possible.
func (s *Screen) breakChoice(name string, h *v1alpha1.HeldStep, e rules.Effect) (screen.Choice, bool) {
	c := screen.Choice{Title: e.Title, Help: e.Help}
	spec := v1alpha1.JourneyCommandSpec{Step: &h.Step}
	switch e.Fault.Effect {
	case v1alpha1.FaultFail:
		spec.Action, spec.Code = v1alpha1.ActionFail, e.Fault.Code
		if !slices.Contains(h.Actions, v1alpha1.ActionFail) {
			return c, false
		}
	case v1alpha1.FaultDelay:
		spec.Action, spec.Delay = v1alpha1.ActionDelay, e.Fault.Delay
	case v1alpha1.FaultDropWatch:
		spec.Action, spec.Step, c.Why = v1alpha1.ActionDrop, nil, s.whyNoDrop()
	case v1alpha1.FaultTimeoutAfterCommit, v1alpha1.FaultWebhookDown, v1alpha1.FaultLag:
		if e.Fault.Outage != "" && !rules.CallsWebhook(h.ID) {
			return c, false
		}
		spec.Action, c.Why = v1alpha1.ActionContinue, s.whyNoFault()
		c.Do = func() tea.Cmd { return s.goOnToFault(name, spec, e.Fault) }
		return c, true
	}
	c.Do = func() tea.Cmd { return s.tell(name, spec) }
	return c, true
}

// cacheChoice is the choice that keeps the cache behind, or makes it catch up.
func (s *Screen) cacheChoice() screen.Choice {
	c := screen.Choice{Title: s.phrase("keep the cache behind"),
		Help: s.phrase("it hears nothing new until you press %s again", keys.StaleCache.Key()), Why: s.whyNoStale(), Do: s.stale}
	if _, behind := s.staleRule(); behind {
		c.Title, c.Help = s.phrase("let the cache catch up"), s.phrase("it hears what is new again")
	}
	return c
}

// goOnToFault continues a request so that it meets a fault on its way. It makes the fault for this request alone, and
// it goes when the request has ended.
func (s *Screen) goOnToFault(name string, spec v1alpha1.JourneyCommandSpec, fault v1alpha1.FaultSpec) tea.Cmd {
	return s.command(name, "", func(ctx context.Context) (*v1alpha1.Journey, error) {
		fault.Filter, fault.Count = filter.Compose("id", name), 1
		key, err := s.held.Add(ctx, control.Spec{Fault: &fault})
		if err != nil {
			return nil, err
		}
		j, err := s.held.Tell(ctx, name, spec)
		if err != nil || j.Status.Phase == v1alpha1.JourneyComplete {
			err = errors.Join(err, s.held.Delete(ctx, key))
		}
		return j, err
	})
}
