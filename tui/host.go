package tui

import (
	"context"
	"runtime/debug"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/ansi"

	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/tui/api"
	"github.com/kx-apiserver/kx/tui/screen"
	"github.com/kx-apiserver/kx/tui/theme"
)

// host is the view that screens have of the program.
type host struct{ m *model }

var _ screen.Host = host{}

func (h host) Context() context.Context { return h.m.ctx }

func (h host) API() *api.Client { return h.m.client }

func (h host) Theme() theme.Theme { return h.m.theme }

func (h host) Zone() *time.Location { return h.m.options.Zone }

func (h host) Reasons() trace.Catalogue { return h.m.options.Reasons }

func (h host) Kubeconfig() string { return h.m.server.Kubeconfig }

func (h host) KubeContext() string { return h.m.server.Context }

func (h host) Say(text string) { h.m.say(text) }

func (h host) Complain(text string) { h.m.complain(text) }

func (h host) Go(to screen.Target) tea.Cmd { return h.m.lead(to) }

func (h host) Back() tea.Cmd {
	cmd, _ := h.m.leadBack()
	return cmd
}

func (h host) Copy(text string) tea.Cmd { return h.m.copy(text) }

func (h host) Ask(text, initial string, then func(string) tea.Cmd) tea.Cmd {
	h.m.ask(text, initial, then)
	return nil
}

func (h host) Propose(text, proposal string, then func(string) tea.Cmd) tea.Cmd {
	h.m.propose(text, proposal, then)
	return nil
}

func (h host) Choose(menu screen.Menu) tea.Cmd {
	h.m.choose(menu)
	return nil
}

func (h host) Confirm(text string, then func() tea.Cmd) tea.Cmd {
	h.m.confirm(text, then)
	return nil
}

func (h host) Edit(text []byte, suffix string, then func([]byte, error) tea.Cmd) tea.Cmd {
	return h.m.edit(text, suffix, then)
}

func (h host) Do(work func() func() tea.Cmd) tea.Cmd {
	h.m.busy++
	return h.m.guardPanic(func() tea.Msg { return doneMsg{work()} })
}

func (h host) Quit() tea.Cmd { return tea.Quit }

func (h host) Guard() {
	if v := recover(); v != nil {
		h.m.crash.report(v, debug.Stack())
	}
}

func (h host) Changed() {
	select {
	case h.m.changed <- struct{}{}:
	default: // the program knows already
	}
}

func (m *model) say(text string)      { m.note = note{text: text} }
func (m *model) complain(text string) { m.note = note{text: text, bad: true} }

// refuse tells the user why a command is not possible now.
func (m *model) refuse(title, why string) {
	m.complain(m.theme.Words.Phrase("can't %s: %s", m.theme.Words.Text(title), m.theme.Words.Text(why)))
}

// clipboardMost limits a copy, in bytes: terminals refuse longer ones.
const clipboardMost = 64 << 10

// copy puts text on the clipboard of the user's terminal.
func (m *model) copy(text string) tea.Cmd {
	cut := 0
	if len(text) > clipboardMost {
		cut = len(text)
		text = strings.ToValidUTF8(text[:clipboardMost], "")
	}
	m.busy++
	return m.guardPanic(func() tea.Msg {
		_, err := m.out.Write([]byte(ansi.SetSystemClipboard(text)))
		return copiedMsg{text: text, cut: cut, err: err}
	})
}
