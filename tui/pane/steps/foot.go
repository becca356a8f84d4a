package steps

import (
	"strings"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/core/lang"
	"github.com/kx-apiserver/kx/tui/draw"
)

// reason draws the foot of the pane about the selected row: its full text, its interventions, its error, and its
// reason.
func (p *Pane) reason() []string {
	if p.foot() == 0 {
		return nil
	}
	rule := ""
	texts := p.reasons()
	room := p.foot() - 1
	if len(texts) > room { // the row of the step says all of the first but its name
		name, _, _ := strings.Cut(texts[0], " ")
		rule, texts = "╌ "+name+" ", texts[1:]
	}
	if len(texts) > room {
		texts = texts[:room]
		texts[room-1] = draw.Fit(texts[room-1], max(p.w-5, 0)) + draw.Ellipsis
	}
	rule += strings.Repeat("╌", max(p.w-2-draw.Width(rule), 0))
	lines := []string{p.look().Border(draw.Fit(rule, max(p.w-2, 0)))}
	for _, text := range texts {
		lines = append(lines, " "+draw.Fit(text, p.w-4))
	}
	return lines
}

// reasons returns the lines of the foot. The first begins with the name of the step.
func (p *Pane) reasons() []string {
	n := p.current()
	switch {
	case n == nil || n.kind == isGroup:
		return nil
	case n.caused():
		text := p.textOf(n, p.scroll.Cursor)
		return []string{text.title, text.why}
	}
	s := &p.journey.Status.Steps[n.step]
	words := p.look().Words
	head := s.ID + "  " + words.Text(s.Title)
	if s.Subject != "" {
		head += "  " + s.Subject
	}
	out := append([]string{head}, done(&p.journey.Status, n.step, words)...)
	if s.Error != "" {
		return append(out, draw.Wrap(words.Phrase("error: %s", s.Error), p.w-4)...)
	}
	if why := words.Why(p.journey, s); why != "" {
		out = append(out, draw.Wrap(words.Phrase("why: %s", why), p.w-4)...)
	}
	return out
}

// done lists the holds and interventions of a step.
func done(st *v1alpha1.JourneyStatus, step int, words lang.Language) []string {
	var out []string
	for _, h := range st.Held {
		if int(h.Step) == step {
			out = append(out, words.Phrase("|| held by %s at its %s: it holds no lock, and others go on",
				h.By, strings.ToLower(words.Text(string(h.At)))))
		}
	}
	for _, i := range st.Interventions {
		if int(i.Step) == step {
			out = append(out, "* "+i.Message)
		}
	}
	return out
}
