package detail

import (
	"fmt"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/tui/draw"
)

// whole says what is known of the request.
func (b *builder) whole(j *v1alpha1.Journey, sameAs string) {
	s, st := &j.Spec, &j.Status
	b.add(notice, s.Method+" "+s.URI)
	answer := "none yet"
	switch {
	case st.Code != 0:
		answer = fmt.Sprintf("%d, %d bytes", st.Code, st.Bytes)
	case st.Phase == v1alpha1.JourneyComplete:
		answer = "none: the client was gone"
	}
	if st.WatchError != 0 {
		answer += fmt.Sprintf(", ended with an ERROR event of %d", st.WatchError)
	}
	b.fact("answer", plain, answer)
	took := "still running"
	switch st.Phase {
	case v1alpha1.JourneyComplete:
		took = draw.Duration(micros(st.TookMicros))
	case v1alpha1.JourneyHeld:
		took = "held"
	}
	if st.HeldMicros > 0 {
		took += ", of which it was held for " + draw.Duration(micros(st.HeldMicros))
	}
	b.fact("took", plain, took)
	b.fact("came in", plain, st.Started.UTC().Format("2006-01-02 15:04:05.000000")+" UTC")
	b.fact("user", plain, s.User)
	b.fact("from", plain, s.SourceIP)
	b.fact("program", plain, s.UserAgent)
	b.fact("body", plain, s.ContentType)
	b.fact("journey", plain, j.Name)
	b.fact("audit ID", plain, s.AuditID)
	recorded := fmt.Sprintf("%d steps", len(st.Steps))
	if st.Level == "Objects" {
		recorded += ", with objects"
	}
	b.fact("recorded", plain, recorded)
	if st.Cut > 0 {
		b.fact("cut", bad, fmt.Sprintf("%d things were left out: the journey was full", st.Cut))
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
