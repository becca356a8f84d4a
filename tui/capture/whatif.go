package capture

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"

	tea "github.com/charmbracelet/bubbletea"
	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/kx-apiserver/kx/core/blame"
	"github.com/kx-apiserver/kx/core/filter"
	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/core/steps"
	"github.com/kx-apiserver/kx/tui/api"
	"github.com/kx-apiserver/kx/tui/control"
	"github.com/kx-apiserver/kx/tui/keys"
	"github.com/kx-apiserver/kx/tui/screen"
)

// whatIfCommands inject events: failures, conflicts, edits. Their hints are for the line of state of a held request.
func (s *Screen) whatIfCommands() []keys.Command {
	return []keys.Command{
		{ID: "what-if.steal", Meaning: keys.Steal, Contexts: keys.Panes, Hint: "steal the revision", WhyNot: s.whyNoSteal, Do: s.steal,
			Help: "Have another writer commit first: it changes an annotation of the object, so that the held request meets a conflict."},
		{ID: failID, Meaning: keys.GoWrong, Contexts: keys.Panes, Hint: "break this step", WhyNot: s.whyNoBreaking, Do: s.breakHere,
			Help: "Choose what goes wrong at the step: it fails, waits, loses a race, is dropped, or its events come later. " +
				"A held request meets it at once, else the next one like this."},
		{ID: "what-if.edit", Meaning: keys.Edit, Contexts: keys.Panes, Hint: "edit object", WhyNot: s.whyNoEdit, Do: s.editObject,
			Help: "Change the object of the held request as YAML in your editor. Its journey records that."},
		{ID: "what-if.stale-cache", Meaning: keys.StaleCache, Contexts: keys.Panes, WhyNot: s.whyNoStale, Do: s.stale,
			Help: "Keep new events from the watch cache of the request's resource, until you press it again."},
		{ID: "what-if.compact", Meaning: keys.Compact, Contexts: keys.Panes, WhyNot: s.whyNoFault, Do: s.askCompact,
			Help: "Make etcd forget what was before its present revision. Lists and watches from before get 410 Gone."},
		{ID: "what-if.drop-watch", Meaning: keys.End, Contexts: keys.Panes, WhyNot: s.whyNoDrop, Do: s.dropWatch,
			Help: "End the watch under the cursor without a word to its client."},
	}
}

// failID is the command whose menu leads to the others.
const failID keys.ID = "what-if.fail"

func (s *Screen) askCompact() tea.Cmd {
	return s.host.Confirm(s.phrase("etcd forgets all before its present revision, for good. Compact?"), s.compact)
}

func (s *Screen) dropWatch() tea.Cmd {
	return s.tell(s.list.Selected().Name, v1alpha1.JourneyCommandSpec{Action: v1alpha1.ActionDrop})
}

func (s *Screen) whyNoFault() string { return s.held.View().Refused[control.Fault] }

func (s *Screen) whyNoSteal() string {
	if why := s.whyNotHeld(); why != "" {
		return why
	}
	switch q := &s.list.Selected().Spec; {
	case q.Verb == "get":
		return "a read meets no conflict"
	case s.hasWritten():
		return "the request has written already: no conflict can come any more"
	}
	if _, _, _, _, ok := v1alpha1.Steal(s.list.Selected().Journey); !ok {
		return "only a request about one object that is there can lose its revision"
	}
	return ""
}

func (s *Screen) whyNoEdit() string {
	held := s.heldAt()
	switch {
	case len(held) == 0:
		return "the request is not held"
	case !slices.Contains(s.heldHere(held).Actions, v1alpha1.ActionEdit):
		return "this step has no object that can be edited: store.before-create and store.before-update have"
	}
	return ""
}

func (s *Screen) whyNoStale() string {
	if why := s.whyNoFault(); why != "" {
		return why
	}
	if row := s.list.Selected(); row == nil || row.Spec.Resource == "" {
		return "there is no request about a resource"
	}
	return ""
}

func (s *Screen) whyNoDrop() string {
	if why := s.whyNoFault(); why != "" {
		return why
	}
	if row := s.list.Selected(); row == nil || row.Spec.Verb != "watch" || row.Status.Phase == v1alpha1.JourneyComplete {
		return "the request is no watch that runs"
	}
	return ""
}

// hasWritten reports whether the open request has written its object.
func (s *Screen) hasWritten() bool {
	return s.tookStep(func(step *v1alpha1.Step) bool {
		_, _, wrote := blame.StepWrite(step)
		return wrote
	})
}

// hasRead reports whether the open request has decided on a state of its object: another write makes that state stale.
func (s *Screen) hasRead() bool {
	return s.tookStep(func(step *v1alpha1.Step) bool { return step.ID == steps.StoreTryUpdate.String() })
}

// tookStep reports whether the open request took such a step before the one that holds it.
func (s *Screen) tookStep(yes func(*v1alpha1.Step) bool) bool {
	j, held := s.open.journey, s.heldAt()
	if j == nil || j.Name != s.list.Selected().Name || len(held) == 0 {
		return false
	}
	here := s.heldHere(held)
	for i := range j.Status.Steps {
		if before := i < int(here.Step) || i == int(here.Step) && here.At == v1alpha1.AtEnd; before && yes(&j.Status.Steps[i]) {
			return true
		}
	}
	return false
}

// steal makes another writer commit first. The request stays held: n or c shows how it handles the conflict.
func (s *Screen) steal() tea.Cmd {
	j := s.list.Selected().Journey
	s.running = running{id: j.Name, stolen: true}
	did := s.phrase("another writer has committed: let the request go on, and it meets a conflict")
	if !s.hasRead() {
		did = s.phrase("another writer has committed: the request has not read the object yet, " +
			"and meets a conflict only if it names a revision")
	}
	return s.command(j.Name, did,
		func(ctx context.Context) (*v1alpha1.Journey, error) {
			if err := s.held.Steal(ctx, j); err != nil {
				return nil, err
			}
			return s.session.Get(ctx, j.Name)
		})
}

// editObject opens the object of the held request in the editor, and sends the user's changes.
func (s *Screen) editObject() tea.Cmd {
	held := s.heldHere(s.heldAt())
	j := s.open.journey
	if j == nil || int(held.Step) >= len(j.Status.Steps) || j.Status.Steps[held.Step].Before == nil {
		s.host.Complain("can't edit: the server does not record objects")
		return nil
	}
	name, step, before := j.Name, held.Step, j.Status.Steps[held.Step].Before.Raw
	text, err := yaml.JSONToYAML(before)
	if err != nil {
		s.host.Complain(s.phrase("can't edit: %s", err.Error()))
		return nil
	}
	return s.host.Edit(text, ".yaml", func(edited []byte, err error) tea.Cmd {
		var patch []byte
		if err == nil {
			patch, err = mergePatch(before, edited)
		}
		switch {
		case err != nil:
			s.host.Complain(err.Error())
			return nil
		case string(patch) == "{}":
			s.host.Say("nothing was changed")
			return nil
		}
		return s.tell(name, v1alpha1.JourneyCommandSpec{Action: v1alpha1.ActionEdit, Step: &step, Patch: &runtime.RawExtension{Raw: patch}})
	})
}

// mergePatch returns the patch from an object to its edited version.
func mergePatch(before, edited []byte) ([]byte, error) {
	after, err := yaml.YAMLToJSONStrict(edited)
	if err != nil {
		return nil, fmt.Errorf("read what was saved: %w", err)
	}
	patch, err := jsonpatch.CreateMergePatch(before, after)
	if err != nil {
		return nil, fmt.Errorf("find what was changed: %w", err)
	}
	return patch, nil
}

// stale keeps the cache of the request's resource behind, or lets it catch up again.
func (s *Screen) stale() tea.Cmd {
	what, words := s.list.Selected().Spec.Resource, s.host.Theme().Words
	if key, behind := s.staleRule(); behind {
		return s.rule(func(ctx context.Context) (string, error) {
			return words.Phrase("the cache of %s catches up", what), s.held.Delete(ctx, key)
		})
	}
	of := s.cacheFilter()
	return s.rule(func(ctx context.Context) (string, error) {
		key, err := s.held.Add(ctx, control.Spec{Fault: &v1alpha1.FaultSpec{Effect: v1alpha1.FaultStaleCache, Filter: of}})
		return words.Phrase("the cache of %s hears nothing new: %s", what, key), err
	})
}

// cacheFilter returns a filter for the cache of the request's resource.
func (s *Screen) cacheFilter() string {
	q := &s.list.Selected().Spec
	return filter.Compose("resource", q.Resource, "group", q.Group)
}

// staleRule returns the fault that keeps that cache behind, if there is one.
func (s *Screen) staleRule() (control.Key, bool) {
	if s.whyNoStale() != "" {
		return control.Key{}, false
	}
	of := s.cacheFilter()
	for _, r := range s.held.View().Rules {
		if r.On && r.Fault != nil && r.Fault.Effect == v1alpha1.FaultStaleCache && r.Fault.Filter == of {
			return r.Key, true
		}
	}
	return control.Key{}, false
}

func (s *Screen) compact() tea.Cmd {
	words := s.host.Theme().Words
	return s.rule(func(ctx context.Context) (string, error) {
		revision, err := s.held.Compact(ctx)
		return words.Phrase("etcd has forgotten all before revision %d", revision), err
	})
}

func (s *Screen) rule(f func(context.Context) (string, error)) tea.Cmd {
	return screen.Do(s.host, func() (string, error) { return f(s.host.Context()) }, func(did string, err error) tea.Cmd {
		switch {
		case errors.Is(err, context.Canceled): // the program ends
		case api.Code(err) == http.StatusNotFound:
			s.host.Complain(s.phrase("this server can't do that: %s", control.Reason(err)))
		case err != nil:
			s.host.Complain(control.Reason(err))
		default:
			s.host.Say(did)
		}
		return nil
	})
}
