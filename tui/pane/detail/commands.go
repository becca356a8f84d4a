package detail

import (
	tea "github.com/charmbracelet/bubbletea"

	"github.com/kx-apiserver/kx/tui/keys"
)

func (p *Pane) Handle(id keys.ID) (tea.Cmd, bool) { return nil, p.move(id) }

// NextTab shows the next tab.
func (p *Pane) NextTab() { p.open((p.tab + 1) % tab(len(tabNames))) }

// PreviousTab shows the previous tab.
func (p *Pane) PreviousTab() { p.open((p.tab + tab(len(tabNames)) - 1) % tab(len(tabNames))) }

// ShowSource shows the tab Source.
func (p *Pane) ShowSource() { p.open(sourceTab) }

// ShowDiff shows the tab Diff. If it is open, it turns between what the whole request changed and what the step changed.
func (p *Pane) ShowDiff() {
	if p.tab == diffTab {
		p.whole = !p.whole
		p.report, p.reportErr = nil, nil
	}
	p.open(diffTab)
}

// ToggleUnchanged shows in Diff what stayed the same, or hides it.
func (p *Pane) ToggleUnchanged() {
	p.all = !p.all
	p.version++
}

// ToggleSide shows in Object what went into the step, or what came out of it.
func (p *Pane) ToggleSide() {
	p.before = !p.before
	p.version++
}

// NextForm shows the object in the next form.
func (p *Pane) NextForm() {
	p.form = (p.form + 1) % form(len(formNames))
	p.version++
}

// WhyNotDiff is why a command of the tab Diff can't be done.
func (p *Pane) WhyNotDiff() string { return p.whyNot(diffTab) }

// WhyNotObject is why a command of the tab Object can't be done.
func (p *Pane) WhyNotObject() string { return p.whyNot(objectTab) }

func (p *Pane) whyNot(t tab) string {
	if p.tab != t {
		return "it is for the tab " + tabNames[t]
	}
	return ""
}

func (p *Pane) open(t tab) {
	p.tab = t
	p.top()
	p.version++
}
