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

// ShowDiff shows the tab Diff. If it is open already, it switches between the changes of the whole request and those
// of the step.
func (p *Pane) ShowDiff() {
	if p.tab == DiffTab {
		p.whole = !p.whole
		p.report, p.reportErr = nil, nil
	}
	p.Open(DiffTab)
}

// ToggleUnchanged shows or hides the unchanged fields in Diff.
func (p *Pane) ToggleUnchanged() {
	p.all = !p.all
	p.version++
}

// Turn shows the other side: in Object the object before or after the step, in Source the code of kx or upstream.
func (p *Pane) Turn() {
	if p.tab == SourceTab {
		p.upstream = !p.upstream
		p.version++
		return
	}
	p.before = !p.before
	p.version++
}

// WhyNotSides returns the reason why there is no other side.
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

// WhyNotDiff returns the reason to disable a command of the tab Diff.
func (p *Pane) WhyNotDiff() string { return p.whyNot(DiffTab) }

// WhyNotObject returns the reason to disable a command of the tab Object.
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
