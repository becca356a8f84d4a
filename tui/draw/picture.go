package draw

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/kx-apiserver/kx/core/escape"
)

// The size of a cell, and the margin around all of them.
const (
	CellWidth     = 8
	RowHeight     = 18
	PictureBorder = 12
)

// PictureLook is the style of a piece of text: the attributes of its tspan, and its background; empty for the defaults.
type PictureLook struct{ Attributes, Back string }

var sgr = regexp.MustCompile("\x1b\\[([0-9;]*)m")

// PictureRow draws a line of text as the n-th row. look returns the style for the codes of a colour.
func PictureRow(b *bytes.Buffer, n int, line string, look func(codes string) PictureLook) {
	cell := 0
	pieces := func(each func(cell int, text string, l PictureLook)) {
		now, rest := PictureLook{}, line
		for cell = 0; rest != ""; {
			text, next, behind := rest, now, ""
			if at := sgr.FindStringSubmatchIndex(rest); at != nil {
				text, next, behind = rest[:at[0]], look(rest[at[2]:at[3]]), rest[at[1]:]
			}
			if text != "" {
				each(cell, text, now)
			}
			cell += Width(text)
			now, rest = next, behind
		}
	}
	pieces(func(cell int, text string, l PictureLook) {
		if l.Back != "" {
			fmt.Fprintf(b, `<rect x="%d" y="%d" width="%d" height="%d" fill="%s"/>`, PictureBorder+cell*CellWidth,
				n*RowHeight-RowHeight*13/18, Width(text)*CellWidth, RowHeight, l.Back)
		}
	})
	fmt.Fprintf(b, `<text y="%d">`, n*RowHeight)
	pieces(func(cell int, text string, l PictureLook) {
		inner := strings.TrimLeft(text, " ")
		if inner == "" {
			return
		}
		cell += len(text) - len(inner)
		text = strings.TrimRight(inner, " ")
		fmt.Fprintf(b, `<tspan x="%d" textLength="%d"`, PictureBorder+cell*CellWidth, Width(text)*CellWidth) // whatever the font
		if l.Attributes != "" {
			b.WriteString(" " + l.Attributes)
		}
		fmt.Fprintf(b, ">%s</tspan>", EscapeXML(text))
	})
	b.WriteString("</text>\n")
}

// EscapeXML escapes a text, including characters that XML can't represent.
func EscapeXML(text string) string {
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

// Picture draws a frame of the screen as SVG, in 24-bit colours. text and ground are the default colours. The SVG has
// no scripts. Each piece of text begins at its own cell, so that columns hold with any font. All text is escaped.
func Picture(title string, lines []string, text, ground string) []byte {
	cells := 0
	for _, l := range lines {
		cells = max(cells, Width(l))
	}
	var b bytes.Buffer
	width, height := 2*PictureBorder+cells*CellWidth, 2*PictureBorder+len(lines)*RowHeight
	fmt.Fprintf(&b, frameHead, width, height, EscapeXML(title), text, ground, PictureBorder+RowHeight/2)
	for i, l := range lines {
		PictureRow(&b, i, strings.TrimRight(l, " "), trueColour)
	}
	b.WriteString("</g>\n</svg>\n")
	return b.Bytes()
}

// trueColour reads the codes of bold, and of 24-bit colours.
func trueColour(codes string) (l PictureLook) {
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
