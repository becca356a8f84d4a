package journey

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/core/story"
	"github.com/kx-apiserver/kx/tui/diff"
	"github.com/kx-apiserver/kx/tui/draw"
)

// Pair is a step of one journey and the same step of another. One of them may lack it.
type Pair struct {
	First   *v1alpha1.Step `json:"first,omitempty"`
	Second  *v1alpha1.Step `json:"second,omitempty"`
	Differs bool           `json:"differs"`
}

// Pairs returns the steps of two journeys side by side.
func Pairs(a, b *v1alpha1.Journey) []Pair {
	pairs := []Pair{}
	for _, p := range diff.Steps(a, b) {
		pair := Pair{Differs: p.Differs || p.A < 0 || p.B < 0}
		if p.A >= 0 {
			pair.First = &a.Status.Steps[p.A]
		}
		if p.B >= 0 {
			pair.Second = &b.Status.Steps[p.B]
		}
		pairs = append(pairs, pair)
	}
	return pairs
}

// Compare writes two journeys step by step: common steps with both times, < steps of only the first, > steps of only
// the second, and ~ steps with different reasons, with both reasons.
func Compare(out io.Writer, a, b *v1alpha1.Journey, p Paint) {
	a, b = p.words.Journey(a), p.words.Journey(b)
	pairs := diff.Steps(a, b)
	both, differ, onlyA, onlyB := diff.CountPairs(pairs)
	fmt.Fprintf(out, "%s %s  %s\n%s %s  %s\n", p.bad("<"), head(a, p), p.dim(draw.Clean(a.Name)), p.good(">"), head(b, p),
		p.dim(draw.Clean(b.Name)))
	fmt.Fprintln(out,
		"  "+p.words.Phrase("%d steps in both, %d of them went otherwise; %d in the first alone, %d in the second alone", both, differ,
			onlyA, onlyB))
	fork := diff.ForkOf(story.WalkOf(a, p.words), story.WalkOf(b, p.words), p.words)
	fmt.Fprintln(out, "  "+fork.Text(fork.Part))
	for _, pair := range pairs {
		comparePair(out, a, b, pair, p)
	}
}

func comparePair(out io.Writer, a, b *v1alpha1.Journey, pair diff.StepPair, p Paint) {
	mark, text := " ", ""
	indent := strings.Repeat("  ", pair.Depth)
	switch {
	case pair.B < 0:
		mark, text = p.bad("<"), p.bad(stepText(&a.Status.Steps[pair.A]))
	case pair.A < 0:
		mark, text = p.good(">"), p.good(stepText(&b.Status.Steps[pair.B]))
	default:
		text = stepText(&a.Status.Steps[pair.A])
		if pair.Differs {
			mark, text = p.notes("~"), p.notes(text)
		}
	}
	fmt.Fprintf(out, "%s %8s %8s  %s%s\n", mark, tookText(a, pair.A), tookText(b, pair.B), indent, text)
	if !pair.Differs {
		return
	}
	margin := strings.Repeat(" ", 22) + indent
	x, y := &a.Status.Steps[pair.A], &b.Status.Steps[pair.B]
	whys := diff.Reasons(a, b, pair, p.words)
	fmt.Fprintf(out, "%s%s %s\n%s%s %s\n", margin, p.bad("<"), p.reason(x, y, whys[0]), margin, p.good(">"), p.reason(y, x, whys[1]))
}

func stepText(s *v1alpha1.Step) string { return draw.Clean(s.ID + "  " + s.Title) }

// reason returns a step's reason, with the step's subject if that differs from the other step's.
func (p Paint) reason(s, other *v1alpha1.Step, text string) string {
	if s.Error != "" {
		text = p.words.Phrase("error: %s", s.Error)
	}
	if text == "" {
		text = p.words.Phrase("no reason is given")
	}
	if s.ID != other.ID {
		text = s.ID + ": " + text
	}
	return draw.Clean(text)
}

func tookText(j *v1alpha1.Journey, i int) string {
	if i < 0 {
		return "-"
	}
	return draw.Duration(time.Duration(j.Status.Steps[i].TookNanos))
}
