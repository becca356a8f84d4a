package tuitest

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"github.com/kx-apiserver/kx/tui/draw"
)

const pictureHead = `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %[1]d %[2]d" xml:space="preserve" role="img">
<title>%s</title>
<style>text { fill: %s; font-family: ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace; font-size: 13px; white-space: pre; }%s</style>
<rect width="100%%" height="100%%" rx="8" fill="%s"/>
`

// frameSeconds is how long a moving picture shows each frame.
const frameSeconds = 4

// turns shows one frame after the other. Who wants nothing to move sees the last.
const turns = `
.frame { visibility: hidden; animation: turn %ds step-end infinite; }
@keyframes turn { 0%% { visibility: visible; } %.3f%%, 100%% { visibility: hidden; } }
@media (prefers-reduced-motion: reduce) { .frame { animation: none; } .frame:last-of-type { visibility: visible; } }
`

// Picture draws frames of the screen as SVG, in 24-bit colours: one as it stands, several by turns. text and ground are
// the default colours. The SVG has no scripts. Each piece of text begins at its own cell, so that columns hold with any
// font. All text is escaped.
func Picture(title string, frames [][]string, text, ground string) []byte {
	cells, rows := 0, 0
	for _, lines := range frames {
		rows = max(rows, len(lines))
		for _, l := range lines {
			cells = max(cells, draw.Width(l))
		}
	}
	style := ""
	if len(frames) > 1 {
		style = fmt.Sprintf(turns, frameSeconds*len(frames), 100/float64(len(frames)))
	}
	var b bytes.Buffer
	width, height := 2*draw.PictureBorder+cells*draw.CellWidth, 2*draw.PictureBorder+rows*draw.RowHeight
	fmt.Fprintf(&b, pictureHead, width, height, draw.EscapeXML(title), text, style, ground)
	for i, lines := range frames {
		turn := ""
		if len(frames) > 1 {
			turn = fmt.Sprintf(` class="frame" style="animation-delay: %ds"`, frameSeconds*i)
		}
		fmt.Fprintf(&b, "<g transform=\"translate(0,%d)\"%s>\n", draw.PictureBorder+draw.RowHeight/2, turn)
		for n, l := range lines {
			draw.PictureRow(&b, n, strings.TrimRight(l, " "), trueColour)
		}
		b.WriteString("</g>\n")
	}
	b.WriteString("</svg>\n")
	return b.Bytes()
}

// trueColour reads the codes of bold, and of 24-bit colours.
func trueColour(codes string) (l draw.PictureLook) {
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
