package detail

import (
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/tui/draw"
	"github.com/kx-apiserver/kx/tui/keys"
	"github.com/kx-apiserver/kx/tui/pane"
	"github.com/kx-apiserver/kx/tui/theme"
)

// The commands of the pane.
const (
	NextTabID     keys.ID = "detail.next-tab"
	PreviousTabID keys.ID = "detail.previous-tab"
	DiffID        keys.ID = "detail.diff"
	UnchangedID   keys.ID = "detail.unchanged"
)

// tab is one of the things that the pane can show.
type tab int

const (
	stepTab tab = iota
	diffTab
	requestTab
)

var tabNames = [...]string{"Step", "Diff", "Request"}

// kind is what a text means, and so how it is painted.
type kind uint8

const (
	plain kind = iota
	label
	good
	bad
	notice
)

// text is a line before it is painted.
type text struct {
	kind kind
	// name is the label in front, painted as such.
	name string
	text string
}

// Pane shows one step of one journey.
type Pane struct {
	theme   theme.Theme
	w, h    int
	journey *v1alpha1.Journey
	step    int
	sameAs  string
	shared  bool
	message []string

	tab     tab
	all     bool // the diff shows what is the same too
	view    pane.View
	lines   []text
	linesOf linesKey
	version uint64

	cached    []string
	cachedKey cacheKey
}

// linesKey is what the lines are made of.
type linesKey struct {
	version uint64
	tab     tab
	w       int
	all     bool
}

type cacheKey struct {
	linesKey
	h, top  int
	focused bool
}

// New makes an empty pane.
func New(t theme.Theme) *Pane { return &Pane{theme: t} }

// Show shows a step of a journey; step is -1 for none. sameAs is a command that sends the same request.
func (p *Pane) Show(j *v1alpha1.Journey, step int, sameAs string) {
	if p.journey == j && p.step == step {
		return
	}
	if p.journey == nil || j.Name != p.journey.Name || step != p.step && p.tab != requestTab {
		p.view.Top = 0
	}
	p.journey, p.step, p.sameAs, p.message = j, step, sameAs, nil
	p.version++
}

// Message shows text instead of a journey.
func (p *Pane) Message(lines ...string) {
	p.journey, p.message = nil, lines
	p.view.Top = 0
	p.version++
}

// Share says whether Steps and Detail share one place, so that the title has both.
func (p *Pane) Share(shared bool) {
	p.shared = shared
	p.version++
}

// SetSize implements pane.Pane.
func (p *Pane) SetSize(w, h int) { p.w, p.h = w, h }

// rows is how many lines are seen: the frame and the tabs take the rest.
func (p *Pane) rows() int { return max(p.h-3, 0) }

// Handle implements pane.Pane.
func (p *Pane) Handle(id keys.ID) (tea.Cmd, bool) {
	switch id {
	case NextTabID:
		p.open((p.tab + 1) % tab(len(tabNames)))
	case PreviousTabID:
		p.open((p.tab + tab(len(tabNames)) - 1) % tab(len(tabNames)))
	case DiffID:
		p.open(diffTab)
	case UnchangedID:
		p.all = !p.all
	default:
		return nil, p.view.Move(id, len(p.content()), p.rows())
	}
	return nil, true
}

func (p *Pane) open(t tab) {
	p.tab = t
	p.view.Top = 0
}

// Commands implements pane.Pane.
func (p *Pane) Commands() []keys.Command {
	return []keys.Command{
		{
			ID: PreviousTabID, Title: "show the previous tab", Help: "The previous tab of Detail.",
			Contexts: keys.Panes, Keys: []string{"["},
		},
		{
			ID: NextTabID, Title: "show the next tab", Hint: "tab of detail", Help: "The next tab of Detail: Step, Diff, Request.",
			Contexts: keys.Panes, Keys: []string{"]"},
		},
		{
			ID: DiffID, Title: "show what the step changed", Hint: "diff",
			Help:     "The object before and after the step, field by field, if objects were recorded.",
			Contexts: keys.Panes, Keys: []string{"d"},
		},
		{
			ID: UnchangedID, Title: "show or hide what is the same", Hint: "unchanged",
			Help:     "In Diff, show the fields that the step left as they were, or only how many there are.",
			Contexts: []keys.Context{keys.Detail}, Keys: []string{"u"},
			Enabled: func() string {
				if p.tab != diffTab {
					return "it is for the tab Diff"
				}
				return ""
			},
		},
	}
}

// content are the lines of the open tab.
func (p *Pane) content() []text {
	key := linesKey{version: p.version, tab: p.tab, w: p.w, all: p.all}
	if p.lines != nil && key == p.linesOf {
		return p.lines
	}
	p.linesOf = key
	b := &builder{w: p.w - 3}
	switch {
	case p.journey == nil:
		for _, m := range p.message {
			b.add(plain, m)
		}
	case p.tab == requestTab:
		b.request(p.journey, p.sameAs)
	case p.step < 0 || p.step >= len(p.journey.Status.Steps):
		b.add(label, "Several steps are folded here: unfold them to see one.")
	case p.tab == stepTab:
		b.step(&p.journey.Status.Steps[p.step])
	default:
		b.diff(p.journey, p.step, p.all)
	}
	p.lines = b.lines
	return p.lines
}

// Render implements pane.Pane.
func (p *Pane) Render(focused bool) []string {
	content := p.content()
	p.view.Clamp(len(content), p.rows())
	key := cacheKey{linesKey: p.linesOf, h: p.h, top: p.view.Top, focused: focused}
	if p.cached == nil || key != p.cachedKey {
		p.cached, p.cachedKey = p.render(content, focused), key
	}
	return p.cached
}

func (p *Pane) render(content []text, focused bool) []string {
	paint, title, note := p.theme.Border, "Detail", ""
	if focused {
		paint = p.theme.Focus
	}
	if p.shared {
		title = "Steps [Detail]"
	}
	if p.journey != nil && p.tab != requestTab && p.step >= 0 && p.step < len(p.journey.Status.Steps) {
		note = p.journey.Status.Steps[p.step].ID
	}
	lines := []string{p.tabs()}
	for i := p.view.Top; i < min(p.view.Top+p.rows(), len(content)); i++ {
		lines = append(lines, " "+p.paint(content[i]))
	}
	if more := len(content) - p.view.Top - p.rows(); more > 0 && note != "" {
		note += "  more below"
	}
	return draw.Box(lines, p.theme.Title(title), note, p.w, p.h, focused, draw.Paint(paint))
}

// tabs are the names of the tabs; the open one is in brackets.
func (p *Pane) tabs() string {
	var b strings.Builder
	for i, name := range tabNames {
		if tab(i) == p.tab {
			b.WriteString(p.theme.Tab("[" + name + "]"))
		} else {
			b.WriteString(p.theme.Dim(" " + name + " "))
		}
	}
	return b.String()
}

func (p *Pane) paint(t text) string {
	style := map[kind]theme.Style{label: p.theme.Dim, good: p.theme.Good, bad: p.theme.Bad, notice: p.theme.Notice}[t.kind]
	out := t.text
	if style != nil {
		out = style(out)
	}
	if t.name != "" {
		out = p.theme.Dim(t.name) + out
	}
	return out
}
