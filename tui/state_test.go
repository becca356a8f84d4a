package tui

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/kx-apiserver/kx/tui/theme"
)

// TestTwoScreens has two programs with one file of state. Whoever ends last is remembered, whole; a reader never finds half a
// file, and nothing else is left beside it.
func TestTwoScreens(t *testing.T) {
	file := filepath.Join(t.TempDir(), "tui.json")
	one, two := again(t, file), again(t, file)
	one.keptTheme, two.keptTheme = theme.Light, theme.Dark
	var writers sync.WaitGroup
	for _, m := range []*model{one, two} {
		writers.Go(func() {
			for i := range 100 {
				m.mouse = i%2 == 0
				if err := m.keep(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	done := make(chan struct{})
	go func() {
		writers.Wait()
		close(done)
	}()
	for reading := true; reading; {
		select {
		case <-done:
			reading = false
		default:
		}
		if s, err := readState(file); err != nil || s.Theme != theme.Light && s.Theme != theme.Dark && s.Theme != "" {
			t.Fatalf("%+v, %v", s, err)
		}
	}
	for _, m := range []*model{two, one} {
		if err := m.keep(); err != nil {
			t.Fatal(err)
		}
		if s, err := readState(file); err != nil || s.Theme != m.keptTheme {
			t.Errorf("%+v, %v, want %s", s, err, m.keptTheme)
		}
	}
	entries, err := os.ReadDir(filepath.Dir(file))
	if err != nil || len(entries) != 1 || !strings.HasSuffix(entries[0].Name(), "tui.json") {
		t.Errorf("%v, %v", entries, err)
	}
}
