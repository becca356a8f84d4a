package detail

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/kx-apiserver/kx/core/blame"
	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/core/steps"
	"github.com/kx-apiserver/kx/tui/diff"
	"github.com/kx-apiserver/kx/tui/draw"
	"github.com/kx-apiserver/kx/tui/keys"
	"github.com/kx-apiserver/kx/tui/screen"
)

// changes returns the changes for Diff: those of the whole request, or of the step.
func (p *Pane) changes() (*blame.Report, error) {
	if p.report == nil && p.reportErr == nil {
		if p.whole {
			p.report, p.reportErr = blame.Journey(p.journey)
		} else {
			p.report, p.reportErr = blame.Step(p.journey, p.step)
		}
	}
	return p.report, p.reportErr
}

// diff lists the changes, with the step that made each.
func (b *builder) diff(p *Pane) {
	r, err := p.changes()
	if err != nil {
		b.add(bad, draw.Clean(err.Error()))
		return
	}
	j := p.journey
	if r.Nothing != "" {
		b.explainNothing(j, r, p.whole)
		return
	}
	b.scope(j, r, p.whole)
	switch {
	case r.Deleted:
		b.objects(j, r.Before, nil, nil, p.all)
	case p.whole || r.Before != nil && r.After != nil:
		b.objects(j, r.Before, r.After, r, p.all)
	case r.After != nil:
		b.objects(j, r.After, r.After, nil, true)
	default:
		b.objects(j, r.Before, r.Before, nil, true)
	}
	b.listDropped(j, r)
	b.listAdmission(j, r)
}

// explainNothing explains why there is nothing to compare, and which steps have objects.
func (b *builder) explainNothing(j *v1alpha1.Journey, r *blame.Report, whole bool) {
	k := label
	if r.Nothing == blame.NoObjects {
		k = notice
	}
	b.add(k, r.Nothing)
	switch {
	case r.Nothing == blame.NoObjects:
		b.add(label, b.words.Phrase("%s does so, too", keys.Record.Key()))
	case r.Nothing == blame.OnlyReads && whole:
		b.decisions(j)
	default:
		b.changers(j)
	}
}

// decisions lists the decisions of the steps behind the filters, with their reasons: all there is to know about a
// request that only reads.
func (b *builder) decisions(j *v1alpha1.Journey) {
	title := b.words.Phrase("What its steps decided, behind the filters:")
	for i := range j.Status.Steps {
		s := &j.Status.Steps[i]
		if s.Why == "" || s.Layer == steps.LayerFilter.String() {
			continue
		}
		if title != "" {
			b.blank()
			b.add(label, title)
			title = ""
		}
		first := len(b.lines)
		b.pair("  "+number(j, i), attributesWidth+4, plain, b.words.Why(j, s))
		b.lead(first, toStep(i))
	}
}

// changers lists the steps that have objects.
func (b *builder) changers(j *v1alpha1.Journey) {
	title := b.words.Phrase("These do, or show one:")
	for i := range j.Status.Steps {
		s := &j.Status.Steps[i]
		if s.Before == nil && s.After == nil {
			continue
		}
		if title != "" {
			b.blank()
			b.add(label, title)
			title = ""
		}
		first := len(b.lines)
		b.pair("  "+number(j, i), attributesWidth+4, plain, b.words.Text(s.Title))
		b.lead(first, toStep(i))
	}
}

// scope names the compared objects, and counts the changes.
func (b *builder) scope(j *v1alpha1.Journey, r *blame.Report, whole bool) {
	all, client := r.Count()
	switch {
	case r.Deleted:
		first := len(b.lines)
		b.add(bad, b.words.Phrase("the object was removed, at revision %d", r.Revision))
		b.lines[first].note = number(j, r.AfterStep)
		b.lead(first, toStep(r.AfterStep))
		return
	case whole && r.Revision > 0:
		first := len(b.lines)
		b.add(label, b.words.Phrase("whole request: as it was stored, to revision %d", r.Revision))
		if key, revision, ok := findWrite(j); ok {
			b.lead(first, linkTo(screen.ToKey{Key: key, Revision: revision}))
		}
	case whole:
		b.add(label, "whole request: as it was stored, to how far it came; nothing was written")
	case r.Before == nil:
		b.add(label, "the object that came out of this step")
		return
	case r.After == nil:
		b.add(label, "the object that went into this step; none came out")
		return
	default:
		b.add(label, b.words.Phrase("this step alone; %s shows the whole request", keys.Differences.Key()))
	}
	text := b.fields(all)
	if whole && all > 0 {
		text = b.words.Phrase("%d changed: %d by the request, %d by the server", all, client, all-client)
	}
	b.add(notice, text)
	if r.More > 0 {
		b.add(bad, b.words.Phrase("for %d fields more it was not looked up who changed them", r.More))
	}
}

// findWrite returns the last key and revision that a request wrote.
func findWrite(j *v1alpha1.Journey) (key string, revision int64, ok bool) {
	for i := range j.Status.Steps {
		if k, r, wrote := blame.StepWrite(&j.Status.Steps[i]); wrote {
			key, revision, ok = k, r, true
		}
	}
	return key, revision, ok
}

var nothingThere = []byte("{}")

// objects writes two objects as lines. Changed lines link to the step that r blames.
func (b *builder) objects(j *v1alpha1.Journey, before, after []byte, r *blame.Report, all bool) {
	if before == nil {
		before = nothingThere
	}
	if after == nil {
		after = nothingThere
	}
	o := diff.Options{All: all}
	if !all {
		o.Fold = blame.Whole
	}
	lines, _, err := diff.Compare(before, after, o)
	if err != nil {
		b.add(bad, draw.Clean(err.Error()))
		return
	}
	by := stepsOf(r)
	said := map[string]bool{}
	for i, l := range lines {
		t := text{kind: map[byte]kind{'+': good, '-': bad}[l.Mark], text: string(l.Mark) + " " + strings.Repeat("  ", l.Depth) + l.Text}
		if key, field := find(by, l.Path); field != nil && !said[key] && !replaced(lines, i) {
			said[key] = true
			t.field = field.Path.String()
			t.note, t.link = b.author(j, field)
		}
		b.lines = append(b.lines, t)
	}
}

// replaced reports whether a removed line is followed by its replacement, which then carries the note.
func replaced(lines []diff.Line, i int) bool {
	return lines[i].Mark == '-' && i+1 < len(lines) && lines[i+1].Mark == '+' &&
		strings.Join(lines[i].Path, "\x00") == strings.Join(lines[i+1].Path, "\x00")
}

// stepsOf indexes the fields of a report by path.
func stepsOf(r *blame.Report) map[string]*blame.Field {
	by := map[string]*blame.Field{}
	if r != nil {
		for i := range r.Fields {
			by[r.Fields[i].Path.Key()] = &r.Fields[i]
		}
	}
	return by
}

// find finds the field that contains a path.
func find(by map[string]*blame.Field, path []string) (string, *blame.Field) {
	for n := len(path); n > 0; n-- {
		key := blame.Path(path[:n]).Key()
		if field := by[key]; field != nil {
			return key, field
		}
	}
	return "", nil
}

// listDropped lists the fields that the request sent and the server did not keep.
func (b *builder) listDropped(j *v1alpha1.Journey, r *blame.Report) {
	title := b.words.Phrase("sent, and not kept")
	for i := range r.Fields {
		f := &r.Fields[i]
		if !f.Dropped {
			continue
		}
		if title != "" {
			b.blank()
			b.add(label, title)
			title = ""
		}
		t := text{kind: bad, text: draw.Clean("- " + f.Path.String() + ": " + f.Before)}
		t.note, t.link = b.author(j, f)
		b.lines = append(b.lines, t)
	}
}

// author names the step that set a field; for a plugin, a webhook or a policy, it names that.
func (b *builder) author(j *v1alpha1.Journey, f *blame.Field) (string, *Link) {
	if f.Step < 0 {
		return b.words.Phrase("no recorded step"), nil
	}
	link := toStep(f.Step)
	if s := &j.Status.Steps[f.Step]; admits(s) {
		return fmt.Sprintf("#%d %s", f.Step+1, draw.Clean(s.Subject)), &link
	}
	return number(j, f.Step), &link
}

// admits reports whether a step is one of several in admission, told apart only by their subjects.
func admits(s *v1alpha1.Step) bool {
	switch s.ID {
	case steps.HandlerAdmit.String(), steps.HandlerWebhook.String(), steps.HandlerPolicy.String():
		return s.Subject != ""
	}
	return false
}

// listAdmission names the plugins, webhooks and policies that changed the object: the full name may not fit beside a
// field.
func (b *builder) listAdmission(j *v1alpha1.Journey, r *blame.Report) {
	who := map[int]string{}
	for i := range r.Fields {
		if f := &r.Fields[i]; f.Step >= 0 && admits(&j.Status.Steps[f.Step]) {
			who[f.Step] = f.Who
		}
	}
	if len(who) == 0 {
		return
	}
	b.blank()
	b.add(label, b.words.Phrase("changed on its way in by"))
	for _, i := range slices.Sorted(maps.Keys(who)) {
		first := len(b.lines)
		b.pair(fmt.Sprintf("  #%d", i+1), stepNumberWidth, plain, draw.Clean(b.words.Who(who[i])))
		b.lead(first, toStep(i))
	}
}

// stepNumberWidth is the width of a step's number in a list.
const stepNumberWidth = 7

func (b *builder) fields(n int) string {
	switch n {
	case 0:
		return b.words.Phrase("no field changed")
	case 1:
		return b.words.Phrase("1 field changed")
	}
	return b.words.Phrase("%d fields changed", n)
}
