package source

import (
	tea "github.com/charmbracelet/bubbletea"

	"github.com/kx-apiserver/kx/tui/keys"
	"github.com/kx-apiserver/kx/tui/pane"
	"github.com/kx-apiserver/kx/tui/theme"
)

// Pane is a View in a frame.
type Pane struct {
	*View
	w, h  int
	frame pane.Frame[frameOf]
}

// frameOf identifies a frame.
type frameOf struct {
	theme   theme.Name
	w, h    int
	version uint64
	focused bool
}

// NewPane makes an empty pane.
func NewPane(look func() theme.Theme) *Pane { return &Pane{View: NewView(look)} }

func (p *Pane) SetSize(w, h int) {
	p.w, p.h = w, h
	p.View.SetSize(max(w-2, 0), max(h-2, 0))
}

// Handle implements pane.Pane.
func (p *Pane) Handle(id keys.ID) (tea.Cmd, bool) { return nil, p.View.Handle(id) }

// Click puts the cursor on the line at a cell of the pane.
func (p *Pane) Click(_, y int) bool { return p.View.Click(y - 1) }

func (p *Pane) Render(focused bool) []string {
	look, note := p.look(), ""
	if f := p.File(); f != nil {
		note = f.Package
	}
	return p.frame.Draw(frameOf{theme: look.Name, w: p.w, h: p.h, version: p.Version(), focused: focused}, func() []string {
		return look.Box(p.Lines(focused), look.Title(look.Words.Phrase("Source")), note, p.w, p.h, focused)
	})
}
