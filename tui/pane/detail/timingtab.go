package detail

import (
	"fmt"
	"time"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/core/steps"
	"github.com/kx-apiserver/kx/tui/draw"
)

// timing shows how a request spent its time. selected is the step under the cursor.
func (b *builder) timing(j *v1alpha1.Journey, selected int) {
	r := reportTime(j)
	b.add(notice, b.words.Phrase("where %s went", draw.Duration(r.Total)))
	for _, part := range []struct {
		name string
		took time.Duration
	}{
		{"work", r.Work}, {"etcd", r.Etcd}, {"waiting", r.Wait}, {"on purpose", r.OnPurpose}, {"no step", r.Outside},
	} {
		if part.took <= 0 {
			continue
		}
		share := 0
		if r.Total > 0 {
			share = int(part.took * 100 / r.Total)
		}
		b.fact(part.name, plain, fmt.Sprintf("%7s %3d%%  %s", draw.Duration(part.took), share, b.words.Text(meaning[part.name])))
	}
	b.blank()
	b.add(label, "# the step itself  - what it called  = held or delayed")
	b.bars(j, r, selected)
}

// meaning explains the parts of a request's time.
var meaning = map[string]string{
	"work": "the steps themselves", "etcd": "round trips to etcd", "waiting": "for the watch cache to have seen a revision",
	"on purpose": "held, or delayed by a fault", "no step": "before, between and behind the steps",
}

const (
	ownWidth     = 8
	barNameWidth = 22
	barLeast     = 6
)

// bars draws when each step ran. Filters, which take next to nothing, share a line.
func (b *builder) bars(j *v1alpha1.Journey, r *timeReport, selected int) {
	bar := b.w - barNameWidth - 2*ownWidth - 1
	name := barNameWidth
	if bar < barLeast {
		bar = 0
		name = max(b.w-2*ownWidth, 1)
	}
	line := func(what, picture, own, took string) string {
		out := draw.Fit(what, name)
		if bar > 0 {
			out += draw.Fit(picture, bar) + " "
		}
		return out + draw.FitRight(own, ownWidth) + draw.FitRight(took, ownWidth)
	}
	b.lines = append(b.lines,
		text{kind: label, text: line(b.words.Phrase("step"), b.words.Phrase("when"), b.words.Phrase("itself"), b.words.Phrase("in all"))})
	filters, count := time.Duration(0), 0
	for i := range r.Steps {
		if j.Status.Steps[i].Layer == steps.LayerFilter.String() && i != selected {
			filters += r.Steps[i].Own
			count++
		}
	}
	if count > 0 {
		b.lines = append(b.lines, text{text: line(b.words.Phrase("%d filters", count), "", draw.Duration(filters), "")})
	}
	for i := range r.Steps {
		s := &r.Steps[i]
		if j.Status.Steps[i].Layer == steps.LayerFilter.String() && i != selected {
			continue
		}
		took := draw.Duration(s.Took)
		if s.Running {
			took = "..."
		}
		t := text{text: line(number(j, i), r.bar(i, bar), draw.Duration(s.Own), took), link: &Link{Step: i}}
		if i == selected {
			t.kind = notice
		}
		b.lines = append(b.lines, t)
	}
}
