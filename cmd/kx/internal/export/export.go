package export

import (
	"bytes"
	"fmt"
	"io"
	"time"

	"github.com/kx-apiserver/kx/cmd/kx/internal/render"
	"github.com/kx-apiserver/kx/cmd/kx/internal/render/journey"
	"github.com/kx-apiserver/kx/core/capture"
	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/core/lang"
)

// The forms of a document.
const (
	Markdown render.Format = "md"
	HTML     render.Format = "html"
	SVG      render.Format = "svg"
)

// most limits the bytes of a document.
const most = 20 << 20

// reserve is the part of the limit for the text around the journeys.
const reserve = 64 << 10

// Document is the content of a document.
type Document struct {
	// Server is the server of the journeys, or "" if it is unknown.
	Server string
	// Saved is the time at which the journeys were read.
	Saved    time.Time
	Journeys []*v1alpha1.Journey
	// Both draws the two journeys one above the other at the beginning, and says where and why they part.
	Both bool
	// Others maps the name of a refused journey to the journeys that [refusal.Related] selects for it.
	Others map[string][]*v1alpha1.Journey
	// Files returns the code that made the journeys. If it is nil, NoFiles explains why there is no code.
	Files   journey.Files
	NoFiles string
	// Language is the language of all words that do not come from the journeys.
	Language lang.Language
	// Limit limits the bytes of the document. 0 means Most.
	Limit int
}

// detail is the level of detail of a journey.
type detail int

const (
	whole detail = iota
	withoutCode
	withoutChanges // and without code
	details
)

// piece is one journey in a document.
type piece struct {
	body    []byte
	capture []byte // a line of the capture; nil in forms without one
	code    []byte // of the functions that no piece before has
	accept  func() // adds the piece to the document
}

func (p *piece) size() int { return len(p.body) + len(p.capture) + len(p.code) }

// form writes the parts of a document.
type form interface {
	piece(j *v1alpha1.Journey, d detail) (*piece, error)
	// both makes the piece before those of the two journeys.
	both(two *both, d detail) (*piece, error)
	// document joins the pieces. notes describe the omissions.
	document(out io.Writer, pieces []*piece, notes []string) error
}

// Write writes the document in a form.
func (d *Document) Write(out io.Writer, as render.Format) error {
	f, err := d.form(as)
	if err != nil {
		return err
	}
	two, err := d.newBoth()
	if err != nil {
		return err
	}
	pieces, cut, err := d.fill(f, two)
	if err != nil {
		return err
	}
	return f.document(out, pieces, d.notes(cut))
}

func (d *Document) form(as render.Format) (form, error) {
	switch as {
	case Markdown:
		return &markdown{Document: d}, nil
	case HTML:
		return newPage(d)
	case SVG:
		return &drawing{Document: d}, nil
	}
	return nil, fmt.Errorf("there is no form %q of an export", as)
}

func (d *Document) limit() int {
	if d.Limit > 0 {
		return d.Limit
	}
	return most
}

// fill makes a piece of each journey, in the highest level of detail that fits.
func (d *Document) fill(f form, two *both) (pieces []*piece, cut cuts, err error) {
	room := d.limit() - reserve
	fit := func(write func(d detail) (*piece, error)) (level detail, err error) {
		for ; level < details; level++ {
			p, err := write(level)
			if err != nil {
				return level, err
			}
			if p.size() <= room && len(p.capture) <= capture.LineMost {
				room -= p.size()
				p.accept()
				pieces = append(pieces, p)
				break
			}
		}
		return level, nil
	}
	if two != nil {
		level, err := fit(func(d detail) (*piece, error) { return f.both(two, d) })
		if err != nil {
			return nil, cut, fmt.Errorf("export two requests: %w", err)
		}
		cut.both = level == details
	}
	for _, j := range d.Journeys {
		level, err := fit(func(d detail) (*piece, error) { return f.piece(j, d) })
		if err != nil {
			return nil, cut, fmt.Errorf("export journey %s: %w", j.Name, err)
		}
		cut.journeys[level]++
	}
	return pieces, cut, nil
}

// cuts counts the omissions.
type cuts struct {
	both bool
	// journeys counts the journeys by level of detail. Its last entry counts the omitted ones.
	journeys [details + 1]int
}

// notes describes the omissions.
func (d *Document) notes(cut cuts) (notes []string) {
	l, c := d.Language, cut.journeys
	if cut.both {
		notes = append(notes, l.Phrase("Where the two part is left out")+l.Phrase(": the file would have more than %d bytes.", d.limit()))
	}
	for _, left := range []struct {
		what string
		n    int
	}{
		{l.Phrase("The code of %s is left out", d.count(c[withoutCode]+c[withoutChanges])), c[withoutCode] + c[withoutChanges]},
		{l.Phrase("What the steps changed in the objects is left out of %s", d.count(c[withoutChanges])), c[withoutChanges]},
		{l.Phrase("%s left out whole", d.count(c[details])), c[details]},
	} {
		if left.n > 0 {
			notes = append(notes, left.what+l.Phrase(": the file would have more than %d bytes.", d.limit()))
		}
	}
	return notes
}

// count returns a number of journeys in words.
func (d *Document) count(n int) string {
	if n == 1 {
		return d.Language.Phrase("1 journey")
	}
	return d.Language.Phrase("%d journeys", n)
}

// join writes all parts one after the other.
func join(out io.Writer, parts ...[]byte) error {
	_, err := out.Write(bytes.Join(parts, nil))
	return err
}
