package keys

import (
	"strings"
	"testing"
)

func commands() []Command {
	return []Command{
		{ID: "open", Contexts: Panes, Meaning: meaning("do it", "enter")},
		{ID: "screen.one", Contexts: Panes, Meaning: meaning("do it", "1")},
		{ID: "look", Contexts: []Context{Steps}, Meaning: meaning("do it", "x")},
		{ID: "quit.always", Contexts: Panes, Meaning: meaning("do it", "ctrl+c")},
	}
}

func TestRemap(t *testing.T) {
	m, err := Read([]byte("# mine\nopen: [o, space, alt+o, n, y]\nscreen.one: 9\nlook: []\n"))
	if err != nil {
		t.Fatal(err)
	}
	all := commands()
	if err := m.Apply(all); err != nil {
		t.Fatal(err)
	}
	table, err := New(all)
	if err != nil {
		t.Fatal(err)
	}
	for key, want := range map[string]ID{"o": "open", " ": "open", "alt+o": "open", "n": "open", "y": "open", "enter": "", "9": "screen.one", "1": "", "x": "", "ctrl+c": "quit.always"} {
		var got ID
		if c := table.Resolve(Steps, key); c != nil {
			got = c.ID
		}
		if got != want {
			t.Errorf("%q is %q, want %q", key, got, want)
		}
	}
}

func TestRemapRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"open: [":                            "yaml",
		"open: x\nopen: y":                   "already defined",
		"- open":                             "unmarshal",
		"open: bogus":                        `open: "bogus" is not a key`,
		"open: f99":                          `"f99" is not a key`,
		`open: "\e"`:                         "is not a key",
		"open: {a: b}":                       "is not a key",
		"fly: w\ndance: v":                   "dance: there is no such command (the palette shows all)\nfly: there is",
		"quit.always: x":                     "quit.always: its keys can't be changed",
		"open: x":                            `in steps, "x" is both open and look`,
		strings.Repeat("# long\n", fileMost): "bytes",
	} {
		m, err := Read([]byte(text))
		if err == nil {
			all := commands()
			if err = m.Apply(all); err == nil {
				_, err = New(all)
			}
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: %v, want %q", text, err, want)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte("open: [o, space]\nquit: q"))
	f.Fuzz(func(t *testing.T, text []byte) {
		if m, err := Read(text); err == nil {
			_ = m.Apply(commands())
		}
	})
}
