package export

import (
	"fmt"
	"time"

	"github.com/kx-apiserver/kx/core/blame"
	"github.com/kx-apiserver/kx/core/escape"
	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/core/steps"
	"github.com/kx-apiserver/kx/tui/diff"
	"github.com/kx-apiserver/kx/tui/draw"
)

// node is a step with the steps that it called.
type node struct {
	*v1alpha1.Step
	Calls []*node
	// Done lists the interventions at the step.
	Done []string
}

// nodes returns the steps without a caller.
func nodes(j *v1alpha1.Journey) (roots []*node) {
	all := make([]*node, len(j.Status.Steps))
	for i := range j.Status.Steps {
		n := &node{Step: &j.Status.Steps[i]}
		all[i] = n
		if at := int(n.Parent); at >= 0 && at < i { // a step begins after its caller
			all[at].Calls = append(all[at].Calls, n)
		} else {
			roots = append(roots, n)
		}
	}
	for _, v := range j.Status.Interventions {
		if at := int(v.Step); at >= 0 && at < len(all) {
			all[at].Done = append(all[at].Done, fmt.Sprintf("%s: %s", v.Kind, v.Message))
		}
	}
	return roots
}

// passed reports whether the step is a filter that let the request pass.
func (n *node) passed() bool {
	return n.Layer == steps.LayerFilter.String() && n.Error == "" && len(n.Calls) == 0 && len(n.Done) == 0
}

// took returns the duration of the step, or "" while it runs.
func (n *node) took() string {
	if n.TookNanos < 0 {
		return ""
	}
	return draw.Duration(time.Duration(n.TookNanos))
}

// changes returns the diff of the step's change of the object. It returns nil without a change, and if a step below
// made the change.
func (n *node) changes() []diff.Line {
	if blame.CountChanges(n.Step) == 0 || n.below() {
		return nil
	}
	lines, changed, err := diff.Objects(n.Before.Raw, n.After.Raw, false)
	if err != nil || changed == 0 {
		return nil
	}
	return lines
}

// below reports whether a step below changed the object.
func (n *node) below() bool {
	for _, called := range n.Calls {
		if blame.CountChanges(called.Step) > 0 || called.below() {
			return true
		}
	}
	return false
}

// titleMost limits the characters of a title.
const titleMost = 200

// title returns the request and its answer on one line.
func (d *Document) title(j *v1alpha1.Journey) string {
	return d.side(j) + short(escape.Line(fmt.Sprintf("%s %s", j.Spec.Method, j.Spec.URI)), titleMost) + " — " + d.answer(j)
}

// answer describes the outcome of the request.
func (d *Document) answer(j *v1alpha1.Journey) string {
	s := &j.Status
	if s.Phase != v1alpha1.JourneyComplete {
		return escape.Line(string(s.Phase))
	}
	text := fmt.Sprint(s.Code)
	if s.WatchError != 0 {
		text += d.Language.Phrase(", then %d", s.WatchError)
	}
	return text + ", " + draw.Duration(time.Duration(s.TookMicros)*time.Microsecond)
}

// short cuts a text after most characters.
func short(text string, most int) string {
	n := 0
	for i := range text {
		if n++; n > most {
			return text[:i] + "…"
		}
	}
	return text
}

// heading returns the title of a document.
func (d *Document) heading(pieces int) string {
	if d.Both {
		return d.Language.Phrase("Two requests, and where they part")
	}
	if len(d.Journeys) == 1 {
		return d.title(d.Journeys[0])
	}
	return d.count(pieces)
}

// origin describes the source of the journeys.
func (d *Document) origin() string {
	l := d.Language
	text := l.Phrase("kx wrote this")
	if !d.Saved.IsZero() {
		text = l.Phrase("kx wrote this at %s", d.Saved.UTC().Format(time.RFC3339))
	}
	if d.Server != "" {
		text += l.Phrase(", from %s", escape.Line(d.Server))
	}
	return text + l.Phrase(".")
}
