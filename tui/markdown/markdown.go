package markdown

import (
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"

	"github.com/kx-apiserver/kx/tui/draw"
	"github.com/kx-apiserver/kx/tui/theme"
)

// Line is one line of the layout.
type Line struct {
	// Text may contain colours.
	Text string
	// First marks the beginning of a paragraph, a heading or the like.
	First bool
}

// Lines lays out text in lines of at most w cells.
func Lines(text string, w int, look theme.Theme) []Line {
	p := &page{w: max(w, 1), look: look}
	p.lay(strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n"))
	for len(p.lines) > 0 && p.lines[len(p.lines)-1].Text == "" {
		p.lines = p.lines[:len(p.lines)-1]
	}
	return p.lines
}

type page struct {
	w     int
	look  theme.Theme
	lines []Line
}

var (
	heading  = regexp.MustCompile(`^(#{1,6}) +(.*?)( +#+)?$`)
	bullet   = regexp.MustCompile(`^( *)([-*+]|\d{1,3}[.)]) +(.*)$`)
	ruler    = regexp.MustCompile(`^ {0,3}([-*_])( *([-*_])){2,} *$`)
	fence    = regexp.MustCompile("^ {0,3}(`{3,}|~{3,})")
	tableRow = regexp.MustCompile(`^ *\|.*\| *$`)
	dashes   = regexp.MustCompile(`^[ |:-]+$`)
)

// lay lays out block after block.
func (p *page) lay(lines []string) {
	for i := 0; i < len(lines); {
		n := 1
		switch line := lines[i]; {
		case strings.TrimSpace(line) == "":
			p.gap()
		case fence.MatchString(line):
			n = p.code(lines[i:])
		case strings.HasPrefix(strings.TrimSpace(line), "<!--"):
			n = comment(lines[i:])
		case heading.MatchString(line):
			m := heading.FindStringSubmatch(line)
			p.heading(len(m[1]), m[2])
		case ruler.MatchString(line):
			p.block([]string{p.look.Dim(strings.Repeat("─", p.w))})
		case tableRow.MatchString(line):
			n = p.table(lines[i:])
		case strings.HasPrefix(strings.TrimSpace(line), ">"):
			n = p.quote(lines[i:])
		case bullet.MatchString(line):
			n = p.item(lines[i:])
		default:
			n = extent(lines[i:])
			p.block(inline(join(lines[i:i+n]), p.w, p.look))
		}
		i += n
	}
}

// gap adds one empty line, however many the text has.
func (p *page) gap() {
	if n := len(p.lines); n > 0 && p.lines[n-1].Text != "" {
		p.lines = append(p.lines, Line{})
	}
}

// block adds lines that belong together.
func (p *page) block(lines []string) {
	for i, line := range lines {
		p.lines = append(p.lines, Line{Text: line, First: i == 0})
	}
}

func (p *page) heading(level int, text string) {
	p.gap()
	lines := wrap(spans(text), p.w)
	width := 0
	var out []string
	for _, line := range lines {
		width = max(width, draw.Width(line.text()))
		out = append(out, p.look.Title(line.text()))
	}
	switch level {
	case 1:
		out = append(out, p.look.Dim(strings.Repeat("═", width)))
	case 2:
		out = append(out, p.look.Dim(strings.Repeat("─", width)))
	}
	p.block(out)
	p.lines = append(p.lines, Line{})
}

// code lays out a fence and its contents, verbatim. It returns the number of lines that it consumed.
func (p *page) code(lines []string) int {
	const indent = "  "
	end := fence.FindStringSubmatch(lines[0])[1]
	var out []string
	n := 1
	for ; n < len(lines); n++ {
		if strings.HasPrefix(strings.TrimSpace(lines[n]), end) && strings.Trim(strings.TrimSpace(lines[n]), end[:1]) == "" {
			n++
			break
		}
		for _, part := range Verbatim(lines[n], p.w-len(indent)) {
			out = append(out, indent+p.look.Layer(part))
		}
	}
	p.block(out)
	return n
}

// Verbatim breaks a line into lines of at most w cells without other changes: at spaces, but not within words that
// fit. Further lines are indented.
func Verbatim(line string, w int) []string {
	const tab, more = "    ", "    "
	line = draw.Clean(strings.ReplaceAll(line, "\t", tab))
	w = max(w, 1)
	if draw.Width(line) <= w {
		return []string{line}
	}
	indent := more
	if w <= 3*len(more) {
		indent = ""
	}
	var out []string
	for rest, lead := line, ""; rest != ""; lead = indent {
		part := beginning(rest, w-len(lead))
		rest = strings.TrimLeft(rest[len(part):], " ")
		out = append(out, lead+strings.TrimRight(part, " "))
	}
	return out
}

// beginning returns the part of a text that fits into w cells: as many words as fit, or a part of the first.
func beginning(text string, w int) string {
	const most = 16 // bytes of a cell: so a long text is not looked at as a whole for each of its lines
	window := text
	for n := range text {
		if n >= most*w {
			window = text[:n]
			break
		}
	}
	part := ansi.Truncate(window, w, "")
	if part == text {
		return part
	}
	if part == "" { // a wide character in one cell
		_, n := utf8.DecodeRuneInString(text)
		return text[:n]
	}
	space := strings.LastIndexByte(part, ' ')
	if strings.TrimSpace(part[:space+1]) != "" && text[len(part)] != ' ' && draw.Width(part[space+1:]) < w/2 {
		return part[:space+1]
	}
	return part
}

// comment counts the lines of a comment.
func comment(lines []string) int {
	for i, line := range lines {
		if strings.Contains(line, "-->") {
			return i + 1
		}
	}
	return len(lines)
}

// quote lays out a quote.
func (p *page) quote(lines []string) int {
	n := 0
	var inner []string
	for ; n < len(lines) && strings.HasPrefix(strings.TrimSpace(lines[n]), ">"); n++ {
		inner = append(inner, strings.TrimPrefix(strings.TrimPrefix(strings.TrimSpace(lines[n]), ">"), " "))
	}
	for _, line := range Lines(strings.Join(inner, "\n"), p.w-2, p.look) {
		line.Text = p.look.Dim("│ ") + line.Text
		p.lines = append(p.lines, line)
	}
	return n
}

// item lays out one item of a list, with its continuation lines.
func (p *page) item(lines []string) int {
	m := bullet.FindStringSubmatch(lines[0])
	mark := m[2]
	if strings.Contains("-*+", mark) {
		mark = "•"
	}
	indent := strings.Repeat(" ", min(len(m[1]), p.w/3))
	head := indent + mark + " "
	own := []string{m[3]}
	n := 1
	for ; n < len(lines) && !begins(lines[n]); n++ {
		own = append(own, lines[n])
	}
	room := max(p.w-draw.Width(head), 1)
	var out []string
	for i, line := range inline(join(own), room, p.look) {
		if i == 0 {
			out = append(out, head+line)
		} else {
			out = append(out, strings.Repeat(" ", draw.Width(head))+line)
		}
	}
	p.block(out)
	return n
}

// extent counts the lines of a paragraph.
func extent(lines []string) int {
	n := 1
	for n < len(lines) && !begins(lines[n]) {
		n++
	}
	return n
}

// begins reports whether a line ends the paragraph before it.
func begins(line string) bool {
	return strings.TrimSpace(line) == "" || fence.MatchString(line) || heading.MatchString(line) || bullet.MatchString(line) ||
		tableRow.MatchString(line) || strings.HasPrefix(strings.TrimSpace(line), ">") || strings.HasPrefix(strings.TrimSpace(line), "<!--")
}

// join joins the lines of a paragraph. Chinese needs no space between lines.
func join(lines []string) string {
	var b strings.Builder
	for _, line := range lines {
		line = strings.TrimSpace(line)
		if b.Len() > 0 && !(wideEnd(b.String()) && wideStart(line)) {
			b.WriteByte(' ')
		}
		b.WriteString(line)
	}
	return b.String()
}

func wideEnd(s string) bool {
	r := []rune(s)
	return len(r) > 0 && draw.Width(string(r[len(r)-1])) == 2
}

func wideStart(s string) bool {
	for _, r := range s {
		return draw.Width(string(r)) == 2
	}
	return false
}
