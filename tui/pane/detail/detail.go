package detail

import (
	"github.com/kx-apiserver/kx/core/blame"
	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/core/refusal"
	"github.com/kx-apiserver/kx/tui/draw"
	"github.com/kx-apiserver/kx/tui/pane"
	"github.com/kx-apiserver/kx/tui/source"
	"github.com/kx-apiserver/kx/tui/theme"
)

// Pane shows one step of one journey.
type Pane struct {
	look    func() theme.Theme
	w, h    int
	journey *v1alpha1.Journey
	step    int
	mark    int // the index of the selected mark; -1 for none
	sameAs  string
	shared  bool
	message []string

	tab    Tab
	all    bool // Diff includes unchanged fields
	whole  bool // Diff is of the whole request
	before bool // Object shows the step's input
	form   form

	card      *refusal.Card // why the request was refused, if it was
	others    []*v1alpha1.Journey
	report    *blame.Report // the changes for Diff, once they are computed
	reportErr error
	source    *source.View
	theirs    *source.View // the upstream code
	upstream  bool         // Source shows that, beside the server's own where there is room
	cache     *v1alpha1.Cache
	cacheNote string

	view    pane.View
	cursor  int // the chosen line, of those with links; -1 for none
	lines   []text
	linesOf linesKey
	version uint64

	frame pane.Frame[frameOf]
}

// linesKey identifies the lines of a tab.
type linesKey struct {
	version uint64
	tab     Tab
	w       int
}

// frameOf identifies a frame.
type frameOf struct {
	linesKey
	theme          theme.Name
	h, top, cursor int
	source         uint64
	focused        bool
}

// New makes an empty pane.
func New(look func() theme.Theme) *Pane {
	return &Pane{look: look, mark: -1, cursor: -1, whole: true, source: source.NewView(look), theirs: source.NewView(look)}
}

// Show shows a step of a journey; step is -1 for none. sameAs is a command that sends the same request.
func (p *Pane) Show(j *v1alpha1.Journey, step int, sameAs string) { p.ShowMark(j, step, -1, sameAs) }

// ShowMark shows a consequence of a step, if mark is not -1: then step is the one that caused it, or -1.
func (p *Pane) ShowMark(j *v1alpha1.Journey, step, mark int, sameAs string) {
	if p.journey == j && p.step == step && p.mark == mark {
		return
	}
	other := p.journey != j
	if p.journey == nil || j.Name != p.journey.Name || (step != p.step || mark != p.mark) && !p.ofRequest() {
		p.top()
	}
	p.journey, p.step, p.mark, p.sameAs, p.message = j, step, mark, sameAs, nil
	if other {
		p.others = nil
		p.card = cardOf(j, nil, p.look().Words)
	}
	if other || !p.whole {
		p.report, p.reportErr = nil, nil
	}
	p.version++
}

// ofRequest reports whether the open tab is the same for all steps.
func (p *Pane) ofRequest() bool {
	return p.tab == RequestTab || p.tab == WatchersTab || p.tab == TimingTab || p.tab == DiffTab && p.whole
}

// Message shows text instead of a journey.
func (p *Pane) Message(lines ...string) {
	p.journey, p.message = nil, lines
	p.report, p.reportErr = nil, nil
	p.top()
	p.version++
}

// Share sets whether Steps and Detail share one place, so that the title names both.
func (p *Pane) Share(shared bool) {
	p.shared = shared
	p.version++
}

func (p *Pane) top() {
	p.view.Top = 0
	p.cursor = -1
}

// selected reports whether there is a step to show.
func (p *Pane) selected() bool {
	return p.journey != nil && p.step >= 0 && p.step < len(p.journey.Status.Steps)
}

const (
	// codeWide is the width of a view of code with 80 columns: beside them are marks and the line's number.
	codeWide = 88
	// diffLeast is the least width of a diff beside code.
	diffLeast = 48
	// stepsLeast is the least width of the steps beside both.
	stepsLeast = 48
)

// split reports whether Diff and Source, or two sources, are side by side now.
func (p *Pane) split() bool {
	least := diffLeast + codeWide
	if p.besides() {
		least = 2 * codeWide
	}
	return p.w >= least+3 && (p.tab == DiffTab || p.tab == SourceTab) && p.journey != nil
}

// Wants returns the width that the open tab wants of w cells; 0 for any. No line of code with 80 columns is cut then.
func (p *Pane) Wants(w int) int {
	const alone, both = codeWide + 2, diffLeast + codeWide + 3
	switch {
	case p.journey == nil || p.tab != SourceTab && p.tab != DiffTab:
		return 0
	case w >= both+stepsLeast:
		return both
	case p.tab == SourceTab:
		return alone
	}
	return 0
}

func (p *Pane) SetSize(w, h int) { p.w, p.h = w, h }

// width returns the cells of a line.
func (p *Pane) width() int {
	switch {
	case !p.split():
		return p.w - 2
	case p.besides():
		return (p.w - 3) / 2
	}
	return p.w - 3 - max(codeWide, (p.w-3)/2)
}

// rows returns the visible lines: the frame and the tabs take the rest.
func (p *Pane) rows() int { return max(p.h-3, 0) }

// content returns the lines of the open tab.
func (p *Pane) content() []text {
	t := p.tab
	if t == SourceTab {
		if t = DiffTab; !p.split() {
			return nil // the source has a window of its own
		}
	}
	key := linesKey{version: p.version, tab: t, w: p.width()}
	if p.lines != nil && key == p.linesOf {
		return p.lines
	}
	p.linesOf = key
	b := &builder{w: max(p.width()-2, 1), words: p.look().Words} // a cell for the cursor, one at the edge
	p.build(b, t)
	p.lines = b.lines
	return p.lines
}

func (p *Pane) build(b *builder, t Tab) {
	switch {
	case p.journey == nil:
		for _, m := range p.message {
			b.add(plain, m)
		}
	case t == RequestTab:
		if p.card != nil {
			b.refusal(p.card, false)
		}
		b.whole(p.journey, p.sameAs)
	case t == WatchersTab:
		b.watchers(p.journey, p.cache, p.cacheNote)
	case t == TimingTab:
		b.timing(p.journey, p.step)
	case t == StepTab && p.mark >= 0 && p.mark < len(p.journey.Status.Marks):
		b.mark(p.journey, &p.journey.Status.Marks[p.mark], p.step)
	case t == DiffTab && p.whole:
		b.diff(p)
	case !p.selected():
		b.add(label, "Several steps are folded here: unfold them to see one.")
	case t == StepTab:
		if p.card != nil && p.card.Step == p.step {
			b.refusal(p.card, true)
		}
		b.step(p.journey, p.step)
	case t == DiffTab:
		b.diff(p)
	case t == ObjectTab:
		b.object(p)
	default:
		b.etcd(p.journey, p.step)
	}
}

func (p *Pane) Render(focused bool) []string {
	content := p.content()
	p.clamp(content)
	p.sizeSources()
	of := frameOf{linesKey: p.linesOf, theme: p.look().Name, h: p.h, top: p.view.Top, cursor: p.cursor,
		source: p.source.Version() + p.theirs.Version(), focused: focused}
	of.tab, of.w = p.tab, p.w
	return p.frame.Draw(of, func() []string { return p.render(content, focused) })
}

// sizeSources sizes the two views on source.
func (p *Pane) sizeSources() {
	whole, right := max(p.w-2, 0), max(p.w-2-p.sourceAt(), 0)
	switch {
	case p.split() && p.besides():
		p.source.SetSize(p.width(), p.rows())
		p.theirs.SetSize(right, p.rows())
	default:
		p.source.SetSize(right, p.rows())
		p.theirs.SetSize(whole, p.rows())
	}
}

// sourceAt returns the column at which the source begins.
func (p *Pane) sourceAt() int {
	if p.split() {
		return p.width() + 1
	}
	return 0
}

func (p *Pane) render(content []text, focused bool) []string {
	look := p.look()
	title := look.Words.Phrase("Detail")
	if p.shared {
		title = look.Words.Phrase("Steps [Detail]")
	}
	var body []string
	switch {
	case p.split() && p.besides():
		body = p.joinColumns(p.source.Lines(focused), p.theirs.Lines(false), focused)
	case p.split():
		left := draw.Block(p.window(content, focused && p.tab == DiffTab), p.width(), p.rows())
		body = p.joinColumns(left, p.source.Lines(focused && p.tab == SourceTab), focused)
	case p.besides():
		body = p.theirs.Lines(focused)
	case p.tab == SourceTab && p.journey != nil:
		body = p.source.Lines(focused)
	default:
		body = p.window(content, focused)
	}
	return look.Box(append([]string{p.tabs()}, body...), look.Title(title), p.note(content), p.w, p.h, focused)
}

// joinColumns joins two columns of lines, with a rule between them.
func (p *Pane) joinColumns(left, right []string, focused bool) []string {
	paint := p.look().Border
	if focused {
		paint = p.look().Focus
	}
	rule := draw.Block(nil, 1, p.rows())
	for i := range rule {
		rule[i] = paint("│")
	}
	return draw.JoinBlocks(left, rule, right)
}

// note returns the text in the frame: the step, and the destination of enter.
func (p *Pane) note(content []text) string {
	if p.journey == nil {
		return ""
	}
	note := ""
	if p.selected() && p.tab != RequestTab && p.tab != WatchersTab {
		note = number(p.journey, p.step)
	}
	if more := len(content) - p.view.Top - p.rows(); more > 0 {
		if note != "" {
			note += "  "
		}
		note += p.look().Words.Phrase("%d below", more)
	}
	return note
}

// window draws the lines in view.
func (p *Pane) window(content []text, focused bool) []string {
	var lines []string
	for i := p.view.Top; i < min(p.view.Top+p.rows(), len(content)); i++ {
		lines = append(lines, p.line(content[i], i == p.cursor, focused))
	}
	return lines
}

// noteLeast is the width that a line keeps beside its note; the note is cut first.
const noteLeast = 14

func (p *Pane) line(t text, chosen, focused bool) string {
	mark, w := " ", p.width()-1
	if chosen {
		mark = ">"
	}
	note := t.note
	if room := w - 2 - min(draw.Width(t.name+t.text), max(noteLeast, w/2)); note != "" {
		note = draw.Fit(note, min(draw.Width(note), max(room, 0)))
	}
	left := max(w-draw.Width(note)-1, 0)
	if note == "" {
		left = w
	}
	if chosen && focused {
		return p.look().Selected(draw.Fit(mark+draw.Ends(draw.Fit(t.name+t.text, left), note, w), w+1))
	}
	style := map[kind]theme.Style{label: p.look().Dim, good: p.look().Good, bad: p.look().Bad, notice: p.look().Notice}[t.kind]
	name, body := t.name, draw.Fit(t.text, max(left-draw.Width(t.name), 0))
	if style != nil {
		body = style(body)
	}
	if name != "" {
		body = p.look().Dim(name) + body
	}
	if note != "" {
		body += " " + p.look().Layer(note)
	}
	return draw.Fit(mark+body, w+1)
}
