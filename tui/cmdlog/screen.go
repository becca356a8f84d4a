package cmdlog

import (
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/kx-apiserver/kx/tui/draw"
	"github.com/kx-apiserver/kx/tui/keys"
	"github.com/kx-apiserver/kx/tui/pane"
	"github.com/kx-apiserver/kx/tui/screen"
	"github.com/kx-apiserver/kx/tui/shell"
)

// place is where the screen's keys are pressed.
var place = keys.Place("command log")

// Screen is the log of commands. Its methods are called by one goroutine.
type Screen struct {
	screen.Split
	host screen.Host
	log  *Log

	rows []row
	gone int
	list *pane.Rows
}

// row is a request with its command.
type row struct {
	entry
	command string
}

var _ screen.Screen = (*Screen)(nil)

// New makes the screen of a log.
func New(host screen.Host, log *Log) *Screen {
	s := &Screen{host: host, log: log}
	s.list = pane.NewRows(host.Theme, s.content)
	s.Split = screen.NewSplit(host, screen.Plan{Panes: []screen.Place{{Context: place, Pane: s.list}}})
	log.notify(host.Changed)
	return s
}

func (s *Screen) Name() screen.Name { return screen.CommandLog }

// Commands implements screen.Screen.
func (s *Screen) Commands() []keys.Command {
	return []keys.Command{{ID: "did.copy-all", Meaning: keys.CopyCommand, Contexts: []keys.Context{place}, Hint: "copy all",
		WhyNot: s.whyNone, Do: s.copyAll, Help: "Copy all commands, the oldest first, to run them again."}}
}

func (s *Screen) whyNone() string {
	if len(s.rows) == 0 {
		return "nothing was sent for you yet"
	}
	return ""
}

// copyAll copies all commands.
func (s *Screen) copyAll() tea.Cmd {
	all := []string{"# " + draw.Clean(s.host.API().Host())}
	for i := range s.rows {
		all = append(all, s.rows[i].command)
	}
	return s.host.Copy(strings.Join(all, "\n") + "\n")
}

// Handle copies a command, or moves.
func (s *Screen) Handle(id keys.ID) (tea.Cmd, bool) {
	if i := s.list.Cursor(); id == keys.Copy && i >= 0 {
		return s.host.Copy(s.rows[i].command), true
	}
	return s.Split.Handle(id)
}

func (s *Screen) Show(screen.Target) tea.Cmd { return s.Drain() }

// Drain takes new requests. A cursor at the end stays at the end.
func (s *Screen) Drain() tea.Cmd {
	all, gone := s.log.list()
	if len(all)+gone == len(s.rows)+s.gone {
		return nil
	}
	atEnd, cursor := s.list.Cursor() >= len(s.rows)-1, s.list.Cursor()-(gone-s.gone)
	known := s.rows[min(gone-s.gone, len(s.rows)):]
	for i := len(known); i < len(all); i++ {
		known = append(known, row{all[i], all[i].command(shell.Target{Kubeconfig: s.host.Kubeconfig(), Context: s.host.KubeContext()})})
	}
	s.rows, s.gone = known, gone
	if atEnd {
		cursor = len(s.rows) - 1
	}
	s.list.SetCursor(max(cursor, 0))
	return nil
}

func (s *Screen) Close() { s.log.notify(nil) }

func (s *Screen) Foot() (sameAs, state string) { return "", "" }

const (
	// footLines is the number of lines for the whole command under the cursor.
	footLines = 12
	// low is the height below which there are no such lines.
	low = 20
)

// content draws the commands.
func (s *Screen) content() pane.Content {
	look := s.host.Theme()
	w, h := s.Size()
	c := pane.Content{Title: look.Title(look.Words.Phrase("Command log")), NoMarks: true, Counted: true, Rows: len(s.rows),
		Empty: []string{"  " + look.Words.Phrase("Nothing was sent for you yet."),
			"  " + look.Words.Phrase("What you send, hold, break or change from this screen is listed here as commands, "+
				"without the values of Secrets.")}}
	if s.gone > 0 {
		c.Note = look.Words.Phrase(", %d before them are not kept", s.gone)
	}
	c.Row = func(i int) pane.Row {
		lines := strings.Split(s.rows[i].command, "\n")
		for len(lines) > 1 && strings.HasPrefix(lines[0], "# ") {
			lines = lines[1:]
		}
		return pane.Row{Text: "  " + look.Dim(s.rows[i].at.In(s.host.Zone()).Format(time.TimeOnly)) + "  " + draw.Clean(lines[0])}
	}
	if h >= low {
		c.Foot = func(i int) []string {
			lines := []string{look.Border(strings.Repeat("╌", max(w-2, 0)))}
			for _, line := range strings.Split(s.rows[i].command, "\n") {
				lines = append(lines, draw.Wrap(" "+draw.Clean(line), w-2)...)
			}
			return draw.Block(lines, w-2, footLines)
		}
	}
	return c
}
