package tui

import (
	"fmt"
	"strings"

	"github.com/kx-apiserver/kx/tui/draw"
	"github.com/kx-apiserver/kx/tui/keys"
	"github.com/kx-apiserver/kx/tui/layout"
	"github.com/kx-apiserver/kx/tui/session"
)

// View implements tea.Model. It makes a frame only if something changed since the last.
func (m *model) View() string {
	defer m.crash.caught()
	if m.dirty {
		m.frame = strings.Join(m.render(), "\n")
		m.dirty = false
	}
	return m.frame
}

// render makes a frame of exactly w by h.
func (m *model) render() []string {
	if m.w <= 0 || m.h <= 0 {
		return nil
	}
	if m.screen.TooSmall {
		need := fmt.Sprintf("kx needs %dx%d, this is %dx%d. q quits.", layout.MinWidth, layout.MinHeight, m.w, m.h)
		return draw.Block(draw.Wrap(need, m.w), m.w, m.h)
	}
	frame := []string{m.header(), m.filterLine()}
	for _, row := range m.bodies() {
		frame = append(frame, row...)
	}
	frame = append(frame, m.sameAsLine(), m.stateLine(), m.hints())
	frame = draw.Block(frame, m.w, m.h)
	switch m.overlay {
	case keys.Palette:
		return m.over(frame, m.palette())
	case keys.Help:
		return m.over(frame, m.help())
	}
	return frame
}

// bodies are the panes that are seen, row by row of the screen.
func (m *model) bodies() [][]string {
	var rows [][]string
	for _, id := range order {
		r := m.screen.Panes[id]
		if r.W == 0 {
			continue
		}
		block := m.panes()[id].Render(id == m.focus && m.overlay == keys.None)
		if r.X > 0 {
			rows[len(rows)-1] = draw.Beside(rows[len(rows)-1], block)
			continue
		}
		rows = append(rows, block)
	}
	return rows
}

// over lays a box over the middle of the panes.
func (m *model) over(frame, box []string) []string {
	w := 0
	if len(box) > 0 {
		w = draw.Width(box[0])
	}
	return draw.Over(frame, box, (m.w-w)/2, m.screen.Filter.Y+1)
}

// header is the one line that changes while nothing is done.
func (m *model) header() string {
	where := m.host()
	if m.options.InProcess {
		where += " in this process"
	}
	left := " " + m.theme.Title("kx") + "  " + m.theme.Tab("[Capture]") + "  " + m.theme.Dim(where)
	right := fmt.Sprintf("%d requests", m.ring.Len())
	if m.ring.Len() == 1 {
		right = "1 request"
	}
	if m.ring.Dropped > 0 {
		right += fmt.Sprintf("  %d dropped", m.ring.Dropped)
	}
	if m.ring.LeftOut > 0 {
		right += fmt.Sprintf("  %d left out", m.ring.LeftOut)
	}
	switch m.state.Phase {
	case session.Live:
		right += "  " + m.theme.Good("live")
	case session.Connecting:
		right += "  " + m.theme.Notice("connecting")
	case session.Retrying:
		right += "  " + m.theme.Bad("! no answer")
	}
	return draw.Ends(left, right+" ", m.w)
}

func (m *model) filterLine() string {
	if m.overlay == keys.Filter {
		_, err := m.parsed()
		verdict := m.theme.Good("ok")
		if err != nil {
			verdict = m.theme.Bad("! error")
		}
		verdict = " " + verdict + " "
		return " / " + m.typing.View(m.w-3-draw.Width(verdict)) + verdict
	}
	left := m.theme.Dim(" / all requests")
	if m.applied != "" {
		left = " / " + m.applied
	}
	follow := "follow off"
	if m.list.Following() {
		follow = "follow on"
	}
	return draw.Ends(left, follow+" ", m.w)
}

func (m *model) sameAsLine() string {
	if m.overlay == keys.Filter {
		return m.caretLine()
	}
	row := m.list.Selected()
	if row == nil {
		return ""
	}
	if same := sameAs(&row.Spec); same != "" {
		return m.theme.Dim(" same as  ") + same
	}
	return m.theme.Dim(" "+row.Spec.Method+" ") + row.Spec.URI
}

// caretLine shows, while a filter is typed, what of it can't be read.
func (m *model) caretLine() string {
	_, err := m.parsed()
	if err == nil {
		if m.typing.String() == "" {
			return m.theme.Dim(" nothing: all requests")
		}
		return ""
	}
	runes := []rune(m.typing.String())
	at := min(max(err.Column-1, 0), len(runes))
	text := fmt.Sprintf(" column %d: ", err.Column)
	rest := string(runes[at:])
	if rest == "" {
		rest = "the end"
	}
	return m.theme.Bad(text) + string(runes[:at]) + m.theme.Bad("▶"+rest)
}

func (m *model) stateLine() string {
	switch {
	case m.note.text != "" && m.note.bad:
		return m.theme.Bad(" ! " + draw.Clean(m.note.text))
	case m.note.text != "":
		return " " + draw.Clean(m.note.text)
	case m.overlay == keys.Filter:
		return m.filterState()
	case m.state.Phase == session.Retrying:
		return m.theme.Bad(" ! trying again: " + draw.Clean(m.state.Reason))
	}
	return ""
}

// filterState says what is wrong with the filter, or what can be typed next.
func (m *model) filterState() string {
	found := m.candidates()
	switch _, err := m.parsed(); {
	case err != nil:
		text := " " + err.Problem
		if err.Expected != "" {
			text += "; expected " + err.Expected
		}
		return m.theme.Bad(text)
	case len(found) == 1:
		f := found[0]
		return " " + f.Name + ": " + f.Help + m.theme.Dim("  such as "+f.Example)
	case len(found) > 1:
		var names []string
		for _, f := range found {
			names = append(names, f.Name)
		}
		return m.theme.Dim(" fields: ") + strings.Join(names, " ")
	}
	return m.theme.Dim(" fields: " + fieldNames())
}

// hints are the keys that one wants next, as many as there is room for, and always those that lead to all others.
func (m *model) hints() string {
	always := m.theme.Key(":") + " palette  " + m.theme.Key("?") + " help  " + m.theme.Key("q") + " quit "
	if m.overlay != keys.None {
		always = m.theme.Key("esc") + " back "
	}
	room := m.w - draw.Width(always) - 1
	hints := ""
	for _, c := range m.table.In(m.context()) {
		if c.Hint == "" || c.Disabled() != "" {
			continue
		}
		hint := " " + m.theme.Key(keys.Shown(c.Keys[0])) + " " + c.Hint + " "
		if draw.Width(hints+hint) > room {
			break
		}
		hints += hint
	}
	return draw.Ends(hints, always, m.w)
}
