package tui

import (
	"encoding/json"
	"strings"
	"testing"

	tea "github.com/charmbracelet/bubbletea"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kx-apiserver/kx/core/escape/escapetest"
	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
)

// taint appends hostile text to what a journey says, and adds it to its objects. Every other step keeps what the screen knows it by.
func taint(t *testing.T, j *v1alpha1.Journey) *v1alpha1.Journey {
	t.Helper()
	j, clean := j.DeepCopy(), j
	any := escapetest.Any()
	j.Texts(func(text string) string { return text + any })
	j.Name, j.Status.Level, j.Status.Phase = clean.Name, clean.Status.Level, clean.Status.Phase
	j.Spec.Verb, j.Spec.Method = clean.Spec.Verb, clean.Spec.Method
	for i := range j.Status.Steps {
		s, was := &j.Status.Steps[i], &clean.Status.Steps[i]
		if i%2 == 0 {
			s.ID, s.Layer, s.File = was.ID, was.Layer, was.File
		}
		s.Before, s.After = taintObject(t, s.Before), taintObject(t, s.After)
	}
	return j
}

func taintObject(t *testing.T, object *runtime.RawExtension) *runtime.RawExtension {
	t.Helper()
	if object == nil {
		return nil
	}
	any, err := json.Marshal(escapetest.Any())
	if err != nil {
		t.Fatal(err)
	}
	// JSON may have what is beyond ASCII as it is.
	raw := []rune(strings.Map(func(r rune) rune {
		if r < ' ' || r == '"' || r == '\\' {
			return '_'
		}
		return r
	}, escapetest.Any()))
	return &runtime.RawExtension{Raw: []byte(`{` + string(any) + `:[` + string(any) + `,"` + string(raw) + `"],` + strings.TrimPrefix(string(object.Raw), "{"))}
}

// TestHostileServer follows a server that sends hostile text wherever it can, and looks at all that the screen makes of it. There are
// no colours, so that an escape code is the server's.
func TestHostileServer(t *testing.T) {
	d := newDriver(t)
	d.send(tea.WindowSizeMsg{Width: 160, Height: 50})
	for i := range d.recorded {
		d.recorded[i] = taint(t, d.recorded[i])
	}
	for _, j := range d.recorded {
		d.put(j.Name[strings.LastIndexByte(j.Name, '-')+1:])
	}
	d.settle()
	seen, copies := 0, 0
	look := func(keys ...string) {
		t.Helper()
		for _, key := range keys {
			d.press(key)
			d.m.dirty = true
			frame := d.m.View()
			if raw := escapetest.Find(frame, "\n"); raw != "" {
				t.Fatalf("after %q the screen shows %s", key, raw)
			}
			if strings.Contains(frame, "[2J") {
				seen++
			}
			text := copied(t, d)
			if raw := escapetest.Find(text, "\n\t"); raw != "" {
				t.Fatalf("after %q the clipboard has %s", key, raw)
			}
			if text != "" {
				copies++
			}
		}
	}
	look("g", "F", "g")
	for range d.recorded {
		look("y", "Y", "enter", "enter", "y", "d", "y", "d", "u", "]", "y", "]", "A", "y", "a", "y", "a", "y", "]", "y", "]", "]",
			"]", "y", "z", "G", "z", "S", "n", "n", "esc", "1", "esc", "esc", "j")
	}
	look("g", "m", "j", "D", "n", "u", "n", "tab", "j", "esc", "X", "esc", "B", "esc", "b", "esc", "r", "tab", "tab", "1", "V", "1", "Y", "y", "w", "esc", "ctrl+l", "esc", "?", "esc")
	for _, before := range [][]string{{"/"}, {":"}, {"B", "b"}, {"g", "enter", "f"}, {"?"}} {
		look(before...)
		d.send(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune(escapetest.Any()), Paste: true})
		look("tab", "enter", "esc", "esc", "esc", "1")
	}
	if seen < 100 || copies < 10 {
		t.Errorf("only %d frames and %d copies show something of it", seen, copies)
	}
}
