package detail

import (
	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/core/lang"
	"github.com/kx-apiserver/kx/core/refusal"
	"github.com/kx-apiserver/kx/tui/draw"
	"github.com/kx-apiserver/kx/tui/screen"
)

// GiveRelated supplies the requests that changed the object over which the shown one was refused.
func (p *Pane) GiveRelated(others []*v1alpha1.Journey) {
	if len(others) == len(p.others) {
		return
	}
	p.others, p.card = others, cardOf(p.journey, others, p.look().Words)
	p.version++
}

func cardOf(j *v1alpha1.Journey, others []*v1alpha1.Journey, words lang.Language) *refusal.Card {
	if j == nil {
		return nil
	}
	return refusal.Explain(j, others, words)
}

// refusal explains why a request was refused. Above the step that refused it, it leaves out that step's own text.
func (b *builder) refusal(c *refusal.Card, step bool) {
	b.add(bad, c.Title)
	for _, f := range c.Facts {
		if f.Said && step {
			continue
		}
		first := len(b.lines)
		b.fact(f.Name, plain, draw.Clean(f.Text))
		switch {
		case f.Journey != "":
			b.lead(first, linkTo(screen.ToRequest{Journey: f.Journey}))
		case f.Key != "":
			b.lead(first, linkTo(screen.ToKey{Key: f.Key, Revision: f.Revision}))
		}
	}
	b.fact("do", good, c.Next)
	b.blank()
}
