package export

import (
	"bytes"
	"fmt"
	"io"
	"strings"

	"github.com/kx-apiserver/kx/cmd/kx/internal/render/journey"
	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/tui/draw"
)

// cellsMost limits the width of a drawing. Longer lines are wrapped.
const cellsMost = 180

// drawing writes SVG that shows the steps as a terminal does.
type drawing struct {
	*Document
	rows, cells int // of the pieces so far
}

// colours maps the escape codes of a painted journey to CSS classes.
var colours = map[string]string{"1": "bold", "2": "dim", "31": "bad", "32": "good", "33": "note", "36": "layer"}

// piece draws a journey below those before.
func (d *drawing) piece(j *v1alpha1.Journey, _ detail) (*piece, error) {
	var tree, b bytes.Buffer
	journey.Tree(&tree, j, d.Others[j.Name], journey.Coloured.WithLanguage(d.Language).WithWidth(cellsMost))
	rows, cells := d.rows, d.cells
	if name := d.side(j); name != "" {
		draw.PictureRow(&b, rows, "\x1b[1m"+name+"\x1b[0m", look)
		rows++
	}
	for line := range strings.Lines(tree.String()) {
		line = strings.TrimRight(line, "\n")
		cells = max(cells, draw.Width(line))
		draw.PictureRow(&b, rows, line, look)
		rows++
	}
	rows++ // an empty row separates journeys
	return &piece{body: b.Bytes(), accept: func() { d.rows, d.cells = rows, cells }}, nil
}

// look converts the escape codes of a painted journey.
func look(codes string) draw.PictureLook {
	class := colours[codes]
	if class == "" {
		return draw.PictureLook{}
	}
	return draw.PictureLook{Attributes: `class="` + class + `"`}
}

const drawingHead = `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %[1]d %[2]d" xml:space="preserve" role="img">
<title>%s</title>
<style>
svg { color-scheme: light dark; }
rect { fill: #ffffff; }
text { fill: #1f2328; font-family: ui-monospace, Menlo, Consolas, "DejaVu Sans Mono", monospace; font-size: 13px; white-space: pre; }
.bold { font-weight: bold; } .dim { fill: #59636e; } .layer { fill: #0550ae; } .note { fill: #7d4e00; } .bad { fill: #b00020; } .good { fill: #116329; }
@media (prefers-color-scheme: dark) {
rect { fill: #0d1117; }
text { fill: #e6edf3; }
.dim { fill: #9198a1; } .layer { fill: #79c0ff; } .note { fill: #e3b341; } .bad { fill: #ff7b72; } .good { fill: #7ee787; }
}
</style>
<rect width="100%%" height="100%%"/>
`

func (d *drawing) document(out io.Writer, pieces []*piece, notes []string) error {
	var head bytes.Buffer
	for _, note := range notes {
		d.cells = max(d.cells, draw.Width(note))
	}
	width, height := 2*draw.PictureBorder+d.cells*draw.CellWidth, 2*draw.PictureBorder+(len(notes)+d.rows)*draw.RowHeight
	fmt.Fprintf(&head, drawingHead, width, height, draw.EscapeXML(d.heading(len(pieces))))
	fmt.Fprintf(&head, `<g transform="translate(0,%d)">`+"\n", draw.PictureBorder+draw.RowHeight/2)
	for i, note := range notes {
		draw.PictureRow(&head, i, note, look)
	}
	fmt.Fprintf(&head, `</g><g transform="translate(0,%d)">`+"\n", draw.PictureBorder+draw.RowHeight/2+len(notes)*draw.RowHeight)
	parts := [][]byte{head.Bytes()}
	for _, p := range pieces {
		parts = append(parts, p.body)
	}
	return join(out, append(parts, []byte("</g>\n</svg>\n"))...)
}
