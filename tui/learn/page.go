package learn

import (
	"errors"
	"slices"
	"strings"

	"github.com/kx-apiserver/kx/core/lesson"
	"github.com/kx-apiserver/kx/tui/draw"
	"github.com/kx-apiserver/kx/tui/editor"
	"github.com/kx-apiserver/kx/tui/markdown"
	"github.com/kx-apiserver/kx/tui/pane"
	"github.com/kx-apiserver/kx/tui/theme"
)

// page holds the lines of the lesson, up to the next part.
type page struct {
	w     int
	look  theme.Theme
	lines []line
	links []link

	part int // the one that is laid out
	news int // the first line of the learner's news; -1 for none
	// texts caches the layout of the parts that never change, for one width and theme.
	texts map[int][]markdown.Line
	// outputs caches the layout of commands' outputs, by their text.
	outputs map[string][]string
	of      texture
}

// texture holds the inputs of a text's layout.
type texture struct {
	w     int
	theme theme.Name
}

// line is one line of the page.
type line struct {
	text  string
	link  int // the index of the line's link; -1 for none
	part  int
	first bool // a paragraph begins
}

// gutter is the column of the mark.
const gutter = 2

// lay lays the page out.
func (s *Screen) lay() {
	w, _ := s.text.Size()
	look := s.host.Theme()
	p := &s.page
	p.w, p.look, p.lines, p.links, p.news = max(w-4-gutter, 1), look, nil, nil, -1 // the frame, and a cell at each side
	if of := (texture{p.w, look.Name}); of != p.of {
		p.of, p.texts, p.outputs = of, map[int][]markdown.Line{}, map[string][]string{}
	}
	for i := range s.entries {
		if i > s.next {
			break
		}
		p.part = i
		p.gap()
		s.layAsides(&s.entries[i])
		if i < len(s.options.Lesson.Parts) {
			s.layPart(i, s.options.Lesson.Parts[i], &s.entries[i])
		} else if s.play != nil {
			s.layEnd()
		}
	}
	if s.failed != nil {
		p.gap()
		p.say("✗ ", s.phrase("The lesson's server is not there: %s", s.failed.Error()), look.Bad)
		p.say("", s.phrase("%s tries again.", goKey), nil)
	}
	p.trim()
	if n := len(p.links); n != s.links {
		s.links, s.link = n, p.newest()
	}
}

// newest returns the first link of the last part with links: a link to an unexpected result, if there is one.
func (p *page) newest() int {
	at := len(p.links) - 1
	for i := at; i >= 0 && p.links[i].part == p.links[at].part; i-- {
		if !p.links[at].bad || p.links[i].bad {
			at = i
		}
	}
	return at
}

func (s *Screen) layPart(i int, part lesson.Part, e *entry) {
	p := &s.page
	if s.leftOut(i) {
		return
	}
	switch part := part.(type) {
	case lesson.Text:
		if i == s.next && s.play != nil && s.work == nil {
			p.say("", s.phrase("%s goes on to: %s", goKey, part.Section()), p.look.Key)
			return
		}
		if p.texts[i] == nil {
			p.texts[i] = markdown.Lines(part.Markdown, p.w, p.look)
		}
		for _, l := range p.texts[i] {
			p.lines = append(p.lines, line{text: l.Text, link: -1, part: i, first: l.First})
		}
	case lesson.Run:
		s.layRun(i, part, e)
	case lesson.Hold:
		for _, filter := range part.Filters {
			p.say("‖ ", s.phrase("A breakpoint for the commands that come: %s", filter), p.look.Notice)
		}
	case lesson.Fault:
		effect := string(part.Spec.Effect)
		if part.Spec.Delay != nil {
			effect += " delay: " + part.Spec.Delay.Duration.String()
		}
		p.say("‖ ", s.phrase("From now on there is a fault: %s, of %s", effect, part.Spec.Filter), p.look.Notice)
	case lesson.Release:
		was, will := s.phrase("What is held goes on."), s.phrase("%s lets go what is held, and waits for its end.", goKey)
		if holds, _ := s.options.Lesson.Setup(part.Of); len(holds) == 0 {
			was, will = s.phrase("The fault is gone."), s.phrase("%s takes the fault away.", goKey)
		}
		s.layWait(i, e, was, will)
	case lesson.Stop:
		what := s.background(part.Of)
		s.layWait(i, e, s.phrase("Stopped, in the background: %s", what), s.phrase("%s stops in the background: %s", goKey, what))
	case lesson.Server:
		s.layServer(i, part, e)
	case lesson.Predict:
		s.layQuestion(i, part, e)
	case lesson.Expect:
		if _, ofTask := s.tasks[part.Of]; !ofTask {
			s.layExpect(i, part, e)
		}
	case lesson.Show:
		s.layShow(i, part, e)
	case lesson.Reading:
		s.layRead(i, part, e)
	case lesson.Starter:
		s.layTask(i, part, e)
	}
}

// gap is an empty line between parts.
func (p *page) gap() {
	if n := len(p.lines); n > 0 && p.lines[n-1].text != "" {
		p.lines = append(p.lines, line{link: -1, part: p.part})
	}
}

// trim removes empty lines at the end.
func (p *page) trim() {
	for n := len(p.lines); n > 0 && p.lines[n-1].text == ""; n-- {
		p.lines = p.lines[:n-1]
	}
}

// say adds a sentence after a sign. Further lines are indented beside the sign.
func (p *page) say(sign, text string, style theme.Style) { p.sayLink(sign, text, style, -1) }

func (p *page) sayLink(sign, text string, style theme.Style, link int) {
	indent := strings.Repeat(" ", draw.Width(sign))
	for k, part := range draw.Wrap(draw.Clean(text), max(p.w-len(indent), 1)) {
		l := line{text: indent + part, link: -1, part: p.part, first: k == 0}
		if k == 0 {
			l.text, l.link = sign+part, link
		}
		if style != nil {
			l.text = style(l.text)
		}
		p.lines = append(p.lines, l)
	}
}

// verbatim adds text unchanged, after a sign; further lines have an indent.
func (p *page) verbatim(sign, text string, style theme.Style) {
	indent := strings.Repeat(" ", draw.Width(sign))
	for k, part := range markdown.Verbatim(text, max(p.w-len(indent), 1)) {
		head := indent
		if k == 0 {
			head = sign
		}
		if style != nil {
			part = style(part)
		}
		p.lines = append(p.lines, line{text: head + part, link: -1, part: p.part, first: k == 0})
	}
}

// add makes a link of the part, and returns its index.
func (p *page) add(l link) int {
	l.part = p.part
	p.links = append(p.links, l)
	return len(p.links) - 1
}

// reveal scrolls to the learner's last action, with as much of the rest as fits.
func (s *Screen) reveal() {
	s.lay()
	n, h := len(s.page.lines), s.text.Height()
	if news := s.page.news; news >= 0 && (news < s.text.Top() || n > s.text.Top()+h) {
		s.text.SetTop(min(news, n-h))
		return
	}
	if n <= s.text.Top()+h {
		s.text.SetTop(s.text.Top()) // it may have become shorter
		return
	}
	for i, l := range s.page.lines {
		if l.part >= s.acted && l.text != "" {
			s.text.SetTop(min(i, n-h))
			return
		}
	}
	s.text.SetTop(n - h)
}

// unfold shows or hides the middle of long outputs. The lowest visible part keeps its place on the screen.
func (s *Screen) unfold() {
	s.lay()
	top, lines := s.text.Top(), s.page.lines
	end := min(top+s.text.Height(), len(lines))
	if top >= end {
		s.full = !s.full
		return
	}
	part := lines[end-1].part
	at := top + slices.IndexFunc(lines[top:end], func(l line) bool { return l.part == part })
	within := at - slices.IndexFunc(lines, func(l line) bool { return l.part == part })
	s.full = !s.full
	s.lay()
	if begins := slices.IndexFunc(s.page.lines, func(l line) bool { return l.part == part }); begins >= 0 {
		s.text.SetTop(begins + within - (at - top))
	}
}

// toEnd scrolls to the end: the key that goes on then does the next part.
func (s *Screen) toEnd() {
	s.lay()
	s.text.SetTop(len(s.page.lines))
}

// turnPage scrolls to the first line below the view, or to the beginning of its paragraph unless that is the first
// line in view.
func (s *Screen) turnPage() {
	top := s.text.Top()
	to := min(top+s.text.Height(), len(s.page.lines)-1)
	for start := to; start > top; start-- {
		if s.page.lines[start].first {
			to = start
			break
		}
	}
	s.text.SetTop(max(to, top+1))
}

// content is the page for its pane.
func (s *Screen) content() pane.Content {
	look := s.host.Theme()
	return pane.Content{
		Title: look.Title(draw.Clean(s.options.Lesson.Title)), Note: s.progressText(), Rows: len(s.page.lines), Text: true, Foot: s.foot,
		Empty: []string{" " + s.phrase("The lesson has no text.")},
		Row: func(i int) pane.Row {
			l := s.page.lines[i]
			mark := "  "
			if l.link >= 0 && l.link == s.link {
				mark = look.Key("> ")
			}
			return pane.Row{Text: mark + l.text}
		},
	}
}

// progressText returns the learner's progress, counted in blocks.
func (s *Screen) progressText() string {
	all, before := 0, 0
	for i, part := range s.options.Lesson.Parts {
		switch part.(type) {
		case lesson.Text, lesson.Hint, lesson.Solution, lesson.Hold, lesson.Fault:
			continue
		}
		all++
		if i < s.next {
			before++
		}
	}
	note := s.phrase("%d of %d done", before, all)
	if s.below {
		note = s.phrase("more below") + "  " + note
	}
	return note
}

// scriptHigh limits the visible lines of a task's commands while the learner edits them.
const scriptHigh = 8

// foot draws the learner's input.
func (s *Screen) foot(int) []string {
	w, h := s.text.Size()
	look := s.host.Theme()
	rule := look.Dim(strings.Repeat("╌", max(w-2, 0)))
	switch {
	case s.editing:
		high := max(min(s.script.Lines(), scriptHigh, h/2-3), 1)
		s.script.SetSize(max(w-3, 1), high)
		help := " " + s.phrase("alt+r runs them, esc leaves them as they are here")
		return append([]string{rule, look.Dim(help)}, s.script.Render(editor.Look{Dim: look.Dim, Bad: look.Bad, Cursor: true})...)
	case s.Typing():
		return []string{rule, " $ " + s.Line().View(max(w-5, 1))}
	}
	return nil
}

// outputHead and outputTail are the lines of an output that are shown at its beginning and end, unless it is
// unfolded.
const (
	outputHead = 12
	outputTail = 6
	// lowHead and lowTail replace them on a terminal below lowHeight, where the parts after the output would not fit.
	lowHead   = 5
	lowTail   = 3
	lowHeight = 20
)

// layOutput adds what a command printed.
func (s *Screen) layOutput(text string) {
	const indent = "  "
	p := &s.page
	if text = strings.TrimRight(text, "\n"); text == "" {
		return
	}
	const kept = 64 // growing output is a new text each time
	lines := p.outputs[text]
	if lines == nil {
		if len(p.outputs) > kept {
			clear(p.outputs)
		}
		lines = fitOutput(strings.Split(text, "\n"), max(p.w-len(indent), 1))
		p.outputs[text] = lines
	}
	add := func(lines []string) {
		for _, l := range lines {
			p.lines = append(p.lines, line{text: indent + l, link: -1, part: p.part})
		}
	}
	head, tail := outputHead, outputTail
	if s.text.Height() < lowHeight {
		head, tail = lowHead, lowTail
	}
	if hidden := len(lines) - head - tail; hidden > 1 && !s.full {
		add(lines[:head])
		p.say(indent, s.phrase("… %d more lines: %s shows them", hidden, fullKey), p.look.Dim)
		lines = lines[len(lines)-tail:]
	}
	add(lines)
}

// layScript adds commands.
func (p *page) layScript(script string) {
	sign := "$ "
	for _, l := range strings.Split(strings.TrimRight(script, "\n"), "\n") {
		p.verbatim(sign, l, p.look.Layer)
		sign = "│ "
	}
}

// layAsides adds what the learner typed.
func (s *Screen) layAsides(e *entry) {
	p := &s.page
	for k, a := range e.asides {
		if e == s.at() && e.news == ofAside && k == len(e.asides)-1 {
			p.news = len(p.lines)
		}
		p.say("", s.phrase("You typed:"), p.look.Dim)
		p.layScript(a.line)
		s.layOutput(a.outcome.Output)
		switch {
		case !a.ended:
			p.say("  ", s.phrase("it runs"), p.look.Notice)
		case errors.Is(a.err, errStopped):
			p.say("  ", s.phrase("You stopped it."), p.look.Notice)
		case a.err != nil:
			p.say("  ", a.err.Error(), p.look.Bad)
		case a.outcome.Exit != 0:
			p.say("  ", s.phrase("exit code %d", a.outcome.Exit), p.look.Notice)
		}
		p.gap()
	}
}
