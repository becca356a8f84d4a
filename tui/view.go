package tui

import (
	"fmt"
	"strings"

	"github.com/kx-apiserver/kx/tui/api"
	"github.com/kx-apiserver/kx/tui/draw"
	"github.com/kx-apiserver/kx/tui/keys"
	"github.com/kx-apiserver/kx/tui/layout"
	"github.com/kx-apiserver/kx/tui/screen"
)

// View implements tea.Model. It makes a new frame only after a change.
func (m *model) View() string {
	defer m.crash.caught()
	if m.dirty {
		m.drawn = strings.Join(m.render(), "\n")
		m.dirty = false
	}
	return m.drawn
}

// render draws a frame of exactly w by h.
func (m *model) render() []string {
	if m.w <= 0 || m.h <= 0 {
		return nil
	}
	if m.frame.TooSmall {
		if m.overlay == keys.Confirm {
			return draw.Block(draw.Wrap(draw.Clean(m.theme.Words.Text(m.asking.text))+" y/n", m.w), m.w, m.h)
		}
		need := m.theme.Words.Phrase("kx needs %dx%d, this is %dx%d. q quits.", layout.MinWidth, layout.MinHeight, m.w, m.h)
		return draw.Block(draw.Wrap(need, m.w), m.w, m.h)
	}
	same, state := m.focusedSide().Foot()
	frame := append([]string{m.header()}, m.sides()...)
	frame = append(frame, same, m.stateLine(state), m.hints())
	frame = draw.Block(frame, m.w, m.h)
	switch m.overlay {
	case keys.Palette:
		return m.layOver(frame, m.palette())
	case keys.Help, keys.InHelp:
		return m.layOver(frame, m.help())
	case keys.Menu:
		return m.layOver(frame, m.menuBox())
	}
	return frame
}

// sides draws the lesson and the screen, or the visible one of them.
func (m *model) sides() []string {
	if m.lesson == nil || m.frame.OneSide() {
		return m.focusedSide().Render()
	}
	beside := m.current.Render
	if m.onLesson && m.lesson.Veiled() {
		beside = m.veil
	}
	if m.frame.Stacked() {
		return append(m.lesson.Render(), beside()...)
	}
	return draw.JoinBlocks(m.lesson.Render(), beside())
}

// veil replaces the screen while it would answer the lesson's question.
func (m *model) veil() []string {
	w, h := m.frame.Screen.W, m.frame.Screen.H
	lines := []string{""}
	for _, line := range draw.Wrap(m.theme.Words.Phrase("The requests are shown here once you have answered. %s shows them at once.",
		keys.ToLesson.Key()), max(w-4, 1)) {
		lines = append(lines, " "+line)
	}
	return m.theme.Box(lines, "", "", w, h, false)
}

// layOver lays a box over the middle of the screen.
func (m *model) layOver(frame, box []string) []string {
	w := 0
	if len(box) > 0 {
		w = draw.Width(box[0])
	}
	return draw.Overlay(frame, box, (m.w-w)/2, m.boxTop())
}

// header draws the names of the screens, and the facts about the server. It is the one line that changes while the
// user does nothing.
func (m *model) header() string {
	left := " " + m.theme.Title("kx") + " "
	for _, t := range m.tabs() {
		if t.name == m.focusedSide().Name() {
			left += " " + m.theme.Tab(t.text)
		} else {
			left += " " + m.theme.Dim(t.text)
		}
	}
	right := " "
	for _, fact := range m.facts() {
		if draw.Width(left)+draw.Width(fact)+2+draw.Width(right) > m.w {
			break
		}
		right = "  " + fact + right
	}
	return draw.Ends(left, right[1:], m.w)
}

// tabs returns the names of the screens with their digits, the current one in brackets. If they do not fit, the
// others are only digits.
func (m *model) tabs() []tab {
	all := m.tabsOf(func(n int, name screen.Name) string { return fmt.Sprintf("%d %s", n, m.screenTitle(name)) })
	room := roomForFacts
	if m.w >= layout.Narrow { // what is true of the server does not go because a number grew: the names make room
		room = m.roomOfFacts()
	}
	if last := all[len(all)-1]; last.x+last.w+room > m.w {
		return m.tabsOf(func(n int, _ screen.Name) string { return fmt.Sprint(n) })
	}
	return all
}

// roomOfFacts returns the width of all facts but the address, which comes last.
func (m *model) roomOfFacts() int {
	w := 2
	for _, fact := range m.serverFacts() {
		w += 2 + draw.Width(fact)
	}
	return w
}

// roomForFacts is the least width that the tabs leave in the header.
const roomForFacts = 20

func (m *model) tabsOf(short func(int, screen.Name) string) []tab {
	var all []tab
	x := 4
	add := func(name screen.Name, text string) {
		all = append(all, tab{name: name, text: text, x: x + 1, w: draw.Width(text)})
		x += 1 + draw.Width(text)
	}
	seen := false
	for i, name := range numbered {
		if m.screens[name] == nil {
			continue
		}
		text := " " + short(i+1, name) + " "
		if name == m.focusedSide().Name() {
			seen = true
			text = fmt.Sprintf("[%d %s]", i+1, m.screenTitle(name))
		}
		add(name, text)
	}
	if !seen && !m.onLesson {
		add(m.current.Name(), "["+m.screenTitle(m.current.Name())+"]")
	}
	if m.onLesson {
		add(screen.Lesson, "["+m.lessonTab()+"]")
	} else if m.lesson != nil {
		add(screen.Lesson, " "+m.lessonTab()+" ")
	}
	return all
}

// lessonTab names the lesson's side, with the key that switches sides.
func (m *model) lessonTab() string { return keys.ToLesson.Key() + " " + m.screenTitle(screen.Lesson) }

// screenTitle returns a screen's translated name.
func (m *model) screenTitle(name screen.Name) string { return m.theme.Words.Text(string(name)) }

// serverFacts lists the facts about the server but for its address.
func (m *model) serverFacts() []string {
	var all []string
	for _, s := range m.order {
		if f, ok := s.(screen.Facts); ok {
			all = append(all, f.Facts()...)
		}
	}
	all = append(all, m.revisions.facts()...)
	return append(all, m.recordingFacts()...)
}

// facts lists the screens' facts about the server, and its address.
func (m *model) facts() []string {
	all := m.serverFacts()
	_, host, _ := strings.Cut(draw.Clean(m.client.Host()), "://")
	switch {
	case m.options.Saved != nil:
		return append(all, m.theme.Dim(draw.Clean(m.options.Saved.File)))
	case host == "":
		return append([]string{m.theme.Notice(m.theme.Words.Phrase("the server is starting"))}, all...)
	case m.server.InProcess:
		host = m.theme.Words.Phrase("%s in this process", host)
	}
	return append(all, m.theme.Dim(host))
}

func (m *model) stateLine(state string) string {
	switch {
	case m.overlay == keys.Confirm:
		text := draw.Clean(m.theme.Words.Text(m.asking.text))
		text = draw.Fit(text, min(draw.Width(text), max(m.w-len("  y/n"), 0))) // the keys are seen, however long the question is
		return " " + m.theme.Notice(text+" ") + m.theme.Key("y") + "/" + m.theme.Key("n")
	case m.overlay == keys.Ask:
		// The typed text stays visible, however long the question is.
		label := " " + draw.Clean(m.theme.Words.Text(m.asking.text))
		label = draw.Fit(label, min(draw.Width(label), m.w*2/3)) + " "
		return label + m.asking.line.View(m.w-draw.Width(label))
	case m.note.text != "" && m.note.bad:
		return m.theme.Bad(" ! " + draw.Clean(m.theme.Words.Text(m.note.text)))
	case m.note.text != "":
		return " " + draw.Clean(m.theme.Words.Text(m.note.text))
	}
	if away := m.client.Unreachable(); away != nil {
		return m.awayLine(away)
	}
	return state
}

// awayLine reports, on every screen, that the server does not answer, with a way out.
func (m *model) awayLine(away *api.UnreachableError) string {
	say := m.theme.Words.Phrase
	next := say("; kx serve starts it")
	if m.server.InProcess {
		next = say("; if it stays away, leave with q and start kx tui again")
	}
	return m.theme.Bad(draw.JoinFitting(m.w,
		draw.Part{Text: " ! " + say("no answer from %s", draw.Clean(away.Host)), Weight: 4},
		draw.Part{Text: " (" + draw.Clean(away.Why) + ")", Weight: 1},
		draw.Part{Text: say(". It is asked again"), Weight: 3},
		draw.Part{Text: next, Weight: 2}))
}

// hint is a key and its effect, at a column of the last line.
type hint struct {
	x, w int
	key  string
	word string
}

func (m *model) text(h hint) string {
	return " " + m.theme.Key(keys.FormatKeys(h.key)) + " " + m.theme.Words.Text(h.word) + " "
}

// hints draws the next useful keys that fit, and always the keys for help and the palette.
func (m *model) hints() string {
	line, at := "", 0
	for _, h := range m.placeHints() {
		line += strings.Repeat(" ", h.x-at) + m.text(h)
		at = h.x + h.w
	}
	return draw.Fit(line, m.w)
}

// placeHints returns the hints with their places: on the right those for the palette, help and quitting.
func (m *model) placeHints() []hint {
	always := []hint{{key: ":", word: "palette"}, {key: "?", word: "help"}, {key: "q", word: "quit"}}
	switch {
	case m.overlay != keys.None:
		always = []hint{{key: "esc", word: "back"}}
	case m.context().Typing: // where : ? and q are text
		always = []hint{{key: "ctrl+p", word: "palette"}, {key: "f1", word: "help"}, {key: "esc", word: "back"}}
	}
	x := m.w
	for i := len(always) - 1; i >= 0; i-- {
		always[i].w = draw.Width(m.text(always[i]))
		x -= always[i].w
		always[i].x = max(x, 0)
	}
	return append(m.hintsIn(x), always...)
}

// hintsIn returns the hints of the context that fit into room, the probable next ones first.
func (m *model) hintsIn(room int) (hints []hint) {
	ctx, x := m.context(), 0
	add := func(c *keys.Command, word string) bool {
		h := hint{x: x, key: c.KeysIn(ctx)[0], word: word}
		h.w = draw.Width(m.text(h))
		if word == "" || x+h.w > room {
			return false
		}
		x += h.w
		hints = append(hints, h)
		return true
	}
	var rest []*keys.Command
	for _, c := range m.table.CommandsIn(ctx) {
		switch {
		case len(c.KeysIn(ctx)) == 0 || c.DisabledReason() != "":
		case c.NextHint() != "":
			add(c, c.NextHint())
		case c.Hint != "":
			rest = append(rest, c)
		}
	}
	for _, c := range rest {
		word := c.Hint
		if o, ok := m.focusedSide().(screen.Opener); ok && c.ID == keys.Open && m.overlay == keys.None {
			if word = o.Opens(); word == "" {
				continue
			}
		}
		if !add(c, word) {
			break
		}
	}
	return hints
}
