package picture

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/kx-apiserver/kx/core/escape"
	"github.com/kx-apiserver/kx/tui/draw"
)

// The size of a cell, and the margin around all of them.
const (
	CellWidth = 8
	RowHeight = 18
	Border    = 12
)

// Look is the style of a piece of text: the attributes of its tspan, and its background; empty for the defaults.
type Look struct{ Attributes, Back string }

var sgr = regexp.MustCompile("\x1b\\[([0-9;]*)m")

// Row draws a line of text as the n-th row. look returns the style for the codes of a colour.
func Row(b *bytes.Buffer, n int, line string, look func(codes string) Look) {
	cell := 0
	pieces := func(each func(cell int, text string, l Look)) {
		now, rest := Look{}, line
		for cell = 0; rest != ""; {
			text, next, behind := rest, now, ""
			if at := sgr.FindStringSubmatchIndex(rest); at != nil {
				text, next, behind = rest[:at[0]], look(rest[at[2]:at[3]]), rest[at[1]:]
			}
			if text != "" {
				each(cell, text, now)
			}
			cell += draw.Width(text)
			now, rest = next, behind
		}
	}
	pieces(func(cell int, text string, l Look) {
		if l.Back != "" {
			fmt.Fprintf(b, `<rect x="%d" y="%d" width="%d" height="%d" fill="%s"/>`, Border+cell*CellWidth,
				n*RowHeight-RowHeight*13/18, draw.Width(text)*CellWidth, RowHeight, l.Back)
		}
	})
	fmt.Fprintf(b, `<text y="%d">`, n*RowHeight)
	pieces(func(cell int, text string, l Look) {
		inner := strings.TrimLeft(text, " ")
		if inner == "" {
			return
		}
		cell += len(text) - len(inner)
		text = strings.TrimRight(inner, " ")
		fmt.Fprintf(b, `<tspan x="%d" textLength="%d"`, Border+cell*CellWidth, draw.Width(text)*CellWidth) // whatever the font
		if l.Attributes != "" {
			b.WriteString(" " + l.Attributes)
		}
		fmt.Fprintf(b, ">%s</tspan>", InXML(text))
	})
	b.WriteString("</text>\n")
}

// InXML escapes a text, including characters that XML can't represent.
func InXML(text string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(escape.Line(text))) // a Builder does not fail
	return b.String()
}

const frameHead = `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %[1]d %[2]d" xml:space="preserve" role="img">
<title>%s</title>
<style>text { fill: %s; font-family: ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace; font-size: 13px; white-space: pre; }</style>
<rect width="100%%" height="100%%" rx="8" fill="%s"/>
<g transform="translate(0,%d)">
`

// Frame draws a frame of the screen in 24-bit colours. text and ground are the default colours.
func Frame(title string, lines []string, text, ground string) []byte {
	cells := 0
	for _, l := range lines {
		cells = max(cells, draw.Width(l))
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, frameHead, 2*Border+cells*CellWidth, 2*Border+len(lines)*RowHeight, InXML(title), text, ground, Border+RowHeight/2)
	for i, l := range lines {
		Row(&b, i, strings.TrimRight(l, " "), trueColour)
	}
	b.WriteString("</g>\n</svg>\n")
	return b.Bytes()
}

// trueColour reads the codes of bold, and of 24-bit colours.
func trueColour(codes string) (l Look) {
	var attributes []string
	all := strings.Split(codes, ";")
	for i := 0; i < len(all); i++ {
		switch all[i] {
		case "1":
			attributes = append(attributes, `font-weight="bold"`)
		case "38", "48":
			if i+4 >= len(all) || all[i+1] != "2" {
				return l
			}
			rgb := hex(all[i+2 : i+5])
			if all[i] == "38" {
				attributes = append(attributes, `fill="`+rgb+`"`)
			} else {
				l.Back = rgb
			}
			i += 4
		}
	}
	l.Attributes = strings.Join(attributes, " ")
	return l
}

// hex returns a colour in SVG's notation.
func hex(parts []string) string {
	out := "#"
	for _, p := range parts {
		n, err := strconv.ParseUint(p, 10, 8)
		if err != nil {
			return "#808080"
		}
		out += fmt.Sprintf("%02x", n)
	}
	return out
}
