package story

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/kx-apiserver/kx/core/lang"
	"github.com/kx-apiserver/kx/core/story"
	"github.com/kx-apiserver/kx/tui/screen"
)

// sizes are those of a small terminal, of a usual one, and of a large one.
var sizes = [][2]int{{80, 24}, {120, 40}, {200, 60}}

// countSentences counts the sentences on the screen.
func (s *Screen) countSentences() (n int) {
	for _, l := range s.lines {
		if l.first {
			n++
		}
	}
	return n
}

// TestGetOpensShort opens a GET with at most 12 sentences, the step that decided in sight, unfolds each layer with one key, and folds
// it with another.
func TestGetOpensShort(t *testing.T) {
	for _, size := range sizes {
		for _, name := range []string{"cached", "plain", "get", "custom-get", "converted"} {
			t.Run(fmt.Sprintf("%s-%dx%d", name, size[0], size[1]), func(t *testing.T) {
				h, s, all := shown(t)
				j := all[name]
				h.Frame(size[0], size[1])
				h.Show(screen.ToStory{Journey: j, Step: -1})
				h.Frame(size[0], size[1])
				if n := s.countSentences(); n > 12 || !tells(s, story.Decided(j)) {
					t.Errorf("%d sentences, the step that decided is told: %v", n, tells(s, story.Decided(j)))
				}
				h.Press("n")
				h.Shows("> + 14 filters let it pass: system:masters may do all.")
				folded := s.told
				h.Press("l")
				h.Shows("> - The request gets an audit ID.")
				if !tells(s, 13) || len(s.told) != len(folded)+13 {
					t.Errorf("unfolded, it has %d sentences", len(s.told))
				}
				h.Press("n", "n", "h")
				h.Shows("> + 14 filters let it pass")
				if !slices.Equal(s.told, folded) {
					t.Errorf("folded, it has %d sentences", len(s.told))
				}
				h.Press("h", "h")
				if !slices.Equal(s.told, folded) {
					t.Errorf("folded again, it has %d sentences", len(s.told))
				}
				h.Press(".")
				for i := range j.Status.Steps {
					if !tells(s, i) {
						t.Errorf("%s is not told", j.Status.Steps[i].ID)
					}
				}
				if h.Press("."); !slices.Equal(s.told, folded) {
					t.Errorf("all folded, it has %d sentences", len(s.told))
				}
			})
		}
	}
}

// tells reports whether the screen has a sentence of a step.
func tells(s *Screen, step int) bool {
	return slices.ContainsFunc(s.told, func(l story.Line) bool { return l.Step == step })
}

// TestLeadsIntoFolds unfolds what has the step that another screen leads to, or the text that the user looks for.
func TestLeadsIntoFolds(t *testing.T) {
	h, s, all := shown(t)
	h.Frame(120, 40)
	j := all["plain"]
	for i := range j.Status.Steps {
		h.Show(screen.ToStory{Journey: j, Step: i})
		if s.step() != &j.Status.Steps[i] {
			t.Errorf("led to %+v, not to %s", s.step(), j.Status.Steps[i].ID)
		}
	}
	h.Show(screen.ToStory{Journey: j, Step: -1})
	h.Press("f")
	h.Answer("dryrunstorage")
	h.Press("f")
	h.Answer("DryRunnableStorage passes")
	if step := s.step(); step == nil || step.ID != "dryrun.get" {
		t.Errorf("found %+v", step)
	}
	if tells(s, 1) {
		t.Error("the filters are unfolded too")
	}
}

// name matches what must stay in one line: a path, a key, a URL, a name.
var name = regexp.MustCompile(`[A-Za-z0-9/._:?=&%-]+[A-Za-z0-9/]`)

// TestNamesStayWhole breaks no path and no key inside a word, in each language and at each size: one that is longer than a line is
// broken behind a slash, or between the parameters of its query.
func TestNamesStayWhole(t *testing.T) {
	for _, size := range sizes {
		for _, in := range []lang.Language{lang.English, lang.Chinese} {
			h, s, all := shown(t)
			h.Look.Words = in
			for _, j := range all {
				h.Show(screen.ToStory{Journey: j, Step: -1})
				h.Press(".")
				frame := h.Frame(size[0], size[1])
				if len(frame) != size[1] {
					t.Fatalf("%d rows", len(frame))
				}
				for i, told := range s.told {
					var rows []string
					for _, l := range s.lines {
						if l.sentence == i {
							rows = append(rows, strings.TrimLeft(l.text, " +-"))
						}
					}
					if word := broken(told.Text, rows); word != "" {
						t.Errorf("%v in %s: %s is broken:\n%s", size, in, word, strings.Join(rows, "\n"))
					}
				}
			}
		}
	}
}

// broken returns the first name of a text that is not whole in any row, nor in parts that end with a slash or a parameter.
func broken(text string, rows []string) string {
	for _, word := range name.FindAllString(text, -1) {
		rest := word
		for _, row := range rows {
			if strings.Contains(row, rest) {
				rest = ""
				break
			}
			for n := len(rest); n > 0; n-- {
				if strings.HasSuffix(row, rest[:n]) && strings.ContainsRune("/?&", rune(rest[n-1])) {
					rest = rest[n:]
					break
				}
			}
		}
		if rest != "" {
			return word
		}
	}
	return ""
}
