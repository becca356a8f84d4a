package picture

import (
	"fmt"
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
	if c.screen.walk == nil {
		return false
	}
	c.screen.at = min(c.screen.at+1, len(c.screen.walk.Stops)-1)
	return true
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
	if s.walk == nil {
		how := look.Words.Phrase("No request is drawn: press %s on one in Capture.", keys.Draw.Key())
		return draw.Block([]string{"", strings.Repeat(" ", margin) + how}, c.w, c.h)
	}
	return draw.Block(fitted([]part{c.head(look), c.boxes(look), c.sentence(look), c.facts(look), c.code(look)}, c.h), c.w, c.h)
}

// between limits the empty lines between two parts.
const between = 3

// fitted puts parts below each other. What does not fit is cut from the last part upward; what remains of the room is
// shared between the parts, from the first on.
func fitted(parts []part, h int) (lines []string) {
	over := -h
	for _, p := range parts {
		over += len(p.lines)
	}
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
func (c *canvas) head(look theme.Theme) part {
	q, st := &c.screen.journey.Spec, &c.screen.journey.Status
	answer := string(st.Phase)
	if st.Code > 0 {
		answer = fmt.Sprint(st.Code)
	}
	left := " " + look.Title(draw.Clean(q.Method+" "+q.URI))
	right := look.Words.Phrase("%s, stop %d of %d", answer, c.screen.at+1, len(c.screen.walk.Stops)) + " "
	return part{lines: []string{draw.Ends(draw.Fit(left, max(c.w-draw.Width(right)-1, 0)), right, c.w)}, least: 1}
}

// The lines of boxes: those of what the request touched, and of others.
type border struct{ across, down, topLeft, topRight, bottomLeft, bottomRight, wire string }

var (
	heavy  = border{"━", "┃", "┏", "┓", "┗", "┛", "━"}
	dashed = border{"╌", "┆", "┌", "┐", "└", "┘", "╌"}
)

// boxes draws the boxes, and the dot below the one of the stop. Where they do not fit it names them.
func (c *canvas) boxes(look theme.Theme) part {
	s, all := c.screen, story.Boxes()
	need, deepest := 0, story.Client
	for _, b := range all {
		need += draw.Width(b.Name(look.Words)) + 2
		if s.walk.Touched[b] {
			deepest = b
		}
	}
	gaps := len(all) - 1
	if need+gaps > c.w {
		return c.named(look, all)
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
	below := ruler{w: c.w}
	x := left
	for i, b := range all {
		name := strings.Repeat(" ", padding) + b.Name(look.Words) + strings.Repeat(" ", padding)
		w := draw.Width(name)
		line, paint := dashed, look.Dim
		if s.walk.Touched[b] {
			line, paint = heavy, look.Title
		}
		frame := paint
		if b == s.stop().Box {
			paint, frame = look.Selected, look.Focus
		}
		rows[0].WriteString(frame(line.topLeft + strings.Repeat(line.across, w) + line.topRight))
		rows[1].WriteString(frame(line.down) + paint(name) + frame(line.down))
		rows[2].WriteString(frame(line.bottomLeft + strings.Repeat(line.across, w) + line.bottomRight))
		below.put(x+(w+2)/2, c.below(look.Words, b))
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
	return part{lines: drawn, least: len(drawn)}
}

// below is the text below a box: the dot, and whether the outcome was decided there.
func (c *canvas) below(in lang.Language, b story.Box) string {
	text := ""
	for _, stop := range c.screen.walk.Stops {
		if stop.Decided && stop.Box == b {
			text = in.Phrase("decided")
		}
	}
	if b == c.screen.stop().Box {
		text = strings.TrimSpace("● " + text)
	}
	return text
}

// named names the boxes on a line, the one of the stop in brackets; or that one alone.
func (c *canvas) named(look theme.Theme, all []story.Box) part {
	var names []string
	for _, b := range all {
		name := b.Name(look.Words)
		if b == c.screen.stop().Box {
			name = look.Selected("[" + name + "]")
		}
		if c.screen.walk.Touched[b] {
			names = append(names, name)
		}
	}
	line := " " + strings.Join(names, " > ")
	if draw.Width(line) > c.w {
		line = " " + look.Selected("["+c.screen.stop().Box.Name(look.Words)+"]")
	}
	return part{lines: []string{line}, least: 1}
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

// sentenceMost limits the lines of the sentence.
const sentenceMost = 5

// sentence is the sentence of the stop.
func (c *canvas) sentence(look theme.Theme) part {
	stop := c.screen.stop()
	text, paint := stop.Text, look.Title
	if stop.Failed {
		text, paint = "! "+text, look.Bad
	}
	lines := wrapped(text, c.w-2*margin, sentenceMost)
	for i, l := range lines {
		lines[i] = strings.Repeat(" ", margin) + paint(l)
	}
	return part{lines: lines, least: 2}
}

// wrapped breaks a text into lines, at most some. The last of a longer text ends with an ellipsis.
func wrapped(text string, w, most int) []string {
	w = max(w, 1)
	lines := draw.Wrap(draw.Clean(text), w)
	if len(lines) > most {
		lines = lines[:most]
		lines[most-1] = draw.Fit(strings.TrimRight(lines[most-1], " ")+strings.Repeat("…", w), w)
	}
	return lines
}

// factMost limits the lines of what was carried, and of what came back.
const factMost = 3

// facts are what was carried, and what came back.
func (c *canvas) facts(look theme.Theme) part {
	stop := c.screen.stop()
	names := []string{look.Words.Phrase("carried"), look.Words.Phrase("came back")}
	wide := max(draw.Width(names[0]), draw.Width(names[1])) + 2
	var p part
	for i, text := range []string{stop.Carried, stop.Back} {
		if text == "" {
			continue
		}
		for k, l := range wrapped(text, c.w-2*margin-wide, factMost) {
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

// code is the code around the line that decided.
func (c *canvas) code(look theme.Theme) part {
	step := c.screen.step()
	if step == nil {
		return part{}
	}
	at := step.Decided()
	indent := strings.Repeat(" ", margin)
	p := part{lines: []string{indent + look.Dim(draw.Clean(fmt.Sprintf("%s:%d  %s", at.File, at.Line, at.Function)))}}
	file, note := c.screen.sources.Get(at.File)
	if file == nil {
		p.lines = append(p.lines, indent+look.Dim(look.Words.Text(note)))
		return p
	}
	first, lines := story.CodeAround(file.Text, int(at.Line))
	for i, l := range lines {
		mark, paint := "  ", look.Dim
		if first+i == int(at.Line) {
			mark, paint = "=>", look.Notice
		}
		p.lines = append(p.lines, indent+paint(draw.Clean(fmt.Sprintf("%s %5d  %s", mark, first+i, l))))
	}
	return p
}
