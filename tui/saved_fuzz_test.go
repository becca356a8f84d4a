package tui

import (
	"encoding/base64"
	"slices"
	"strings"
	"testing"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/kx-apiserver/kx/core/capture/capturetest"
	"github.com/kx-apiserver/kx/core/escape/escapetest"
	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/core/lang"
	"github.com/kx-apiserver/kx/tui/capture"
	"github.com/kx-apiserver/kx/tui/screen"
	"github.com/kx-apiserver/kx/tui/session"
	"github.com/kx-apiserver/kx/tui/theme"
)

// tour goes through a request: its steps with all that is told of them, its story, the step in the map of the server, and a comparison.
var tour = []string{
	"g", "enter", "z", "Z", "]", "]", "]", "]", "]", "]", "z", "j", "O", "a", "a", "a", "A", "Q", "U", "W", "P", "d", "d", "u",
	"v", "G", "l", "i", "o",
	"n", "}", ")", "(", "{", "S", "n", "n", "G", "space", "p", "esc", "s", "esc", "esc", "1", "g", "m", "j", "m", "D", "n", "n",
	"u", "A", "tab", "esc", "g", "'", "esc",
	"g", "y", "Y", "j", "Y", "enter", "y", "G", "y", "d", "y", "O", "y", "Q", "y", "esc",
}

// strolls are the keys that a fuzzer presses. None of them writes a file, starts a process or ends the screen.
var strolls = []string{
	"j", "k", "g", "G", "enter", "esc", "tab", "shift+tab", "[", "]", "P", "O", "Z", "U", "W", "Q", "d", "v", "u", "A", "a", "n",
	"p", "h", "l", "i", "o", "}", "{", ")", "(",
	"S", "D", "m", "'", "z", "+", "-", "f", "/", ":", "?", ".", "1", "2", "5", "V", "J", "H", "s", "r", "Y", "y", "ctrl+d",
	"ctrl+u", "ctrl+l", "F", "B", "x", "space", "code:4", "why:", "etcd",
}

// FuzzSaved opens a recorded capture that was changed, goes through all of it, and presses keys.
func FuzzSaved(f *testing.F) {
	for i, recipe := range capturetest.Seeds() {
		f.Add(recipe, byte(i), []byte{byte(i), byte(i * 7), byte(i * 11), byte(i * 13)})
	}
	f.Fuzz(func(t *testing.T, recipe []byte, size byte, pressed []byte) {
		capturetest.Watch(t)
		all := capturetest.Read(capturetest.Changed(recipe))
		if len(all) == 0 {
			return
		}
		d := openSaved(t, all, lang.Language(size>>7))
		d.send(tea.WindowSizeMsg{Width: 40 + int(size&15)*11, Height: 12 + int(size>>4&7)*7})
		d.until("the capture is shown", func() bool { return d.phase() == session.AsSaved })
		walk := slices.Clone(tour)
		for _, b := range pressed[:min(len(pressed), 60)] {
			walk = append(walk, strolls[int(b)%len(strolls)])
		}
		for i, key := range walk {
			d.press(key)
			d.m.dirty = true
			frame := d.frame()
			for _, line := range frame {
				if raw := escapetest.Find(line, ""); raw != "" {
					t.Fatalf("after %q the screen shows %s", walk[:i+1], raw)
				}
			}
			if raw := escapetest.Find(copied(t, d), "\n\t"); raw != "" {
				t.Fatalf("after %q the clipboard has %s", walk[:i+1], raw)
			}
			if err := d.m.crash.failure(); err != nil {
				t.Fatalf("after %q: %v", walk[:i+1], err)
			}
		}
	})
}

// copied is what was copied to the clipboard last.
func copied(t testing.TB, d *driver) string {
	t.Helper()
	_, sent, ok := strings.Cut(d.clipboard.String(), "\x1b]52;c;")
	if d.clipboard.Reset(); !ok {
		return ""
	}
	text, err := base64.StdEncoding.DecodeString(strings.TrimRight(sent, "\a\x1b\\"))
	if err != nil {
		t.Fatalf("%q was sent to the terminal: %v", sent, err)
	}
	return string(text)
}

// openSaved opens the screen on a capture, without colours, so that an escape code is the capture's.
func openSaved(t testing.TB, all []*v1alpha1.Journey, language lang.Language) *driver {
	t.Helper()
	d := &driver{t: t, messages: make(chan tea.Msg, 64)}
	o := Options{Saved: &Capture{File: "kx.ndjson", Journeys: all}, CrashDir: t.TempDir(), Theme: theme.None, Language: language}
	s, err := New(t.Context(), o, &d.clipboard)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.model.close)
	d.m, d.capture = s.model, s.model.screens[screen.Capture].(*capture.Screen)
	d.run(d.m.Init())
	return d
}
