package capture

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"github.com/kx-apiserver/kx/core/filter"
	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/tui/api"
	"github.com/kx-apiserver/kx/tui/control"
	"github.com/kx-apiserver/kx/tui/keys"
)

// The commands that have something happen which would not by itself.
const (
	stealID   keys.ID = "what-if.steal"
	failID    keys.ID = "what-if.fail"
	editID    keys.ID = "what-if.edit"
	staleID   keys.ID = "what-if.stale-cache"
	compactID keys.ID = "what-if.compact"
	dropID    keys.ID = "what-if.drop-watch"
)

// whatIfCommands have hints for the line of state, where a request is held.
func (s *Screen) whatIfCommands() []keys.Command {
	return []keys.Command{
		{ID: stealID, Title: "steal the revision", Help: "Another writer commits first: an annotation of the object is changed, so that the held request meets a conflict.",
			Hint: "steal the revision", Contexts: keys.Panes, Keys: []string{"x"}, Enabled: s.whyNoSteal},
		{ID: failID, Title: "fail or delay this call", Help: "The step at which the request is held fails with a status of your choice, waits, or commits and then times out.",
			Hint: "fail or delay", Contexts: keys.Panes, Keys: []string{"X"}, Enabled: s.whyNotHeld},
		{ID: editID, Title: "edit the object in flight", Help: "Change the object of the held request, as YAML in your editor. Its journey says so for ever.",
			Hint: "edit object", Contexts: keys.Panes, Keys: []string{"e"}, Enabled: s.whyNoEdit},
		{ID: staleID, Title: "let the cache fall behind, or catch up", Help: "The watch cache of the request's resource hears nothing new, until you press it again.",
			Contexts: keys.Panes, Keys: []string{"L"}, Enabled: s.whyNoStale},
		{ID: compactID, Title: "compact etcd now", Help: "etcd forgets all before its present revision: lists and watches from earlier get 410 Gone.",
			Contexts: keys.Panes, Keys: []string{"ctrl+k"}, Enabled: s.whyNoFault},
		{ID: dropID, Title: "drop the watcher", Help: "End the watch under the cursor, without a word to its client.",
			Contexts: keys.Panes, Keys: []string{"K"}, Enabled: s.whyNoDrop},
	}
}

// whatIf does one of these commands. It says whether id is one.
func (s *Screen) whatIf(id keys.ID) (tea.Cmd, bool) {
	switch id {
	case stealID:
		return s.steal(), true
	case failID:
		return s.askFailure(), true
	case editID:
		return s.editObject(), true
	case staleID:
		return s.stale(), true
	case compactID:
		return s.host.Confirm("etcd forgets all before its present revision, for good. Compact?", s.compact), true
	case dropID:
		name := s.list.Selected().Name
		return s.tell(name, v1alpha1.JourneyCommandSpec{Action: v1alpha1.ActionDrop}), true
	}
	return nil, false
}

func (s *Screen) whyNoFault() string { return s.held.View().Refused[control.Fault] }

func (s *Screen) whyNoSteal() string {
	if why := s.whyNotHeld(); why != "" {
		return why
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

// steal has another writer commit first. The request stays held: n or c shows what it makes of that.
func (s *Screen) steal() tea.Cmd {
	j := s.list.Selected().Journey
	return s.telled(j.Name, "another writer has committed: let the request go on, and it meets a conflict",
		func(ctx context.Context) (*v1alpha1.Journey, error) {
			if err := s.held.Steal(ctx, j); err != nil {
				return nil, err
			}
			return s.session.Get(ctx, j.Name)
		})
}

// askFailure asks what goes wrong with the call at which the request is held.
func (s *Screen) askFailure() tea.Cmd {
	held := s.heldHere(s.heldAt())
	question, initial := "what goes wrong (a wait: 1s 5s, or timeout after commit):", "1s"
	if slices.Contains(held.Actions, v1alpha1.ActionFail) {
		question, initial = "what goes wrong (409 410 429 500 503 504, a wait: 1s 5s, or timeout after commit):", "503"
	}
	name, step := s.list.Selected().Name, held.Step
	return s.host.Ask(question, initial, func(text string) tea.Cmd {
		spec, err := readFailure(text)
		if err != nil {
			s.host.Complain(err.Error())
			return nil
		}
		spec.Step = &step
		if spec.Action == v1alpha1.ActionContinue {
			return s.timeOutAfterCommit(name, spec)
		}
		return s.tell(name, spec)
	})
}

// readFailure reads what goes wrong. Timeout after commit lets the request go on.
func readFailure(text string) (spec v1alpha1.JourneyCommandSpec, err error) {
	if text == "timeout" || text == "timeout after commit" {
		spec.Action = v1alpha1.ActionContinue
		return spec, nil
	}
	if code, err := strconv.Atoi(text); err == nil {
		if code < 400 || code > 599 {
			return spec, fmt.Errorf("%d is no HTTP status of an error: 400 to 599", code)
		}
		spec.Action, spec.Code = v1alpha1.ActionFail, int32(code)
		return spec, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		return spec, fmt.Errorf("%q: type a status such as 409, a time such as 1s, or timeout", text)
	}
	spec.Action, spec.Delay = v1alpha1.ActionDelay, &metav1.Duration{Duration: d}
	return spec, nil
}

// timeOutAfterCommit lets a request go on and write, and its client be told 504. It takes a fault for this request alone,
// which goes when the request has ended.
func (s *Screen) timeOutAfterCommit(name string, spec v1alpha1.JourneyCommandSpec) tea.Cmd {
	return s.telled(name, "", func(ctx context.Context) (*v1alpha1.Journey, error) {
		key, err := s.held.Add(ctx, control.Spec{Fault: &v1alpha1.FaultSpec{
			Effect: v1alpha1.FaultTimeoutAfterCommit, Filter: filter.Of("id", name), Count: 1,
		}})
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

// editObject lets the user edit the object of the held request, and sends what he changed.
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
		s.host.Complain("can't edit: " + err.Error())
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

// mergePatch is what makes of an object what it was edited to.
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

// ruledMsg says what came of a rule, or of another thing that is of no request.
type ruledMsg struct {
	did string
	err error
}

// stale lets the cache of the request's resource fall behind, or catch up if it does already.
func (s *Screen) stale() tea.Cmd {
	q := &s.list.Selected().Spec
	of := filter.Of("resource", q.Resource, "group", q.Group)
	what := q.Resource
	for _, r := range s.held.View().Rules {
		if r.On && r.Fault != nil && r.Fault.Effect == v1alpha1.FaultStaleCache && r.Fault.Filter == of {
			return s.rule(func(ctx context.Context) (string, error) {
				return "the cache of " + what + " catches up", s.held.Delete(ctx, r.Key)
			})
		}
	}
	return s.rule(func(ctx context.Context) (string, error) {
		key, err := s.held.Add(ctx, control.Spec{Fault: &v1alpha1.FaultSpec{Effect: v1alpha1.FaultStaleCache, Filter: of}})
		return fmt.Sprintf("the cache of %s hears nothing new: %s", what, key), err
	})
}

func (s *Screen) compact() tea.Cmd {
	return s.rule(func(ctx context.Context) (string, error) {
		revision, err := s.held.Compact(ctx)
		return fmt.Sprintf("etcd has forgotten all before revision %d", revision), err
	})
}

func (s *Screen) rule(f func(context.Context) (string, error)) tea.Cmd {
	return s.host.Do(func() tea.Msg {
		did, err := f(s.host.Context())
		return ruledMsg{did, err}
	})
}

func (s *Screen) ruled(msg ruledMsg) {
	switch {
	case errors.Is(msg.err, context.Canceled): // the program ends
	case api.Code(msg.err) == http.StatusNotFound:
		s.host.Complain("this server can't do that: " + control.Reason(msg.err))
	case msg.err != nil:
		s.host.Complain(control.Reason(msg.err))
	default:
		s.host.Say(msg.did)
	}
}
