package export

import (
	"bytes"
	"fmt"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/core/story"
	"github.com/kx-apiserver/kx/tui/diff"
	"github.com/kx-apiserver/kx/tui/draw"
)

// both is the two journeys of a document beside each other.
type both struct {
	walks [2]*story.Walk
	fork  *diff.Fork
}

// newBoth puts the two journeys beside each other. It returns nil if the document does not ask for that.
func (d *Document) newBoth() (*both, error) {
	if !d.Both {
		return nil, nil
	}
	if len(d.Journeys) != 2 {
		return nil, fmt.Errorf("two requests can be drawn beside each other, not %d", len(d.Journeys))
	}
	made := &both{}
	if err := diff.Comparable(d.Journeys[0], d.Journeys[1]); err != nil {
		return nil, err
	}
	for i, j := range d.Journeys {
		made.walks[i] = story.WalkOf(d.Language.Journey(j), d.Language, d.Others[j.Name]...)
	}
	made.fork = diff.ForkOf(made.walks[0], made.walks[1], d.Language)
	return made, nil
}

// sides are the names of the two requests.
var sides = [2]string{"A", "B"}

// why says where and why the two part.
func (b *both) why() string { return b.fork.Text(b.fork.Part) }

// side is the name of one of two requests before its title. It is empty in other documents.
func (d *Document) side(j *v1alpha1.Journey) string {
	for i := range sides {
		if d.Both && d.Journeys[i].Name == j.Name {
			return sides[i] + "  "
		}
	}
	return ""
}

// both writes the sentence, and both walks as a list.
func (m *markdown) both(two *both, _ detail) (*piece, error) {
	var b bytes.Buffer
	fmt.Fprintf(&b, "%s\n\n", inMarkdown(two.why()))
	for _, line := range two.fork.Tell() {
		fmt.Fprintf(&b, "- %s\n", inMarkdown(line))
	}
	return &piece{body: b.Bytes(), accept: func() {}}, nil
}

// whyCells limits the width of the sentence in a drawing.
const whyCells = 120

// both draws the sentence above the steps.
func (d *drawing) both(two *both, _ detail) (*piece, error) {
	var b bytes.Buffer
	rows, cells := d.rows, d.cells
	for _, line := range draw.Wrap(draw.Clean(two.why()), whyCells) {
		cells = max(cells, draw.Width(line))
		draw.PictureRow(&b, rows, "\x1b[33m"+line+"\x1b[0m", look)
		rows++
	}
	rows++
	return &piece{body: b.Bytes(), accept: func() { d.rows, d.cells = rows, cells }}, nil
}

// pair is two pictures, one above the other, for the template: a place for each radio button.
type pair struct {
	Why    string
	Places []pairPlace
}

// pairPlace is a stop of each walk.
type pairPlace struct {
	ID, Title      string // of the radio button
	Previous, Next string
	Opened         bool   // the page shows this place first
	Text           string // says how the ways are to each other, where the two have not parted yet
	Sides          [2]pairSide
}

// pairSide is one of the two requests at its stop.
type pairSide struct {
	pictureStop
	Name, Request string
}

// both draws both walks, at the place where they part.
func (p *page) both(two *both, d detail) (*piece, error) {
	b := &pageBuilder{page: p, detail: d, added: map[string]*function{}}
	var stops [2][]pictureStop
	for i, walk := range two.walks {
		stops[i] = b.stops(walk)
	}
	shown := pair{Why: two.why()}
	id := func(at int) string { return fmt.Sprintf("both-%d", at) }
	for at, now := range two.fork.Stops {
		place := pairPlace{ID: id(at), Opened: at == two.fork.Part}
		for i, walk := range two.walks {
			stop := stops[i][now[i]]
			stop.From = stop.To
			if at > 0 {
				stop.From = stops[i][two.fork.Stops[at-1][i]].To
			}
			place.Sides[i] = pairSide{stop, sides[i], p.title(walk.Journey)}
		}
		place.Title = p.Language.Phrase("place %d of %d: A in %s, B in %s", at+1, len(two.fork.Stops), place.Sides[0].Box,
			place.Sides[1].Box)
		if at > 0 {
			place.Previous = id(at - 1)
		}
		if at < len(two.fork.Stops)-1 {
			place.Next = id(at + 1)
		}
		if at < two.fork.Part {
			place.Text = two.fork.Text(at)
		}
		shown.Places = append(shown.Places, place)
	}
	body, err := p.execute("pair", shown)
	if err != nil {
		return nil, err
	}
	return b.piece(body, nil)
}
