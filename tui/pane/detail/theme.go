package detail

import "github.com/kx-apiserver/kx/tui/theme"

// SetTheme changes how the pane looks.
func (p *Pane) SetTheme(t theme.Theme) {
	p.theme = t
	p.cached = nil
}
