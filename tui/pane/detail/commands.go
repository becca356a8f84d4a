package detail

import (
	tea "github.com/charmbracelet/bubbletea"

	"github.com/kx-apiserver/kx/tui/keys"
)

func (p *Pane) Handle(id keys.ID) (tea.Cmd, bool) { return nil, p.move(id) }

// NextTab shows the next tab.
func (p *Pane) NextTab() { p.Open((p.tab + 1) % Tab(len(tabNames))) }

// PreviousTab shows the previous tab.
func (p *Pane) PreviousTab() { p.Open((p.tab + Tab(len(tabNames)) - 1) % Tab(len(tabNames))) }

// ShowSource shows the tab Source.
func (p *Pane) ShowSource() { p.Open(SourceTab) }

// ShowDiff shows the tab Diff. If it is open, it turns between what the whole request changed and what the step changed.
func (p *Pane) ShowDiff() {
	if p.tab == DiffTab {
		p.whole = !p.whole
		p.report, p.reportErr = nil, nil
	}
	p.Open(DiffTab)
}

// ToggleUnchanged shows in Diff what stayed the same, or hides it.
func (p *Pane) ToggleUnchanged() {
	p.all = !p.all
	p.version++
}

// Turn shows in Object what went into the step, or what came out of it; in Source what does the same upstream, or not.
func (p *Pane) Turn() {
	if p.tab == SourceTab {
		p.upstream = !p.upstream
		p.version++
		return
	}
	p.before = !p.before
	p.version++
}

// WhyNotSides is why there is no other side to turn to.
func (p *Pane) WhyNotSides() string {
	if p.tab != ObjectTab && p.tab != SourceTab {
		return p.look().Words.Phrase("it is for the tabs %s and %s", p.tabName(ObjectTab), p.tabName(SourceTab))
	}
	return ""
}

// NextForm shows the object in the next form.
func (p *Pane) NextForm() {
	p.form = (p.form + 1) % form(len(formNames))
	p.version++
}

// WhyNotDiff is why a command of the tab Diff can't be done.
func (p *Pane) WhyNotDiff() string { return p.whyNot(DiffTab) }

// WhyNotObject is why a command of the tab Object can't be done.
func (p *Pane) WhyNotObject() string { return p.whyNot(ObjectTab) }

func (p *Pane) whyNot(t Tab) string {
	if p.tab != t {
		return p.look().Words.Phrase("it is for the tab %s", p.tabName(t))
	}
	return ""
}

// Open shows a tab.
func (p *Pane) Open(t Tab) {
	p.tab = t
	p.top()
	p.version++
}
