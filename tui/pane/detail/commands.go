package detail

import (
	tea "github.com/charmbracelet/bubbletea"

	"github.com/kx-apiserver/kx/tui/keys"
)

// The commands of the pane.
const (
	NextTabID     keys.ID = "detail.next-tab"
	PreviousTabID keys.ID = "detail.previous-tab"
	DiffID        keys.ID = "detail.diff"
	SourceID      keys.ID = "detail.source"
	UnchangedID   keys.ID = "detail.unchanged"
	BeforeID      keys.ID = "detail.before"
	FormID        keys.ID = "detail.form"
)

// Handle implements pane.Pane.
func (p *Pane) Handle(id keys.ID) (tea.Cmd, bool) {
	switch id {
	case NextTabID:
		p.open((p.tab + 1) % tab(len(tabNames)))
	case PreviousTabID:
		p.open((p.tab + tab(len(tabNames)) - 1) % tab(len(tabNames)))
	case DiffID:
		p.openDiff()
	case SourceID:
		p.open(sourceTab)
	case UnchangedID:
		p.all = !p.all
	case BeforeID:
		p.before = !p.before
	case FormID:
		p.form = (p.form + 1) % form(len(formNames))
	default:
		return nil, p.move(id)
	}
	p.version++
	return nil, true
}

// openDiff opens Diff; if it is open, it is of the step alone, or of the whole request again.
func (p *Pane) openDiff() {
	if p.tab == diffTab {
		p.whole = !p.whole
		p.report, p.reportErr = nil, nil
	}
	p.open(diffTab)
}

func (p *Pane) open(t tab) {
	p.tab = t
	p.top()
}

// Commands implements pane.Pane.
func (p *Pane) Commands() []keys.Command {
	in := func(t tab) func() string {
		return func() string {
			if p.tab != t {
				return "it is for the tab " + tabNames[t]
			}
			return ""
		}
	}
	detail := []keys.Context{keys.Detail}
	return []keys.Command{
		{
			ID: PreviousTabID, Title: "show the previous tab", Help: "The previous tab of Detail.",
			Contexts: keys.Panes, Keys: []string{"["},
		},
		{
			ID: NextTabID, Title: "show the next tab", Hint: "tab of detail",
			Help:     "The next tab of Detail: Step, Diff, Source, Object, etcd, Timing, Watchers, Request.",
			Contexts: keys.Panes, Keys: []string{"]"},
		},
		{
			ID: DiffID, Title: "show what changed, and which step did it", Hint: "diff",
			Help:     "What the request changed in the object, each field with the step that did; once more: what the step alone changed.",
			Contexts: keys.Panes, Keys: []string{"d"},
		},
		{
			ID: SourceID, Title: "show the source that ran", Hint: "source",
			Help:     "The function that took the step, in its file, with the lines that ran; and what upstream calls it.",
			Contexts: keys.Panes, Keys: []string{"v"},
		},
		{
			ID: UnchangedID, Title: "show or hide what is the same", Hint: "unchanged",
			Help:     "In Diff, show the fields that stayed as they were and all of managedFields, or only how many there are.",
			Contexts: detail, Keys: []string{"u"}, Enabled: in(diffTab),
		},
		{
			ID: BeforeID, Title: "show the object before the step, or after it", Hint: "before/after",
			Help:     "In Object, what went into the step or what came out of it.",
			Contexts: detail, Keys: []string{"a"}, Enabled: in(objectTab),
		},
		{
			ID: FormID, Title: "show the object in another form", Hint: "form",
			Help:     "In Object: YAML, JSON, or raw as it was recorded.",
			Contexts: detail, Keys: []string{"s"}, Enabled: in(objectTab),
		},
	}
}
