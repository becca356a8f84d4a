package tui

import (
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/kx-apiserver/kx/core/lang"
	"github.com/kx-apiserver/kx/tui/capture"
)

// TestSaveBoth saves two requests that are beside each other, in Compare and as pictures: as one document, as the hint says.
func TestSaveBoth(t *testing.T) {
	var got *capture.Export
	d := newDriverWith(t, lang.English, func(_ *driver, o *Options) {
		o.Export = func(out io.Writer, e *capture.Export) error {
			got = e
			_, err := io.WriteString(out, "both")
			return err
		}
	})
	d.send(tea.WindowSizeMsg{Width: 100, Height: 30})
	d.put("2", "12")
	d.press("g", "m", "j", "D")
	shows := func(what string, texts ...string) {
		t.Helper()
		frame := strings.Join(d.frame(), "\n")
		for _, text := range texts {
			if !strings.Contains(frame, text) {
				t.Errorf("%s lacks %q:\n%s", what, text, frame)
			}
		}
	}
	shows("Compare", "w save both")
	d.press("_")
	shows("the picture of two", "w save both", "A  ", "B  ")
	d.send(tea.WindowSizeMsg{Width: 80, Height: 24})
	shows("the smallest picture of two", "n next stop  | another way  w save both")
	for _, back := range []bool{false, true} {
		if back {
			d.press("esc")
		}
		d.press("w")
		shows("the menu", "both requests as a page", "both requests as Markdown", "both requests as a drawing")
		if strings.Contains(strings.Join(d.frame(), "\n"), "as a capture") {
			t.Error("a capture puts nothing beside each other")
		}
		d.press("down", "enter", "ctrl+u")
		file := filepath.Join(t.TempDir(), "two.md")
		d.send(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune(file), Paste: true})
		d.settle()
		d.press("enter")
		shows("the note", "saved both requests in ")
		if data, err := os.ReadFile(file); err != nil || string(data) != "both" {
			t.Errorf("%s, %v", data, err)
		}
		if got == nil || !got.Both || got.Form != "md" || len(got.Journeys) != 2 || got.Journeys[0].Name == got.Journeys[1].Name || got.Files == nil {
			t.Errorf("%+v", got)
		}
	}
}
