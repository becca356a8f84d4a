package keys

import (
	"slices"
	"strings"
	"testing"

	tea "github.com/charmbracelet/bubbletea"
)

func TestResolve(t *testing.T) {
	all := []Context{List, Steps, Detail, Filter, Palette}
	own := []Command{
		{ID: "look", Contexts: []Context{Detail}, Meaning: meaning("look", "enter")},
		{ID: "apply", Contexts: []Context{Filter}, Meaning: meaning("apply", "enter")},
		{ID: "quit", Contexts: Panes, Meaning: meaning("quit", "q")},
		{ID: "stop", Contexts: all, Meaning: meaning("stop", "ctrl+c")},
	}
	var done []ID
	do := func(id ID) tea.Cmd {
		done = append(done, id)
		return nil
	}
	table, err := New(append(own, SharedCommands(all, own, do)...))
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		ctx  Context
		key  string
		want ID
	}{
		{List, "j", Down}, {Steps, "down", Down}, {Palette, "down", Down}, {Palette, "j", ""}, {Filter, "j", ""}, {Filter, "down", Down},
		{List, "enter", Open}, {Filter, "enter", "apply"}, {Detail, "enter", "look"}, {Detail, "q", "quit"}, {Help, "q", ""},
		{Filter, "ctrl+c", "stop"}, {List, "ctrl+x", ""}, {Filter, "ctrl+u", EditDeleteLine}, {List, "ctrl+u", HalfUp},
		{Filter, "home", EditHome}, {List, "home", Top},
	} {
		var got ID
		if c := table.Resolve(test.ctx, test.key); c != nil {
			got = c.ID
		}
		if got != test.want {
			t.Errorf("%s, %s: %q, want %q", test.ctx, test.key, got, test.want)
		}
	}
	if c := table.Lookup("quit"); c == nil || FormatKeys(c.Keys...) != "q" || c.DisabledReason() != "" {
		t.Errorf("quit: %+v", c)
	}
	if table.Lookup("dance") != nil {
		t.Error("there is a command dance")
	}
	for _, c := range table.CommandsIn(Filter) {
		if !c.AppliesIn(Filter) {
			t.Errorf("%s is not in filter", c.ID)
		}
	}
	table.Lookup(Up).Do()
	table.Lookup(Copy).Do()
	if !slices.Equal(done, []ID{Up, Copy}) {
		t.Errorf("shared commands did %v", done)
	}
	if len(table.Commands()) != len(shared())+4 {
		t.Errorf("%d in all", len(table.Commands()))
	}
}

func TestThen(t *testing.T) {
	var done []string
	all := RunAfter([]Command{
		{ID: "a", Do: Call(func() { done = append(done, "a") })},
		{ID: "b", Do: Bind(func(text string) tea.Cmd { done = append(done, text); return nil }, "b")},
	}, func() tea.Cmd { done = append(done, "after"); return nil })
	for _, c := range all {
		c.Do()
	}
	if got := strings.Join(done, " "); got != "a after b after" {
		t.Error(got)
	}
}

func TestKeysIn(t *testing.T) {
	c := Command{Meaning: meaning("send", "r", " ", "alt+r")}
	if places, lines := FormatKeys(c.KeysIn(List)...), FormatKeys(c.KeysIn(Filter)...); places != "r space alt+r" || lines != "alt+r" {
		t.Errorf("%q, %q", places, lines)
	}
}

func TestRefused(t *testing.T) {
	_, err := New([]Command{{ID: "a", Contexts: Panes, Meaning: meaning("do it", "x")}, {ID: "b", Contexts: []Context{Steps}, Meaning: meaning("do it", "x")}})
	if err == nil || !strings.Contains(err.Error(), `in steps, "x" is both a and b`) {
		t.Errorf("one key, two meanings: %v", err)
	}
	if _, err = New([]Command{{ID: "a"}, {ID: "a"}}); err == nil {
		t.Error("a command may be in the table twice")
	}
	if _, err = New([]Command{{ID: "a", Contexts: []Context{Filter}, Meaning: meaning("do it", "x")}, {ID: "b", Contexts: []Context{Filter}, Meaning: meaning("do it", "x")}}); err != nil {
		t.Errorf("characters are text in the filter: %v", err)
	}
}
