package steps

import (
	tea "github.com/charmbracelet/bubbletea"

	"github.com/kx-apiserver/kx/core/blame"
	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/core/refusal"
	"github.com/kx-apiserver/kx/core/story"
	"github.com/kx-apiserver/kx/tui/draw"
	"github.com/kx-apiserver/kx/tui/keys"
	"github.com/kx-apiserver/kx/tui/pane"
	"github.com/kx-apiserver/kx/tui/theme"
)

// Pane is the tree of steps.
type Pane struct {
	look    func() theme.Theme
	w, h    int
	journey *v1alpha1.Journey
	changed []int   // by step: the number of fields that it changed
	touched []bool  // by step: whether something was done to it that would not have happened by itself
	held    []bool  // by step: whether the request is held there
	alone   []int64 // by step: its time without the steps that it called
	shared  bool
	named   bool     // rows show the steps' IDs too, where there is room
	message []string // shown while there is no journey

	roots   []*node
	rows    []*node
	folds   map[foldKey]bool // the user's choices
	scroll  pane.Scroll
	version uint64

	frame pane.Frame[frameOf]
}

// frameOf identifies a frame.
type frameOf struct {
	theme             theme.Name
	w, h, cursor, top int
	version           uint64
	focused           bool
}

// New makes an empty pane.
func New(look func() theme.Theme) *Pane { return &Pane{look: look} }

// Share sets whether Steps and Detail share one place, so that the title names both.
func (p *Pane) Share(shared bool) {
	p.shared = shared
	p.version++
}

// ShowIDs sets whether rows show the IDs of steps before their titles, where there is room: texts name steps by them.
func (p *Pane) ShowIDs(named bool) {
	p.named = named
	p.version++
}

// CountChanges counts, for each step, the fields of the object that it changed. It is slow for large objects.
func CountChanges(j *v1alpha1.Journey) []int {
	changed := make([]int, len(j.Status.Steps))
	for i := range j.Status.Steps {
		changed[i] = blame.CountChanges(&j.Status.Steps[i])
	}
	return changed
}

// Show shows a journey, with the counts from [CountChanges]. For a later state of the shown journey, cursor and folds
// stay.
func (p *Pane) Show(j *v1alpha1.Journey, changed []int) {
	same := p.journey != nil && p.journey.Name == j.Name
	at := p.Selected()
	p.journey, p.changed, p.message = j, changed, nil
	p.roots = tree(&j.Status)
	p.interventions()
	p.alone = ownTimes(j.Status.Steps)
	if !same {
		p.folds = map[foldKey]bool{}
		p.scroll = pane.Scroll{}
		p.layout()
		p.start()
		return
	}
	p.layout()
	p.moveTo(at)
}

// traced is the kind of intervention that only records.
const traced = "Traced"

// interventions marks the steps with an intervention.
func (p *Pane) interventions() {
	st := &p.journey.Status
	p.touched, p.held = make([]bool, len(st.Steps)), make([]bool, len(st.Steps))
	for _, i := range st.Interventions {
		if n := int(i.Step); n >= 0 && n < len(st.Steps) && i.Kind != traced {
			p.touched[n] = true
		}
	}
	for _, h := range st.Held {
		if n := int(h.Step); n >= 0 && n < len(st.Steps) {
			p.held[n] = true
		}
	}
}

// Message shows text instead of a journey.
func (p *Pane) Message(lines ...string) {
	p.journey, p.roots, p.rows, p.message = nil, nil, nil, lines
	p.scroll = pane.Scroll{}
	p.version++
}

// start puts the cursor on the most useful step: where the request is held, where it was refused, where the source of a
// read was decided, where etcd took a write or a dry run ended, or the first behind the filters.
func (p *Pane) start() {
	if held := p.journey.Status.Held; len(held) > 0 {
		p.SelectStep(int(held[0].Step))
		return
	}
	refused := refusal.Step(p.journey) // the card stands above it
	if i := story.Decided(p.journey); i >= 0 && refused < 0 {
		p.SelectStep(i)
		return
	}
	p.SelectStep(refused)
	if p.scroll.Cursor == 0 && len(p.rows) > 1 && p.rows[0].kind == isGroup {
		p.scroll.Cursor = 1
	}
	p.clamp()
}

// layout lists the visible rows anew.
func (p *Pane) layout() {
	p.rows = visible(p.roots, p.folded)
	p.version++
	p.clamp()
}

func (p *Pane) folded(n *node) bool {
	if f, ok := p.folds[n.key()]; ok {
		return f
	}
	steps := p.journey.Status.Steps
	return (n.kind == isGroup && len(p.roots) > 1 || onlyDetails(n, steps)) && !failed(n, steps)
}

// Selected returns the index of the step under the cursor, or of the step that caused the row; -1 if there is none.
func (p *Pane) Selected() int {
	if n := p.current(); n != nil {
		return n.step
	}
	return -1
}

// Mark returns the index of the mark under the cursor; -1 if there is none.
func (p *Pane) Mark() int {
	if n := p.current(); n != nil && n.kind == isMark {
		return n.index
	}
	return -1
}

// SelectStep puts the cursor on the i-th step, and unfolds the rows above it.
func (p *Pane) SelectStep(i int) {
	if p.journey == nil || i < 0 || i >= len(p.journey.Status.Steps) {
		return
	}
	p.unfoldTo(p.roots, i)
	p.layout()
	p.moveTo(i)
}

func (p *Pane) current() *node {
	if p.scroll.Cursor < len(p.rows) {
		return p.rows[p.scroll.Cursor]
	}
	return nil
}

// moveTo puts the cursor on a step, if it is in a row.
func (p *Pane) moveTo(step int) {
	for i, n := range p.rows {
		if n.called() && n.step == step {
			p.scroll.Cursor = i
		}
	}
	p.clamp()
}

func (p *Pane) SetSize(w, h int) {
	p.w, p.h = w, h
	p.clamp()
}

// headFrom is the least height with names of the columns.
const headFrom = 8

// headLines returns the number of lines for the names of the columns.
func (p *Pane) headLines() int {
	if p.h >= headFrom {
		return 1
	}
	return 0
}

// room returns the number of visible rows.
func (p *Pane) room() int { return max(p.h-2-p.headLines()-p.foot(), 0) }

// foot returns the number of lines about the selected step, including the rule above them.
func (p *Pane) foot() int {
	switch {
	case p.h >= 16:
		return 4
	case p.h >= 10:
		return 3
	}
	return 0
}

func (p *Pane) clamp() { p.scroll.Clamp(len(p.rows), p.room()) }

// Moves reports whether a command moves the cursor.
func (p *Pane) Moves(id keys.ID) bool { return new(pane.Scroll).Move(id, 0, 0) }

func (p *Pane) Handle(id keys.ID) (tea.Cmd, bool) {
	return nil, p.scroll.Move(id, len(p.rows), p.room())
}

// Previous goes to the previous row.
func (p *Pane) Previous() { p.Handle(keys.Up) }

// Next goes to the next row: into an unfolded step, past a folded one. It reports whether there is one.
func (p *Pane) Next() bool {
	at := p.scroll.Cursor
	p.Handle(keys.Down)
	return p.scroll.Cursor != at
}

// Fold folds the step under the cursor. Without anything to fold, it moves to the step's caller.
func (p *Pane) Fold() {
	n := p.current()
	if n == nil {
		return
	}
	if len(n.children) > 0 && !p.folded(n) {
		p.folds[n.key()] = true
		p.layout()
		return
	}
	for i := p.scroll.Cursor - 1; i >= 0; i-- {
		if p.rows[i].depth < n.depth {
			p.scroll.Cursor = i
			p.clamp()
			return
		}
	}
}

// Unfold unfolds the step under the cursor. If it is unfolded already, it moves to the first step that it called.
func (p *Pane) Unfold() {
	n := p.current()
	if n == nil || len(n.children) == 0 {
		return
	}
	if p.folded(n) {
		p.folds[n.key()] = false
		p.layout()
		return
	}
	p.Handle(keys.Down)
}

func (p *Pane) Render(focused bool) []string {
	of := frameOf{theme: p.look().Name, w: p.w, h: p.h, cursor: p.scroll.Cursor, top: p.scroll.Top, version: p.version, focused: focused}
	return p.frame.Draw(of, func() []string { return p.render(focused) })
}

func (p *Pane) render(focused bool) []string {
	look := p.look()
	title, note := look.Words.Phrase("Steps"), ""
	lines := p.message
	if p.shared {
		title = look.Words.Phrase("[Steps] Detail")
	}
	if j := p.journey; j != nil {
		title += "  " + j.Name
		if len(p.rows) > 0 {
			note = look.Words.Phrase("%d steps", len(j.Status.Steps))
		}
		if j.Status.Cut > 0 {
			note += look.Words.Phrase(", %d things cut: the journey was full", j.Status.Cut)
		}
		lines = append(p.tree(focused), p.reason()...)
	}
	return look.Box(lines, look.Title(title), note, p.w, p.h, focused)
}

// tree draws the rows in view.
func (p *Pane) tree(focused bool) []string {
	room := p.room()
	last := min(p.scroll.Top+room, len(p.rows))
	lines := make([]string, 0, room+1)
	c := columnsFor(p.w-2, len(p.journey.Status.Steps))
	if p.headLines() > 0 {
		lines = append(lines, p.look().Dim(p.head(c)))
	}
	for i := p.scroll.Top; i < last; i++ {
		lines = append(lines, p.row(c, i, focused))
	}
	return draw.Block(lines, p.w-2, room+p.headLines())
}
