package detail

import (
	"strings"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/tui/source"
)

// place returns the source line of the selected step or mark.
func (p *Pane) place() source.Place {
	switch {
	case p.journey == nil:
	case p.mark >= 0 && p.mark < len(p.journey.Status.Marks):
		m := &p.journey.Status.Marks[p.mark]
		return source.Place{File: m.File, Line: int(m.Line), Function: m.Function, Upstream: m.Upstream,
			UpstreamFile: m.UpstreamFile, Release: m.UpstreamRelease}
	case p.selected():
		return source.PlaceOf(p.journey, &p.journey.Status.Steps[p.ranStep()], p.look().Words)
	}
	return source.Place{}
}

// ranStep returns the step whose source is shown: beside Diff, the step that changed the field under the cursor.
func (p *Pane) ranStep() int {
	if p.tab == DiffTab {
		if step, ok := p.BlamedStep(); ok {
			return step
		}
	}
	return p.step
}

// BlamedStep returns the step that the line under the cursor of Diff links to; ok is false if there is none.
func (p *Pane) BlamedStep() (step int, ok bool) {
	if p.tab != DiffTab {
		return 0, false
	}
	to, ok := p.Leads()
	if !ok || to.Step < 0 || to.Step >= len(p.journey.Status.Steps) {
		return 0, false
	}
	return to.Step, true
}

// WantsSource names the source file that the pane needs; empty for none.
func (p *Pane) WantsSource() string {
	if p.tab == SourceTab || p.split() {
		return p.place().File
	}
	return ""
}

// GiveSource supplies the file of [Pane.place], or the reason why it is missing.
func (p *Pane) GiveSource(f *source.File, note string) {
	place := p.place()
	if place.File == "" {
		note = p.look().Words.Phrase("several steps are folded here: unfold them to see one")
	}
	p.source.Show(place, f, p.ran(place.File), note)
}

// besides reports whether upstream code is shown.
func (p *Pane) besides() bool { return p.tab == SourceTab && p.upstream && p.journey != nil }

// code returns the source view that the keys go to.
func (p *Pane) code() *source.View {
	if p.besides() && !p.split() {
		return p.theirs
	}
	return p.source
}

// WantsTheirs names the line whose upstream code the pane needs; ok is false for none.
func (p *Pane) WantsTheirs() (of source.Place, ok bool) { return p.place(), p.besides() }

// GiveTheirs supplies the upstream code, or the reason why it is missing.
func (p *Pane) GiveTheirs(f *source.File, at source.Place, note string) {
	p.theirs.Show(at, f, nil, note)
}

// Link returns the URL of the upstream code in view; empty if there is none.
func (p *Pane) Link() string {
	if !p.besides() {
		return ""
	}
	return p.theirs.Place().Link
}

// ran lists the lines of a file that the journey's steps ran.
func (p *Pane) ran(file string) []source.StepLine {
	if p.journey == nil {
		return nil
	}
	var ran []source.StepLine
	if p.selected() {
		if s := &p.journey.Status.Steps[p.ranStep()]; s.File == file {
			ran = append(ran, source.StepLine{Line: int(s.Line), Step: p.ranStep()})
		}
	}
	for i := range p.journey.Status.Steps {
		if s := &p.journey.Status.Steps[i]; s.File == file {
			ran = append(ran, source.StepLine{Line: int(s.Line), Step: i})
		}
	}
	return ran
}

// WantsCache names the watch cache whose watches the pane needs; empty for none.
func (p *Pane) WantsCache() string {
	if p.tab != WatchersTab || p.journey == nil || len(cacheWrites(p.journey)) == 0 {
		return ""
	}
	return cacheName(p.journey)
}

// GiveCache supplies a watch cache with its watches, or the reason why it is missing.
func (p *Pane) GiveCache(c *v1alpha1.Cache, note string) {
	if p.cache != c || p.cacheNote != note {
		p.cache, p.cacheNote = c, note
		p.version++
	}
}

// textWidth is the width of copied text.
const textWidth = 200

// Text returns the text to copy: the object, a line of the source, or the text of the tab. suffix is the file ending
// for it.
func (p *Pane) Text() (text, suffix string) {
	switch {
	case p.journey == nil:
		return "", ""
	case p.tab == SourceTab && p.code().File() != nil:
		return p.code().File().Text, ".go"
	case p.tab == ObjectTab && p.selected():
		if at, ok := objectAt(p.journey, p.step, p.before); ok {
			if written, err := p.form.visible(at.raw); err == nil {
				return written, suffixes[p.form]
			}
		}
	}
	wide := &builder{w: textWidth, words: p.look().Words}
	p.build(wide, p.tab)
	var b strings.Builder
	for _, l := range wide.lines {
		b.WriteString(strings.TrimRight(l.name+l.text+"  "+l.note, " ") + "\n")
	}
	return b.String(), ".txt"
}

// OfDiff reports whether Diff is open.
func (p *Pane) OfDiff() bool { return p.tab == DiffTab }
