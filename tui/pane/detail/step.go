package detail

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/kx-apiserver/kx/core/blame"
	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/tui/draw"
	"github.com/kx-apiserver/kx/tui/screen"
	"github.com/kx-apiserver/kx/tui/source"
)

// number names a step where another line refers to it: by its number in Steps and its ID.
func number(j *v1alpha1.Journey, i int) string {
	return fmt.Sprintf("#%d %s", i+1, j.Status.Steps[i].ID)
}

// step describes the i-th step: what it did and why, what went in and came out, and the code that ran.
func (b *builder) step(j *v1alpha1.Journey, i int) {
	s := &j.Status.Steps[i]
	b.add(notice, s.Title)
	b.fact("about", plain, s.Subject)
	b.fact("why", plain, b.words.Why(j, s))
	b.fact("error", bad, s.Error)
	took := b.words.Phrase("still running")
	if s.TookNanos >= 0 {
		took = draw.Duration(time.Duration(s.TookNanos))
	}
	b.fact("took", plain, b.words.Phrase("%s, from %s on", took, draw.Duration(micros(s.StartMicros))))
	if parent := int(s.Parent); parent >= 0 && parent < i {
		b.factTo("called by", plain, number(j, parent)+"  "+b.words.Text(j.Status.Steps[parent].Title), toStep(parent))
	}
	if key, revision, ok := blame.StepWrite(s); ok {
		b.factTo("wrote", good, b.words.Phrase("%s at revision %d", key, revision), linkTo(screen.ToKey{Key: key, Revision: revision}))
	}
	b.interventions(&j.Status, i)
	if len(s.Attributes) > 0 {
		b.blank()
		b.add(label, "what went in and came out")
		b.attributes(s.Attributes)
	}
	b.blank()
	b.place(source.Place{File: s.File, Line: int(s.Line), Function: s.Function, Upstream: s.Upstream,
		UpstreamFile: s.UpstreamFile, Release: s.UpstreamRelease, Because: b.words.Why(j, s)})
	if at := source.PlaceOf(j, s, b.words); at.File != s.File || at.Line != int(s.Line) {
		b.blank()
		b.add(label, "where it was decided")
		b.fact("function", plain, at.Function)
		b.factTo("file", plain, at.File+":"+strconv.Itoa(at.Line), linkTo(screen.ToSource{
			File: at.File, Line: at.Line, Function: at.Function,
			Upstream: at.Upstream, UpstreamFile: at.UpstreamFile, Release: at.Release, Because: at.Because}))
	}
}

// interventions lists what rules and users did to a step: the holds that last, and all that is over.
func (b *builder) interventions(st *v1alpha1.JourneyStatus, step int) {
	for _, h := range st.Held {
		if int(h.Step) == step {
			b.fact("|| held", notice, b.words.Phrase("at its %s by %s, since %s; it can be told: %s",
				b.words.Text(string(h.At)), h.By, h.Since.UTC().Format("15:04:05"), formatActions(h.Actions)))
		}
	}
	for _, i := range st.Interventions {
		if int(i.Step) != step {
			continue
		}
		text := i.Message
		if i.User != "" {
			text += "  (" + i.User + ")"
		}
		b.fact("* "+i.Kind, notice, text)
	}
}

// formatActions lists the commands that a held request accepts.
func formatActions(actions []v1alpha1.JourneyAction) string {
	texts := make([]string, len(actions))
	for i, a := range actions {
		texts[i] = string(a)
	}
	return strings.Join(texts, ", ")
}

// place names the function that ran, and the corresponding one in the Kubernetes API server.
func (b *builder) place(p source.Place) {
	code := screen.ToSource{File: p.File, Line: p.Line, Function: p.Function, Upstream: p.Upstream,
		UpstreamFile: p.UpstreamFile, Release: p.Release, Because: p.Because}
	b.add(label, "in this binary")
	b.fact("function", plain, p.Function)
	if p.File != "" {
		b.factTo("file", plain, p.File+":"+strconv.Itoa(p.Line), linkTo(code))
	}
	b.blank()
	b.add(label, strings.TrimSpace(b.words.Phrase("in the Kubernetes API server  %s", p.Release)))
	b.fact("function", plain, p.Upstream)
	if p.UpstreamFile != "" {
		code.Theirs = true
		b.factTo("file", plain, p.UpstreamFile, linkTo(code))
	}
}

// mark describes a consequence of a write. cause is the step that wrote, or -1.
func (b *builder) mark(j *v1alpha1.Journey, m *v1alpha1.Mark, cause int) {
	b.add(notice, m.Title)
	b.fact("caused by", plain, b.words.Phrase("revision %d: nobody called it", m.Revision))
	if cause >= 0 {
		b.factTo("written by", plain, number(j, cause), toStep(cause))
	}
	b.fact("when", plain, b.words.Phrase("+%s, from the beginning of the request", draw.Duration(micros(m.AfterMicros))))
	b.blank()
	b.place(source.Place{File: m.File, Line: int(m.Line), Function: m.Function, Upstream: m.Upstream,
		UpstreamFile: m.UpstreamFile, Release: m.UpstreamRelease})
}

func micros(n int64) time.Duration { return time.Duration(n) * time.Microsecond }
