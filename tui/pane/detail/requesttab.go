package detail

import (
	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/core/steps"
	"github.com/kx-apiserver/kx/tui/draw"
	"github.com/kx-apiserver/kx/tui/screen"
)

// whole describes the request.
func (b *builder) whole(j *v1alpha1.Journey, sameAs string) {
	s, st := &j.Spec, &j.Status
	b.add(notice, s.Method+" "+s.URI)
	answer := b.words.Phrase("none yet")
	switch {
	case st.Code != 0:
		answer = b.words.Phrase("%d, %d bytes", st.Code, st.Bytes)
	case j.IsInstall():
		answer = b.words.Phrase("none: no request asked for it")
	case st.Phase == v1alpha1.JourneyComplete:
		answer = b.words.Phrase("none: the client was gone")
	}
	if st.WatchError != 0 {
		answer += b.words.Phrase(", ended with an ERROR event of %d", st.WatchError)
	}
	b.fact("response::answer", plain, answer)
	took := b.words.Phrase("still running")
	switch st.Phase {
	case v1alpha1.JourneyComplete:
		took = draw.Duration(micros(st.TookMicros))
	case v1alpha1.JourneyHeld:
		took = b.words.Phrase("held")
	}
	if st.HeldMicros > 0 {
		took += b.words.Phrase(", of which it was held for %s", draw.Duration(micros(st.HeldMicros)))
	}
	b.fact("took", plain, took)
	b.fact("came in", plain, st.Started.UTC().Format("2006-01-02 15:04:05.000000")+" UTC")
	b.fact("user", plain, s.User)
	b.fact("acts as", plain, b.actsAs(j))
	b.fact("from", plain, s.SourceIP)
	b.fact("program", plain, s.UserAgent)
	b.fact("body", plain, s.ContentType)
	b.fact("journey", plain, j.Name)
	b.causes(st)
	b.fact("audit ID", plain, s.AuditID)
	b.fact("trace ID", plain, s.TraceID)
	recorded := b.words.Phrase("%d steps", len(st.Steps))
	if st.Level == "Objects" {
		recorded += b.words.Phrase(", with objects")
	}
	b.fact("recorded", plain, recorded)
	if st.Cut > 0 {
		b.fact("cut", bad, b.words.Phrase("%d things were left out: the journey was full", st.Cut))
	}
	b.fact("same as", plain, sameAs)
	if len(st.Interventions) > 0 {
		b.blank()
		b.add(label, "what was done to it that would not have happened by itself")
		for _, i := range st.Interventions {
			first := len(b.lines)
			b.pair("* "+i.Kind, nameWidth, notice, i.Message)
			if n := int(i.Step); n >= 0 && n < len(st.Steps) {
				b.lead(first, toStep(n))
			}
		}
	}
}

// actsAs names the user that the client impersonates, and reports a refusal.
func (b *builder) actsAs(j *v1alpha1.Journey) string {
	for i := range j.Status.Steps {
		if s := &j.Status.Steps[i]; s.ID == steps.FilterImpersonation.String() && s.Error != "" && j.Spec.ImpersonatedUser != "" {
			return b.words.Phrase("%s: refused", j.Spec.ImpersonatedUser)
		}
	}
	return j.Spec.ImpersonatedUser
}

// causes links to the journey that caused this one, and to those that it caused.
func (b *builder) causes(st *v1alpha1.JourneyStatus) {
	switch c := st.Cause; {
	case c == nil:
	case c.Journey == "":
		b.fact("cause", plain, b.words.Phrase("revision %d: who wrote it is not known", c.Revision))
	default:
		b.factTo("cause", plain, b.words.Phrase("revision %d, which %s wrote", c.Revision, c.Journey),
			linkTo(screen.ToRequest{Journey: c.Journey}))
	}
	for i := range st.Effects {
		e := &st.Effects[i]
		text := e.Journey + "  " + e.UserAgent + "  " + e.Verb + " " + e.Path()
		if e.Revision > 0 {
			text = b.words.Phrase("%s at revision %d", text, e.Revision)
		}
		b.factTo("caused", plain, text, linkTo(screen.ToRequest{Journey: e.Journey}))
	}
}
