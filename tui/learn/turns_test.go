package learn

import (
	"io/fs"
	"path"
	"testing"

	"github.com/kx-apiserver/kx/core/lang"
	"github.com/kx-apiserver/kx/core/lesson"
	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/docs"
	"github.com/kx-apiserver/kx/tui/layout"
	"github.com/kx-apiserver/kx/tui/theme"
)

// A turn is what is new to the learner wherever the lesson stops for them: the text of a section with its commands, a question, what was
// seen and what it means, a task. Commands print nothing here, since nobody knows how much they print.
const (
	// belowMost is how many lines of a turn may be below what is seen on a terminal of 80x24: as many as are seen above the screen, so
	// that all is read with one key. It is what the longest turn needs: make it smaller as turns become shorter.
	belowMost = 10
	// wholeLeast is how many of a hundred turns are in view as a whole at least.
	wholeLeast = 50
)

// TestTurns plays all lessons, and counts at each stop the lines that a terminal of 80x24 does not show at once.
func TestTurns(t *testing.T) {
	for _, language := range []lang.Language{lang.English, lang.Chinese} {
		files, err := fs.Glob(docs.Files, path.Join("learn", language.String(), "[0-9][0-9]-*.md"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%d lessons: %v", len(files), err)
		}
		all, whole, longest := 0, 0, 0
		for _, file := range files {
			for _, below := range turns(t, file, language) {
				all++
				if below <= 0 {
					whole++
				}
				longest = max(longest, below)
			}
		}
		t.Logf("%s: of %d turns %d are in view as a whole; of the longest %d lines are below", language, all, whole, longest)
		if 100*whole < wholeLeast*all {
			t.Errorf("%s: only %d of %d turns are in view as a whole", language, whole, all)
		}
	}
}

// turns plays a lesson to its end, and returns for each stop how many lines of the turn are below what is seen.
func turns(t *testing.T, file string, language lang.Language) (below []int) {
	t.Helper()
	text, err := fs.ReadFile(docs.Files, file)
	if err != nil {
		t.Fatal(err)
	}
	l, err := lesson.Parse(file, text, trace.Names)
	if err != nil {
		t.Fatal(err)
	}
	h, s, f := began(t, small, func(o *Options) { o.Lesson = l })
	f.lesson, f.silent = l, true
	h.Look = theme.Plain()
	h.Look.Words = language
	h.Size(80, 400) // no key turns a page
	for range 10 * len(l.Parts) {
		// While a question is asked that the screen would answer, the lesson has all of the terminal.
		place := layout.Terminal(80, 24).WithLesson(layout.Borders{}, s.Veiled()).Lesson
		seen := place.H - 2 // the frame
		rest := turn(s) - seen
		below = append(below, rest)
		if rest > belowMost {
			t.Errorf("%s:%d: of a turn of %d lines %d are below what is seen, %d at most", file, lineOf(s), rest+seen, rest, belowMost)
		}
		switch s.part().(type) {
		case nil:
			return below
		case lesson.Predict:
			h.Press("1")
		case lesson.Starter:
			h.Press(";")
		default:
			h.Press(" ")
		}
	}
	t.Fatalf("%s does not end", file)
	return nil
}

// turn is how many lines there are of what the learner did last, and what follows it.
func turn(s *Screen) int {
	s.lay()
	for i, line := range s.page.lines {
		if line.part >= s.acted && line.text != "" {
			return len(s.page.lines) - i
		}
	}
	return 0
}

// lineOf is the line of the file at which the lesson stands.
func lineOf(s *Screen) int {
	if part := s.part(); part != nil {
		return part.At()
	}
	return 0
}
