package picture

import (
	"fmt"
	"slices"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/kx-apiserver/kx/core/lang"
	"github.com/kx-apiserver/kx/core/story"
	"github.com/kx-apiserver/kx/tui/draw"
	"github.com/kx-apiserver/kx/tui/keys"
	"github.com/kx-apiserver/kx/tui/pane"
	"github.com/kx-apiserver/kx/tui/theme"
)

// canvas is the pane of the picture. It has no frame: every cell is for the picture.
type canvas struct {
	screen *Screen
	w, h   int
}

var _ pane.Pane = (*canvas)(nil)

func (c *canvas) SetSize(w, h int) { c.w, c.h = max(w, 0), max(h, 0) }

// Handle knows no motion: the screen walks.
func (c *canvas) Handle(keys.ID) (tea.Cmd, bool) { return nil, false }

// Click walks on, as a click does on slides.
func (c *canvas) Click(int, int) bool {
	return c.screen.goTo(c.screen.at + 1)
}

// margin is the room at the left of sentences, facts and code.
const margin = 2

// part is a part of the picture, from top to bottom.
type part struct {
	lines []string
	// least is the number of lines that are kept where there is no room for all.
	least int
}

func (c *canvas) Render(bool) []string {
	s, look := c.screen, c.screen.host.Theme()
	if s.trips == nil {
		how := look.Words.Phrase("No request is drawn: press %s on one in Capture.", keys.Draw.Key())
		return draw.Block([]string{"", strings.Repeat(" ", margin) + how}, c.w, c.h)
	}
	t := &s.trips[0]
	parts := []part{c.head(look, t), c.boxes(look, t), c.sentence(look, t, sentenceMost), c.facts(look, t), c.code(look, t, codeMost)}
	if s.fork != nil {
		parts = c.both(look)
	}
	return draw.Block(fitParts(parts, c.h), c.w, c.h)
}

// The heights from which there is room for more of two requests. Below codesFrom they have the code of the second
// alone, and few lines of it. Below framesFrom their boxes have no lines above and below.
const (
	codesFrom  = 30
	framesFrom = 25
)

// flat reports whether boxes have no lines above and below.
func (c *canvas) flat() bool { return c.screen.fork != nil && c.h < framesFrom }

// both draws two requests, one above the other, so that their boxes have the same places.
func (c *canvas) both(look theme.Theme) []part {
	s := c.screen
	var parts, codes []part
	for i := range s.trips {
		picture := c.head(look, &s.trips[i])
		picture.lines = append(picture.lines, c.boxes(look, &s.trips[i]).lines...)
		picture.least = len(picture.lines)
		parts = append(parts, picture)
		if c.h >= codesFrom {
			codes = append(codes, c.code(look, &s.trips[i], codeMost))
		}
	}
	parts = append(parts, part{lines: c.text(look.Notice, "", s.fork.Text(s.at), sentenceMost), least: sentenceLeast})
	if c.h < codesFrom {
		code := c.code(look, s.last(), codeFew)
		code.least = len(code.lines)
		codes = []part{code}
	}
	room := c.h - countLines(parts) - countLines(codes)
	for i := range s.trips {
		others := sentenceLeast * (len(s.trips) - 1 - i)
		sentence := c.sentence(look, &s.trips[i], max(min(room-others, sentenceMost), sentenceLeast))
		room -= len(sentence.lines)
		parts = append(parts, sentence)
	}
	return slices.Concat(parts, codes)
}

func countLines(parts []part) (n int) {
	for _, p := range parts {
		n += len(p.lines)
	}
	return n
}

// between limits the empty lines between two parts.
const between = 3

// fitParts puts parts below each other. What does not fit is cut from the last part upward; what remains of the room is
// shared between the parts, from the first on.
func fitParts(parts []part, h int) (lines []string) {
	over := countLines(parts) - h
	for i := len(parts) - 1; i >= 0 && over > 0; i-- {
		cut := min(over, max(len(parts[i].lines)-parts[i].least, 0))
		parts[i].lines = parts[i].lines[:len(parts[i].lines)-cut]
		over -= cut
	}
	for i, p := range parts {
		if i > 0 && len(p.lines) > 0 {
			empty := max(min(between, (-over+len(parts)-1-i)/(len(parts)-i)), 0)
			lines = append(lines, make([]string, empty)...)
			over += empty
		}
		lines = append(lines, p.lines...)
	}
	return lines
}

// head says which request it is, what the answer was, and which stop this is.
func (c *canvas) head(look theme.Theme, t *trip) part {
	q, st := &t.walk.Journey.Spec, &t.walk.Journey.Status
	answer := string(st.Phase)
	if st.Code > 0 {
		answer = fmt.Sprint(st.Code)
	}
	left := " " + t.name + look.Title(draw.Clean(q.Method+" "+q.URI))
	right := look.Words.Phrase("%s, stop %d of %d", answer, t.at+1, len(t.walk.Stops)) + " "
	return part{lines: []string{draw.Ends(draw.Fit(left, max(c.w-draw.Width(right)-1, 0)), right, c.w)}, least: 1}
}

// The lines of boxes: those of what the request touched, and of others.
type border struct{ across, down, topLeft, topRight, bottomLeft, bottomRight, wire string }

var (
	heavy  = border{"━", "┃", "┏", "┓", "┗", "┛", "━"}
	dashed = border{"╌", "┆", "┌", "┐", "└", "┘", "╌"}
)

// boxes draws the boxes, and the dot below the one of the stop. Where they do not fit it names them.
func (c *canvas) boxes(look theme.Theme, t *trip) part {
	all := story.Boxes()
	need, deepest := 0, story.Client
	for _, b := range all {
		need += draw.Width(b.Name(look.Words)) + 2
		if t.walk.Touched[b] {
			deepest = b
		}
	}
	gaps := len(all) - 1
	if need+gaps > c.w {
		return c.named(look, t, all)
	}
	const widest = 4 // of the cells between two boxes, and on each side of a name
	padding := min((c.w-need-2*gaps)/(2*len(all)), widest)
	padding = max(padding, 0)
	gap := min((c.w-need-2*padding*len(all))/gaps, widest)
	left := (c.w - need - 2*padding*len(all) - gap*gaps) / 2
	rows := [3]strings.Builder{}
	for i := range rows {
		rows[i].WriteString(strings.Repeat(" ", left))
	}
	below, ways := ruler{w: c.w}, ruler{w: c.w}
	x := left
	for i, b := range all {
		name := strings.Repeat(" ", padding) + b.Name(look.Words) + strings.Repeat(" ", padding)
		w := draw.Width(name)
		line, paint := dashed, look.Dim
		if t.walk.Touched[b] {
			line, paint = heavy, look.Title
		}
		frame := paint
		if b == t.stop().Box {
			paint, frame = look.Selected, look.Focus
		}
		rows[0].WriteString(frame(line.topLeft + strings.Repeat(line.across, w) + line.topRight))
		rows[1].WriteString(frame(line.down) + paint(name) + frame(line.down))
		rows[2].WriteString(frame(line.bottomLeft + strings.Repeat(line.across, w) + line.bottomRight))
		below.put(x+(w+2)/2, c.below(look.Words, t, b))
		ways.put(x+(w+2)/2, c.ways(look.Words, t, b))
		x += w + 2 + gap
		if i == gaps {
			break
		}
		wire := dashed.wire
		if all[i+1] <= deepest {
			wire = heavy.wire
		}
		rows[0].WriteString(strings.Repeat(" ", gap))
		rows[1].WriteString(strings.Repeat(wire, gap))
		rows[2].WriteString(strings.Repeat(" ", gap))
	}
	drawn := []string{rows[0].String(), rows[1].String(), rows[2].String(), look.Key(below.text)}
	if c.flat() {
		drawn = []string{rows[1].String(), look.Key(below.text)}
	}
	if ways.text != "" {
		drawn = append(drawn, look.Dim(draw.Fit(ways.text, c.w)))
	}
	return part{lines: drawn, least: len(drawn)}
}

// below is the text below a box: the dot, and whether the outcome was decided there.
func (c *canvas) below(in lang.Language, t *trip, b story.Box) string {
	text := ""
	for _, stop := range t.walk.Stops {
		if stop.Decided && stop.Box == b {
			text = in.Phrase("decided")
		}
	}
	if b == t.stop().Box {
		text = strings.TrimSpace("● " + text)
	}
	return text
}

// ways are the names of the ways that leave the one of the opened request in a box. The one that is drawn beside it
// stands in brackets.
func (c *canvas) ways(in lang.Language, t *trip, b story.Box) string {
	var names []string
	if t.walk.Journey != c.screen.origin.Journey {
		return ""
	}
	for i, v := range c.screen.variants {
		if v.Box == b {
			name := in.Text(v.Name)
			if c.screen.way == i+1 {
				name = "[" + name + "]"
			}
			names = append(names, "╰ "+name)
		}
	}
	return strings.Join(names, "  ")
}

// named names the boxes on a line, the one of the stop in brackets; or that one alone.
func (c *canvas) named(look theme.Theme, t *trip, all []story.Box) part {
	var names []string
	for _, b := range all {
		name := b.Name(look.Words)
		if b == t.stop().Box {
			name = look.Selected("[" + name + "]")
		}
		if t.walk.Touched[b] {
			names = append(names, name)
		}
	}
	line := " " + strings.Join(names, " > ")
	if draw.Width(line) > c.w {
		line = " " + look.Selected("["+t.stop().Box.Name(look.Words)+"]")
	}
	lines := []string{line}
	for _, b := range all {
		if ways := c.ways(look.Words, t, b); ways != "" {
			lines = append(lines, look.Dim(draw.Fit(" "+b.Name(look.Words)+" "+ways, c.w)))
		}
	}
	return part{lines: lines, least: 1}
}

// ruler is a line on which texts have their places.
type ruler struct {
	text string
	w    int
}

// put puts a text around a cell, behind what is there.
func (r *ruler) put(middle int, text string) {
	if text == "" {
		return
	}
	n := draw.Width(text)
	x := max(min(middle-n/2, r.w-n), draw.Width(r.text)+min(len(r.text), 1))
	r.text += strings.Repeat(" ", max(x-draw.Width(r.text), 0)) + text
}

// What limits the lines of a sentence, and what remains of it where there is little room.
const (
	sentenceMost  = 5
	sentenceLeast = 2
)

// sentence is the sentence of the stop, in at most some lines.
func (c *canvas) sentence(look theme.Theme, t *trip, most int) part {
	stop := t.stop()
	text, paint := stop.Text, look.Title
	if stop.Failed {
		text, paint = "! "+text, look.Bad
	}
	return part{lines: c.text(paint, t.name, text, most), least: sentenceLeast}
}

// text is a text behind a name, in at most some lines.
func (c *canvas) text(paint theme.Style, name, text string, most int) []string {
	lines := wrapText(text, c.w-2*margin-draw.Width(name), most)
	for i, l := range lines {
		lines[i] = strings.Repeat(" ", margin) + name + paint(l)
		name = strings.Repeat(" ", draw.Width(name))
	}
	return lines
}

// wrapText breaks a text into lines, at most some. The last of a longer text ends with an ellipsis.
func wrapText(text string, w, most int) []string {
	w = max(w, 1)
	lines := draw.Wrap(draw.Clean(text), w)
	if len(lines) > most {
		lines = lines[:most]
		lines[most-1] = draw.Fit(strings.TrimRight(lines[most-1], " ")+"…", w)
	}
	return lines
}

// factMost limits the lines of what was carried, and of what came back.
const factMost = 3

// facts are what was carried, and what came back.
func (c *canvas) facts(look theme.Theme, t *trip) part {
	stop := t.stop()
	names := []string{look.Words.Phrase("carried"), look.Words.Phrase("came back")}
	wide := max(draw.Width(names[0]), draw.Width(names[1])) + 2
	var p part
	for i, text := range []string{stop.Carried, stop.Back} {
		if text == "" {
			continue
		}
		for k, l := range wrapText(text, c.w-2*margin-wide, factMost) {
			label := ""
			if k == 0 {
				label = names[i]
			}
			p.lines = append(p.lines, strings.Repeat(" ", margin)+look.Key(draw.Fit(label, wide))+l)
		}
	}
	p.least = min(len(p.lines), 2)
	return p
}

// What limits the lines of code around the one that decided.
const (
	codeMost = 6
	codeFew  = 3
)

// code is the code around the line that decided, in at most some lines.
func (c *canvas) code(look theme.Theme, t *trip, most int) part {
	step := t.step()
	if step == nil {
		return part{}
	}
	at := step.DecisionPlace()
	indent := strings.Repeat(" ", margin)
	p := part{lines: []string{indent + t.name + look.Dim(draw.Clean(fmt.Sprintf("%s:%d  %s", at.File, at.Line, at.Function)))}}
	file, note := c.screen.sources.Get(at.File)
	if file == nil {
		p.lines = append(p.lines, indent+look.Dim(look.Words.Text(note)))
		return p
	}
	first, lines := story.CodeAround(file.Text, int(at.Line))
	if n := len(lines); n > most {
		from := max(min(int(at.Line)-first-most/2, n-most), 0)
		first, lines = first+from, lines[from:from+most]
	}
	for i, l := range lines {
		mark, paint := "  ", look.Dim
		if first+i == int(at.Line) {
			mark, paint = "=>", look.Notice
		}
		p.lines = append(p.lines, indent+paint(draw.Clean(fmt.Sprintf("%s %5d  %s", mark, first+i, l))))
	}
	return p
}
