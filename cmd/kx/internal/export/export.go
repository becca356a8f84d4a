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

// Most is how many bytes a document has at most.
const Most = 20 << 20

// reserve is the part of them that is kept for what stands around the journeys.
const reserve = 64 << 10

// Document is what is written.
type Document struct {
	// Server is the server whose journeys these are; "" if nobody knows.
	Server string
	// Saved is when they were got.
	Saved    time.Time
	Journeys []*v1alpha1.Journey
	// Others are, by the name of a journey that was refused, those that [refusal.Related] picks.
	Others map[string][]*v1alpha1.Journey
	// Files has the code that made the journeys; nil if there is none to show, for the reason NoFiles.
	Files   journey.Files
	NoFiles string
	// Language is that of the words which are not the journeys' own.
	Language lang.Language
	// Limit is how many bytes the document has at most; 0 is Most.
	Limit int
}

// detail is how much of a journey is written.
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
	accept  func() // makes it a part of the document
}

func (p *piece) size() int { return len(p.body) + len(p.capture) + len(p.code) }

// form writes the parts of a document.
type form interface {
	piece(j *v1alpha1.Journey, d detail) (*piece, error)
	// document joins the pieces. notes say what is missing.
	document(out io.Writer, pieces []*piece, notes []string) error
}

// Write writes the document in a form.
func (d *Document) Write(out io.Writer, as render.Format) error {
	f, err := d.form(as)
	if err != nil {
		return err
	}
	pieces, cut, err := d.fill(f)
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
	return Most
}

// fill makes a piece of each journey, of as much as there is room for.
func (d *Document) fill(f form) (pieces []*piece, cut cuts, err error) {
	room := d.limit() - reserve
	for _, j := range d.Journeys {
		level := whole
		for ; level < details; level++ {
			p, err := f.piece(j, level)
			if err != nil {
				return nil, cut, fmt.Errorf("export journey %s: %w", j.Name, err)
			}
			if p.size() > room || len(p.capture) > capture.LineMost {
				continue
			}
			room -= p.size()
			p.accept()
			pieces = append(pieces, p)
			break
		}
		cut[level]++
	}
	return pieces, cut, nil
}

// cuts is how many journeys were written with how much detail. The last are those that were left out.
type cuts [details + 1]int

// notes say what is left out.
func (d *Document) notes(c cuts) (notes []string) {
	l := d.Language
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

// count is a number of journeys.
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
