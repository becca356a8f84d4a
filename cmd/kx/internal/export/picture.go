package export

import (
	_ "embed"
	"fmt"
	"strings"

	"github.com/kx-apiserver/kx/core/blame"
	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/core/refusal"
	"github.com/kx-apiserver/kx/core/story"
	"github.com/kx-apiserver/kx/tui/diff"
)

//go:embed picture.html
var pictureHTML string

// picture is the walk of a journey for the template: a stop for each radio button.
type picture struct {
	ID    string
	Stops []pictureStop
}

// pictureStop is a stop of a walk.
type pictureStop struct {
	story.Stop
	Box   string
	ID    string // of the radio button
	Title string // of the radio button, for screen readers
	// Previous and Next are the IDs of the neighbours; empty at the ends.
	Previous, Next string
	// From and To are the numbers of the boxes between which the dot moves.
	From, To int
	Boxes    []pictureBox
	Where    string
	Lines    []pictureLine
	Code     string // the ID of the line that decided; empty if the page does not have it
}

// pictureBox is a box of the picture, at one stop.
type pictureBox struct {
	Name                   string
	Touched, Here, Decided bool
}

// pictureLine is a line of the code at a stop.
type pictureLine struct {
	codeLine
	Decided bool
}

// picture returns the walk of a journey. The page shows the first stop until its reader walks on.
func (b *pageBuilder) picture(j *v1alpha1.Journey) *picture {
	p := &picture{ID: fmt.Sprintf("walk-%d", b.walks)}
	p.Stops = b.stops(story.WalkOf(j, b.Language, b.Others[j.Name]...))
	id := func(i int) string { return fmt.Sprintf("%s-%d", p.ID, i) }
	for i := range p.Stops {
		stop := &p.Stops[i]
		if stop.ID = id(i); i > 0 {
			stop.Previous = id(i - 1)
			stop.From = p.Stops[i-1].To
		}
		if i < len(p.Stops)-1 {
			stop.Next = id(i + 1)
		}
	}
	return p
}

// stops returns the stops of a walk. They have no radio buttons yet.
func (b *pageBuilder) stops(walk *story.Walk) (stops []pictureStop) {
	decided := map[story.Box]bool{}
	for _, s := range walk.Stops {
		decided[s.Box] = decided[s.Box] || s.Decided
	}
	for i, s := range walk.Stops {
		stop := pictureStop{Stop: s, Box: s.Box.Name(b.Language), From: int(story.Client), To: int(s.Box)}
		stop.Title = b.Language.Phrase("stop %d of %d: %s", i+1, len(walk.Stops), stop.Box)
		for _, box := range story.Boxes() {
			stop.Boxes = append(stop.Boxes, pictureBox{box.Name(b.Language), walk.Touched[box], box == s.Box, decided[box]})
		}
		b.codeAt(&stop, walk.Journey)
		stops = append(stops, stop)
	}
	return stops
}

// codeAt adds the few lines of code around the one that decided.
func (b *pageBuilder) codeAt(stop *pictureStop, j *v1alpha1.Journey) {
	if stop.Stop.Code < 0 || b.detail >= withoutCode || b.Files == nil {
		return
	}
	step := &j.Status.Steps[stop.Stop.Code]
	at := step.DecisionPlace()
	text, err := b.Files(at.File)
	if err != nil {
		return // the steps below say why
	}
	stop.Where = fmt.Sprintf("%s:%d  %s", at.File, at.Line, at.Function)
	stop.Code, _ = b.code(step)
	first, lines := story.CodeAround(text, int(at.Line))
	for i, line := range lines {
		stop.Lines = append(stop.Lines, pictureLine{codeLine{first + i, line}, first+i == int(at.Line)})
	}
}

// objectChange shows how a request changed its object.
type objectChange struct {
	Title string
	Lines []changeLine
}

// changeLine is a line of the change. Who names the step that set its value, where the line is the first of it.
type changeLine struct {
	diff.Line
	Who string
}

// change compares the object as it was stored with what became of it. It returns nil if there is nothing to compare.
func (d *Document) change(j *v1alpha1.Journey) *objectChange {
	r, err := blame.Journey(j)
	if err != nil || r.Nothing != "" {
		return nil
	}
	c := &objectChange{Title: d.Language.Phrase("whole request: as it was stored, to how far it came; nothing was written")}
	switch {
	case r.Deleted:
		c.Title = d.Language.Phrase("the object was removed, at revision %d", r.Revision)
	case r.Revision > 0:
		c.Title = d.Language.Phrase("whole request: as it was stored, to revision %d", r.Revision)
	}
	lines, _, err := diff.Compare(orNothing(r.Before), orNothing(r.After), diff.Options{Fold: blame.Whole})
	if err != nil || len(lines) == 0 {
		return nil
	}
	by := map[string]*blame.Field{}
	for i := range r.Fields {
		by[r.Fields[i].Path.Key()] = &r.Fields[i]
	}
	for i, l := range lines {
		c.Lines = append(c.Lines, changeLine{Line: l})
		replaced := i+1 < len(lines) && l.Mark == '-' && lines[i+1].Mark == '+' &&
			blame.Path(l.Path).Key() == blame.Path(lines[i+1].Path).Key()
		for n := len(l.Path); n > 0 && !replaced; n-- {
			key := blame.Path(l.Path[:n]).Key()
			if f := by[key]; f != nil {
				c.Lines[i].Who = d.Language.Who(f.Who)
				delete(by, key) // only the first line of a field names its step
				break
			}
		}
	}
	return c
}

func orNothing(object []byte) []byte {
	if object == nil {
		return []byte("{}")
	}
	return object
}

// card explains a refusal, or returns nil.
func (d *Document) card(j *v1alpha1.Journey) *refusal.Card {
	return refusal.Explain(j, d.Others[j.Name], d.Language)
}

// cardLines returns a card as lines: its title, its facts, and what can be done.
func (d *Document) cardLines(c *refusal.Card) []string {
	lines := []string{c.Title}
	for _, f := range c.Facts {
		lines = append(lines, strings.TrimPrefix(f.Name+": "+f.Text, ": "))
	}
	if c.Next != "" {
		lines = append(lines, d.Language.Phrase("do")+": "+c.Next)
	}
	return lines
}
