package class

import (
	"context"
	"slices"
	"strings"
	"sync"

	"github.com/kx-apiserver/kx/core/escape"
	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/core/lang"
	"github.com/kx-apiserver/kx/core/lesson"
	"github.com/kx-apiserver/kx/tui/play"
)

// Copy is a lesson up to its player's position, as a page for people who follow. Goroutines may share it.
type Copy struct {
	mu   sync.Mutex // guards page
	page handout
}

// position is the position of a copied lesson's player.
type position struct {
	next    int            // index of the current part
	over    bool           // the player has left the lesson
	answers map[string]int // by the ID of the question
	outputs map[int]string // of runs, by the index of the part
}

// NewCopy begins the copy of a lesson.
func NewCopy(l *lesson.Lesson, language lang.Language) *Copy {
	return &Copy{page: handout{
		lesson: l, language: language, pictures: map[int]*v1alpha1.Journey{}, copied: &position{outputs: map[int]string{}},
	}}
}

// Page returns the page for a player at the position in r. Browsers reload the page until the lesson is over.
func (c *Copy) Page(r play.Record, over bool) ([]byte, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	parts := c.page.lesson.Parts
	end := min(r.Next+1, len(parts)) // including the current part
	for end < len(parts) && c.page.ofTask(parts[end]) {
		end++
	}
	c.page.copied.next, c.page.copied.answers, c.page.copied.over = r.Next, r.Answers, over
	return c.page.write(parts[:end])
}

// ofTask reports whether a part is shown together with the task before it.
func (h *handout) ofTask(part lesson.Part) bool {
	switch part := part.(type) {
	case lesson.Hint:
		return true
	case lesson.Expect:
		return h.lesson.Run(part.Of) == nil
	}
	return false
}

// right returns the number of the right answer once the player has answered the question and passed the part that
// reveals it, and 0 before.
func (h *handout) right(question lesson.Predict) int {
	if h.copied == nil || h.copied.answers[question.ID] == 0 {
		return 0
	}
	reveals := slices.IndexFunc(h.lesson.Parts, func(p lesson.Part) bool {
		e, ok := p.(lesson.Expect)
		return ok && e.Reveal == question.ID
	})
	if reveals >= h.copied.next {
		return 0
	}
	return question.Answer
}

// output returns the lines that a run has printed.
func (h *handout) output(part lesson.Part) []string {
	if h.copied == nil {
		return nil
	}
	i := slices.IndexFunc(h.lesson.Parts, func(p lesson.Part) bool { return p.At() == part.At() })
	text := strings.TrimRight(h.copied.outputs[i], "\n")
	if text == "" {
		return nil
	}
	return strings.Split(text, "\n")
}

// Watch returns a play that passes its results to the copy.
func (c *Copy) Watch(p *play.Play) *WatchedPlay { return &WatchedPlay{Play: p, copy: c} }

// WatchedPlay is a play that passes its results to a copy.
type WatchedPlay struct {
	*play.Play
	copy *Copy
}

// Do implements the Play of the screen.
func (w *WatchedPlay) Do(ctx context.Context, i int) (play.Outcome, error) {
	o, err := w.Play.Do(ctx, i)
	w.copy.mu.Lock()
	defer w.copy.mu.Unlock()
	w.copy.page.copied.outputs[i] = escape.Text(o.Output)
	return o, err
}

// Find implements the Play of the screen.
func (w *WatchedPlay) Find(ctx context.Context, of, filter string) (string, error) {
	name, err := w.Play.Find(ctx, of, filter)
	if err != nil {
		return "", err
	}
	j, err := w.Journey(ctx, name)
	if err != nil {
		return "", err
	}
	w.copy.mu.Lock()
	defer w.copy.mu.Unlock()
	for _, part := range w.copy.page.lesson.Parts {
		if show, ok := part.(lesson.Show); ok && show.Of == of && show.Open == filter {
			w.copy.page.pictures[show.At()] = j
		}
	}
	return name, nil
}
