package keys

import (
	"strings"
	"testing"
)

func TestResolve(t *testing.T) {
	all := []Context{List, Steps, Detail, Filter, Palette}
	own := []Command{
		{ID: "look", Contexts: []Context{Detail}, Keys: []string{"enter"}},
		{ID: "apply", Contexts: []Context{Filter}, Keys: []string{"enter"}},
		{ID: "quit", Contexts: Panes, Keys: []string{"q"}},
		{ID: "stop", Contexts: all, Keys: []string{"ctrl+c"}},
	}
	table, err := New(append(own, Shared(all, own)...))
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
	if c := table.Lookup("quit"); c == nil || c.Key() != "q" || c.Disabled() != "" {
		t.Errorf("quit: %+v", c)
	}
	if table.Lookup("dance") != nil {
		t.Error("there is a command dance")
	}
	for _, c := range table.In(Filter) {
		if !c.In(Filter) {
			t.Errorf("%s is not in filter", c.ID)
		}
	}
	if len(table.Commands()) != len(shared())+4 {
		t.Errorf("%d in all", len(table.Commands()))
	}
}

func TestRefused(t *testing.T) {
	_, err := New([]Command{{ID: "a", Contexts: Panes, Keys: []string{"x"}}, {ID: "b", Contexts: []Context{Steps}, Keys: []string{"x"}}})
	if err == nil || !strings.Contains(err.Error(), `in steps, "x" is both a and b`) {
		t.Errorf("one key, two meanings: %v", err)
	}
	if _, err = New([]Command{{ID: "a"}, {ID: "a"}}); err == nil {
		t.Error("a command may be in the table twice")
	}
	if _, err = New([]Command{{ID: "a", Contexts: []Context{Filter}, Keys: []string{"x"}}, {ID: "b", Contexts: []Context{Filter}, Keys: []string{"x"}}}); err != nil {
		t.Errorf("characters are text in the filter: %v", err)
	}
}
