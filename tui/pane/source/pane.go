package source

import (
	tea "github.com/charmbracelet/bubbletea"

	"github.com/kx-apiserver/kx/tui/draw"
	"github.com/kx-apiserver/kx/tui/keys"
	"github.com/kx-apiserver/kx/tui/theme"
)

// Pane is a View in a frame.
type Pane struct {
	*View
	theme theme.Theme
	w, h  int

	cached    []string
	cachedKey cacheKey
}

type cacheKey struct {
	w, h    int
	version uint64
	focused bool
}

// New makes an empty pane.
func New(t theme.Theme) *Pane { return &Pane{View: NewView(t), theme: t} }

// SetTheme changes how the pane looks.
func (p *Pane) SetTheme(t theme.Theme) {
	p.theme = t
	p.View.SetTheme(t)
}

// SetSize implements pane.Pane.
func (p *Pane) SetSize(w, h int) {
	p.w, p.h = w, h
	p.View.SetSize(max(w-2, 0), max(h-2, 0))
}

// Handle implements pane.Pane.
func (p *Pane) Handle(id keys.ID) (tea.Cmd, bool) { return nil, p.View.Handle(id) }

// Click puts the cursor on the line at a cell of the pane.
func (p *Pane) Click(_, y int) bool { return p.View.Click(y - 1) }

// Render implements pane.Pane.
func (p *Pane) Render(focused bool) []string {
	key := cacheKey{w: p.w, h: p.h, version: p.Version(), focused: focused}
	if p.cached == nil || key != p.cachedKey {
		paint, note := p.theme.Border, ""
		if focused {
			paint = p.theme.Focus
		}
		if f := p.File(); f != nil {
			note = f.Package
		}
		p.cached, p.cachedKey = draw.Box(p.Lines(focused), p.theme.Title("Source"), note, p.w, p.h, focused, draw.Paint(paint)), key
	}
	return p.cached
}
