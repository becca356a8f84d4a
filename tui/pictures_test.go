package tui

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/muesli/termenv"

	"github.com/kx-apiserver/kx/tui/draw"
	"github.com/kx-apiserver/kx/tui/internal/tuitest"
	"github.com/kx-apiserver/kx/tui/screen/screentest"
	"github.com/kx-apiserver/kx/tui/theme"
)

// TestPictures holds the pictures in the documents to what the screen shows of recorded requests. With -rewrite it draws them.
func TestPictures(t *testing.T) {
	for _, test := range []struct {
		file, title string
		w, h        int
		keys        []string
	}{
		{"get", "A GET that the watch cache answered: its steps, why, and where the code is", 140, 36, nil},
		{"conflict", "A conflict: what was sent, what etcd has, who moved it, and what both changed", 140, 36, []string{"k"}},
		{"diff", "What a patch changed, and which step changed each field", 140, 36, []string{"k", "k", "d"}},
		{"story", "A conflict told in sentences", 104, 36, []string{"k", "S", "G"}},
	} {
		t.Run(test.file, func(t *testing.T) {
			d := newDriver(t)
			d.recorded = tuitest.Recorded(t, "testdata/pictures.json")
			d.m.theme = theme.NewTheme(theme.Dark, termenv.TrueColor)
			d.send(tea.WindowSizeMsg{Width: test.w, Height: test.h})
			d.put("2", "3", "4", "5", "6")
			d.press(test.keys...)
			file := filepath.Join(docs, "pictures", test.file+".svg")
			if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
				t.Fatal(err)
			}
			screentest.Golden(t, file, string(draw.Picture(test.title, strings.Split(d.m.View(), "\n"), "#e4e4e4", "#1e1e1e")))
		})
	}
}
