package tui

import (
	"slices"
	"strings"
	"testing"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/kx-apiserver/kx/core/lang"
	"github.com/kx-apiserver/kx/tui/keys"
)

// TestAlsoCalled: other names are those of commands that there are.
func TestAlsoCalled(t *testing.T) {
	m := entire(t)
	for id := range alsoCalled {
		if m.table.Lookup(id) == nil {
			t.Errorf("there is no command %s", id)
		}
	}
}

// TestPaletteByMeaning: who types what he wants finds the command that does it, whatever that is called.
func TestPaletteByMeaning(t *testing.T) {
	for _, test := range []struct {
		language lang.Language
		typed    string
		want     keys.ID
	}{
		{lang.English, "webhook", "what-if.fail"},
		{lang.English, "export", "capture.save"},
		{lang.English, "forbidden", "filter.code"},
		{lang.English, "409", "filter.code"},
		{lang.English, "409", "what-if.steal"},
		{lang.English, "who set", "detail.diff"},
		{lang.English, "set who", "detail.diff"},
		{lang.English, "context", "server.which"},
		{lang.Chinese, "谁设置", "detail.diff"},
		{lang.Chinese, "导出", "capture.save"},
		{lang.Chinese, "禁止", "filter.code"},
		{lang.Chinese, "上下文", "server.which"},
	} {
		d := newDriverIn(t, test.language)
		d.send(tea.WindowSizeMsg{Width: 120, Height: 40})
		d.press(":", test.typed)
		if !slices.ContainsFunc(d.m.paletteCommands(), func(c *keys.Command) bool { return c.ID == test.want }) {
			t.Errorf("%q does not find %s:\n%s", test.typed, test.want, d.m.View())
		}
	}
}

// TestPaletteShowsAnswers: the palette leads from a code to the requests that got it.
func TestPaletteShowsAnswers(t *testing.T) {
	d := newDriver(t)
	d.send(tea.WindowSizeMsg{Width: 120, Height: 40})
	d.put("2", "14")
	d.press(":", "conflict", "enter")
	d.until("the filter is applied", func() bool { return d.requests() == 1 })
	if head := d.m.View(); !strings.Contains(head, "/ code:409") {
		t.Error(head)
	}
}

// TestHelpFinds narrows help to what has a text.
func TestHelpFinds(t *testing.T) {
	d := newDriver(t)
	d.send(tea.WindowSizeMsg{Width: 120, Height: 40})
	d.press("?", "/", "who set")
	if got := d.m.View(); !strings.Contains(got, "Show what the request changed") || strings.Contains(got, "Compact") || strings.Contains(got, "etcd forget") {
		t.Errorf("what was found:\n%s", got)
	}
	d.press("enter", "j")
	if got := d.m.View(); d.m.overlay != keys.Help || strings.Contains(got, "etcd forget") {
		t.Errorf("what was found stays:\n%s", got)
	}
	d.press("/", "zebra")
	if got := d.m.View(); !strings.Contains(got, "No key of this pane has that") {
		t.Errorf("nothing was found:\n%s", got)
	}
	d.press("esc")
	if got := d.m.View(); d.m.overlay != keys.Help || strings.Contains(got, "No key of this pane") {
		t.Errorf("esc shows all again:\n%s", got)
	}
}
