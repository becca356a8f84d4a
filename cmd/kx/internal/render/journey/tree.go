package journey

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/core/refusal"
	"github.com/kx-apiserver/kx/core/steps"
	"github.com/kx-apiserver/kx/tui/diff"
	"github.com/kx-apiserver/kx/tui/draw"
)

// Brief writes a journey as one line.
func Brief(out io.Writer, j *v1alpha1.Journey, p Paint) {
	asked, took := 0, time.Duration(0)
	for i := range j.Status.Steps {
		if s := &j.Status.Steps[i]; s.Layer == steps.LayerEtcd.String() {
			asked++
			took += max(time.Duration(s.TookNanos), 0)
		}
	}
	line := head(j, p)
	if len(j.Status.Steps) > 0 {
		line += "  " + p.callCount(asked, took)
	}
	fmt.Fprintln(out, line+"  "+p.dim(draw.Clean(j.Name)))
}

// Line writes a journey without its steps as one line, with the time of the request.
func Line(out io.Writer, j *v1alpha1.Journey, p Paint) error {
	at := j.Status.Started.Local().Format("15:04:05.000000")
	_, err := fmt.Fprintf(out, "%s  %s  %s  %s\n", p.dim(at), head(j, p), draw.Clean(j.Spec.User), p.dim(draw.Clean(j.Name)))
	return err
}

// callCount describes the number of etcd calls and their duration.
func (p Paint) callCount(n int, took time.Duration) string {
	switch n {
	case 0:
		return p.words.Phrase("etcd asked never")
	case 1:
		return p.words.Phrase("etcd asked once for %s", draw.Duration(took))
	case 2:
		return p.words.Phrase("etcd asked twice for %s", draw.Duration(took))
	}
	return p.words.Phrase("etcd asked %d times for %s", n, draw.Duration(took))
}

// head describes the request and its outcome.
func head(j *v1alpha1.Journey, p Paint) string {
	s := &j.Spec
	what := p.bold(draw.Clean(s.Method + " " + s.URI))
	if j.Status.Phase == v1alpha1.JourneyRunning {
		return what + "  " + p.notes(p.words.Phrase("running"))
	}
	took := time.Duration(j.Status.TookMicros) * time.Microsecond
	if j.IsInstall() {
		return what + "  " + draw.Duration(took)
	}
	code := p.code(j.Status.Code, fmt.Sprint(j.Status.Code))
	if failed := j.Status.WatchError; failed != 0 {
		code += p.code(failed, p.words.Phrase(", then %d", failed))
	}
	return fmt.Sprintf("%s  %s  %s", what, code, draw.Duration(took))
}

// Tree writes a journey as a tree of its steps: layer, time, step, reason. If the request was refused, others holds the
// journeys that [refusal.RelatedRequests] selects.
func Tree(out io.Writer, j *v1alpha1.Journey, others []*v1alpha1.Journey, p Paint) {
	(&tree{out: out, j: j, others: others, p: p}).write()
}

// Objects writes a journey like Tree, and below each step its changes to the object. If width leaves room for the text,
// each step also shows its ID and function.
func Objects(out io.Writer, j *v1alpha1.Journey, others []*v1alpha1.Journey, p Paint, width int) {
	t := &tree{out: out, j: j, others: others, p: p, objects: true}
	t.nameSteps(width)
	t.write()
}

// tree writes one journey.
type tree struct {
	out      io.Writer
	j        *v1alpha1.Journey
	others   []*v1alpha1.Journey
	p        Paint
	objects  bool
	files    Files // the source to show; nil for none
	children map[int32][]int
	// ids and functions are the widths of the columns with the steps' names, or 0 without them.
	ids, functions int
}

const (
	// functionMost limits the shown part of a function's name. textLeast is the minimum width for a step's text
	// beside the names.
	functionMost = 48
	textLeast    = 80
)

// nameSteps adds columns for the steps' names, if lines of this width have room.
func (t *tree) nameSteps(width int) {
	ids, functions := 0, 0
	for i := range t.j.Status.Steps {
		s := &t.j.Status.Steps[i]
		ids = max(ids, draw.Width(draw.Clean(s.ID)))
		functions = min(max(functions, draw.Width(functionOf(s))), functionMost)
	}
	if width >= margin+ids+functions+4+textLeast {
		t.ids, t.functions = ids, functions
	}
}

// functionOf returns a step's function, with the package but without its path.
func functionOf(s *v1alpha1.Step) string {
	return draw.Clean(s.Function[strings.LastIndexByte(s.Function, '/')+1:])
}

// names returns the columns with a step's names. They are empty without a step.
func (t *tree) names(s *v1alpha1.Step) string {
	switch {
	case t.ids == 0:
		return ""
	case s == nil:
		return strings.Repeat(" ", t.ids+t.functions+4)
	}
	return draw.Fit(draw.Clean(s.ID), t.ids) + "  " + t.p.dim(draw.Fit(functionOf(s), t.functions)) + "  "
}

func (t *tree) write() {
	t.j = t.p.words.Journey(t.j)
	about := t.p.words.Phrase("%s, %d bytes, journey %s", draw.Clean(t.j.Spec.User), t.j.Status.Bytes, draw.Clean(t.j.Name))
	if t.j.IsInstall() {
		about = t.p.words.Phrase("%s, journey %s", draw.Clean(t.j.Spec.UserAgent), draw.Clean(t.j.Name))
	}
	t.put("", "  ", head(t.j, t.p)+"  "+t.p.dim(about))
	if c := t.j.Status.Cause; c != nil {
		fmt.Fprintln(t.out,
			"  "+t.p.dim(t.p.words.Phrase("cause: revision %d, which %s wrote", c.Revision, draw.Clean(cmp.Or(c.Journey, "?")))))
	}
	taken := t.j.Status.Steps
	t.children = map[int32][]int{}
	for i := range taken {
		parent := taken[i].Parent
		if parent < 0 || int(parent) >= i {
			parent = -1 // a step begins after its caller
		}
		t.children[parent] = append(t.children[parent], i)
	}
	t.roots(t.children[-1])
	t.writeRefusal()
	for _, m := range t.j.Status.Marks {
		t.line(nil, draw.Clean(m.Layer), time.Duration(m.AfterMicros)*time.Microsecond, "",
			t.p.words.Phrase("%s at revision %d", draw.Clean(m.Title), m.Revision), draw.Clean(m.Function))
	}
	for _, d := range t.j.Status.Deliveries {
		t.line(nil, "event", time.Duration(d.AfterMicros)*time.Microsecond, "",
			t.p.words.Phrase("%s at revision %d sent to %s", draw.Clean(d.Type), d.Revision, draw.Clean(d.User)), draw.Clean(d.UserAgent))
	}
	for i := range t.j.Status.Effects {
		e := &t.j.Status.Effects[i]
		t.line(nil, "effect", time.Duration(e.AfterMicros)*time.Microsecond, "", draw.Clean(effectText(e, t.p)), draw.Clean(e.Journey))
	}
	if t.j.Status.Cut > 0 {
		fmt.Fprintln(t.out, "  "+t.p.notes(t.p.words.Phrase("%d things are missing: the journey was full", t.j.Status.Cut)))
	}
}

// effectText describes the client and action of an effect.
func effectText(e *v1alpha1.Effect, p Paint) string {
	text := e.UserAgent + "  " + e.Verb + " " + e.Path()
	if e.Revision > 0 {
		text = p.words.Phrase("%s at revision %d", text, e.Revision)
	}
	return text
}

// writeRefusal writes the reason of a refusal, and its remedies.
func (t *tree) writeRefusal() {
	card := refusal.Explain(t.j, t.others, t.p.words)
	if card == nil {
		return
	}
	fmt.Fprintln(t.out, "  "+t.p.bad(draw.Clean(card.Title)))
	for _, f := range card.Facts {
		t.fact(f.Name, draw.Clean(f.Text))
	}
	if card.Next != "" {
		t.fact(t.p.words.Phrase("do"), t.p.notes(draw.Clean(card.Next)))
	}
}

// fact writes a fact of a card.
func (t *tree) fact(name, text string) {
	t.put("    "+t.p.dim(draw.Fit(name, factWidth))+"  ", strings.Repeat(" ", factWidth+6), text)
}

// factWidth is the width of the names of a card's facts.
const factWidth = 10

// roots writes the steps without a caller. Filters that let the request pass share one line.
func (t *tree) roots(roots []int) {
	taken := t.j.Status.Steps
	for i := 0; i < len(roots); {
		end, took := i, time.Duration(0)
		for ; end < len(roots) && t.passed(roots[end]); end++ {
			took += max(time.Duration(taken[roots[end]].TookNanos), 0)
		}
		if end-i > 1 && !t.objects {
			text := t.p.words.Phrase("%d filters let it pass", end-i)
			if n := t.details(roots[end:]); n > 0 {
				text += "; " + t.listDetails(roots[end:end+n])
				end += n
			}
			t.line(nil, steps.LayerFilter.String(), took, "", text, "")
			i = end
			continue
		}
		t.step(roots[i], "", "")
		i++
	}
}

// passed reports whether a step is a filter that let the request pass.
func (t *tree) passed(i int) bool {
	s := &t.j.Status.Steps[i]
	return s.Layer == steps.LayerFilter.String() && s.Error == "" && len(t.children[int32(i)]) == 0 && len(t.done(i)) == 0
}

// done lists the interventions at a step.
func (t *tree) done(i int) (done []string) {
	for _, v := range t.j.Status.Interventions {
		if int(v.Step) == i {
			done = append(done, draw.Clean(v.Kind+": "+v.Message))
		}
	}
	return done
}

// step writes a step and the steps that it called. here is drawn before the step, below before the lines under it.
func (t *tree) step(i int, here, below string) {
	s := &t.j.Status.Steps[i]
	text := draw.Clean(s.Title)
	if s.Subject != "" {
		text += " " + t.p.dim(draw.Clean(s.Subject))
	}
	reason := draw.Clean(s.Why)
	switch {
	case s.Error != "" && t.saidBelow(i):
		reason = t.p.bad("✗")
	case s.Error != "":
		reason = t.p.bad("✗ " + draw.Clean(s.Error))
	case reason != "":
		reason = t.p.notes("— " + reason)
	}
	t.line(s, s.Layer, time.Duration(s.TookNanos), here, text, reason)
	children := t.children[int32(i)]
	for _, done := range t.done(i) {
		rail := t.rail(below, len(children) > 0)
		t.put(rail, rail, t.p.notes("* "+done))
	}
	t.source(s, below, len(children) > 0)
	if t.objects {
		t.change(s, below, len(children) > 0)
	}
	for k := 0; k < len(children); {
		end := k + t.details(children[k:])
		here, under := below+"├ ", below+"│ "
		if max(end, k+1) == len(children) {
			here, under = below+"└ ", below+"  "
		}
		if end-k > 1 {
			t.detailLine(children[k:end], here)
			k = end
			continue
		}
		t.step(children[k], here, under)
		k++
	}
}

// saidBelow reports whether a step that the i-th step called failed with the same error, which is then written there.
func (t *tree) saidBelow(i int) bool {
	return slices.ContainsFunc(t.children[int32(i)],
		func(child int) bool { return t.j.Status.Steps[child].Error == t.j.Status.Steps[i].Error })
}

// details returns the number of leading steps that are details of their caller. They share one line.
func (t *tree) details(taken []int) (n int) {
	for !t.objects && n < len(taken) && t.detail(taken[n]) {
		n++
	}
	return n
}

// detail reports whether a step is fine-grained and succeeded.
func (t *tree) detail(i int) bool {
	s := &t.j.Status.Steps[i]
	return steps.InfoOf(s.ID).Fine && s.Error == "" && len(t.children[int32(i)]) == 0 && len(t.done(i)) == 0
}

func (t *tree) detailLine(taken []int, here string) {
	took := time.Duration(0)
	for _, i := range taken {
		took += max(time.Duration(t.j.Status.Steps[i].TookNanos), 0)
	}
	t.line(nil, t.j.Status.Steps[taken[0]].Layer, took, here, t.listDetails(taken), "")
}

// listDetails lists details.
func (t *tree) listDetails(taken []int) string {
	var names []string
	for _, i := range taken {
		names = append(names, draw.Clean(steps.Detail(t.j.Status.Steps[i].ID)))
	}
	return t.p.words.Phrase("details: %s", strings.Join(names, ", "))
}

func (t *tree) line(s *v1alpha1.Step, layer string, took time.Duration, rail, text, reason string) {
	lead := fmt.Sprintf("  %s %8s  %s", t.p.layer(fmt.Sprintf("%-9s", draw.Clean(layer))), draw.Duration(took), t.names(s))
	if reason != "" {
		text += " " + reason
	}
	t.put(lead+t.p.dim(rail), t.rail(under.Replace(rail), false), text)
}

// under turns the rail before a step into the one before the lines under it.
var under = strings.NewReplacer("├", "│", "└", " ")

// wrapLeast is the minimum width of wrapped text, however deep the step is.
const wrapLeast = 60

// put writes a text behind a lead. Where lines have a limit it wraps the text, and puts another lead before the further
// lines.
func (t *tree) put(lead, further, text string) {
	lines := []string{text}
	if t.p.cells > 0 {
		lines = draw.WrapPainted(text, max(t.p.cells-draw.Width(further), wrapLeast))
	}
	for _, line := range lines {
		fmt.Fprintln(t.out, lead+line)
		lead = further
	}
}

// margin is the width before the rail of a step, or before its names.
const margin = 2 + 9 + 1 + 8 + 2

// rail returns the text before the lines below a step.
func (t *tree) rail(below string, more bool) string {
	rail := strings.Repeat(" ", margin) + t.names(nil) + below + "  "
	if more {
		rail = strings.Repeat(" ", margin) + t.names(nil) + below + "│ "
	}
	return t.p.dim(rail)
}

// change writes a step's changes to the object.
func (t *tree) change(s *v1alpha1.Step, below string, more bool) {
	rail := t.rail(below, more)
	if s.Before == nil || s.After == nil {
		return
	}
	lines, changed, err := diff.Objects(s.Before.Raw, s.After.Raw, false)
	switch {
	case err != nil:
		fmt.Fprintln(t.out, rail+t.p.bad(draw.Clean(err.Error())))
		return
	case changed == 0:
		return
	}
	for _, line := range lines {
		text := string(line.Mark) + " " + strings.Repeat("  ", line.Depth) + line.Text
		switch line.Mark {
		case '+':
			text = t.p.good(text)
		case '-':
			text = t.p.bad(text)
		}
		fmt.Fprintln(t.out, rail+strings.TrimRight(text, " "))
	}
}
