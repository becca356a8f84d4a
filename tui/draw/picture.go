package draw

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"regexp"
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
