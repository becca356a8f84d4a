package tui

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/kx-apiserver/kx/core/lesson"
	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/tui/keys"
	"github.com/kx-apiserver/kx/tui/learn"
	"github.com/kx-apiserver/kx/tui/screen"
	"github.com/kx-apiserver/kx/tui/screen/screentest"
)

// docs is where the documents are.
const docs = "../docs"

const keysHead = `# Keys

Every key of ` + "`kx tui`" + ` and of ` + "`kx learn`" + `. Hints, help (` + "`?`" + `), the palette (` + "`:`" + `) and this page are drawn from the same commands. This page is written
by ` + "`go test ./tui -run TestKeysPage -rewrite`" + `.

A key means the same on every screen that has it. The tables after the first say what that is there. To give commands other
keys, write their IDs in ` + "`kx/keys.yaml`" + ` in the directory of your settings (` + "`~/.config`" + ` on Linux,
` + "`~/Library/Application Support`" + ` on a Mac, ` + "`%AppData%`" + ` on Windows):

` + "```yaml" + `
list.follow: f5          # one key
steps.next: [n, space]   # several
mouse: []                # none: do it from the palette
` + "```" + `

A key is a character, or a name: ` + "`enter` `space` `tab` `backspace` `delete` `up` `down` `left` `right` `home` `end` `pgup` `pgdown`" + `,
` + "`f1`" + ` to ` + "`f20`" + `, any of them after ` + "`ctrl+`, `alt+` or `shift+`" + `. kx does not start with a file that names an unknown command, or that
gives a key two meanings in one place; it says which. ` + "`back`" + ` and ` + "`quit.always`" + ` keep their keys.
`

// exceptions are the keys that mean something else where the user types or answers, and why. In the panes there are none.
var exceptions = []struct{ keys, why string }{
	{"enter", "In a line it takes what is typed; in the body of a request it begins a new line."},
	{"tab", "In a line it completes the word; in the body of a request it indents."},
	{"left right home end", "In a line they move the cursor."},
	{"backspace delete", "In a line they delete a character."},
	{"ctrl+u", "In a line it deletes what is before the cursor, as in a shell."},
	{"y n", "They answer a question of yes or no."},
	{"1 2 3 4 5", "They answer the question that a lesson asks."},
}

// TestKeysPage holds the page of keys against the commands. With -rewrite it writes the page.
func TestKeysPage(t *testing.T) {
	m := entire(t)
	var b strings.Builder
	b.WriteString(keysHead)
	meanings(&b, m)
	everywhere := shared(m)
	section(&b, "Everywhere", everywhere)
	for _, one := range m.order {
		var own []*keys.Command
		for _, c := range m.table.Commands() {
			if !slices.Contains(everywhere, c) && slices.ContainsFunc(one.Contexts(), c.AppliesIn) {
				own = append(own, c)
			}
		}
		section(&b, string(one.Name()), own)
	}
	var rest []*keys.Command
	for _, c := range m.table.Commands() {
		if !slices.Contains(everywhere, c) && !m.inPalette(c) && m.owner(c.Contexts[0]) == nil {
			rest = append(rest, c)
		}
	}
	section(&b, "The palette, and questions", rest)
	screentest.Golden(t, filepath.Join(docs, "keys.md"), b.String())
}

// entire is the program with all of its commands.
func entire(t *testing.T) *model {
	t.Helper()
	t.Setenv("HOME", t.TempDir())
	ctx, cancel := context.WithCancel(context.Background())
	l, err := lesson.Parse("example.md", []byte("---\nid: example\ntitle: An example\nminutes: 1\n---\nText.\n"), trace.Names)
	if err != nil {
		t.Fatal(err)
	}
	s, err := New(ctx, Options{CrashDir: t.TempDir(), Lesson: &learn.Options{Lesson: l}}, &strings.Builder{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		s.model.close()
	})
	return s.model
}

// meanings writes what each key means in the panes, and on which screens.
func meanings(b *strings.Builder, m *model) {
	b.WriteString("\n## What a key means\n\n| key | what it does | screens |\n| --- | --- | --- |\n")
	done := map[string]bool{}
	for _, c := range m.table.Commands() {
		if done[c.Title] || len(c.Keys) == 0 || !m.inPalette(c) {
			continue
		}
		done[c.Title] = true
		var screens []string
		for _, s := range m.order {
			if slices.ContainsFunc(m.table.Commands(), func(other *keys.Command) bool {
				return other.Title == c.Title && slices.ContainsFunc(panesOf(s.Contexts()), other.AppliesIn)
			}) {
				screens = append(screens, string(s.Name()))
			}
		}
		if len(screens) == len(m.order) {
			screens = []string{"all"}
		}
		fmt.Fprintf(b, "| %s | %s | %s |\n", cell(quoted(c.Keys)), c.Title, strings.Join(screens, ", "))
	}
	b.WriteString("\nThese keys mean something else where you type or answer:\n\n")
	for _, e := range exceptions {
		fmt.Fprintf(b, "- %s: %s\n", quoted(strings.Fields(e.keys)), e.why)
	}
}

// TestOneMeaning holds all commands to one meaning a key: in the panes of all screens without exception, and where the user
// types or answers but for the exceptions.
func TestOneMeaning(t *testing.T) {
	commands := entire(t).table.Commands()
	pane := func(ctx keys.Context) bool { return !ctx.Typing && !ctx.Asks && ctx != keys.Confirm }
	for key, clash := range clashes(commands, pane) {
		t.Errorf("in the panes, %q means: %s", key, clash)
	}
	excepted := map[string]bool{}
	for _, e := range exceptions {
		for _, key := range strings.Fields(e.keys) {
			excepted[key] = true
		}
	}
	all := clashes(commands, func(keys.Context) bool { return true })
	for key, clash := range all {
		if !excepted[key] {
			t.Errorf("%q means: %s", key, clash)
		}
	}
	for key := range excepted {
		if all[key] == nil {
			t.Errorf("%q has one meaning: it needs no exception", key)
		}
	}
}

// clashes are the keys with several meanings in the contexts that count, and the commands that have them.
func clashes(commands []*keys.Command, counts func(keys.Context) bool) map[string][]string {
	titles, ids := map[string]map[string]bool{}, map[string][]string{}
	for _, c := range commands {
		counted := map[string]bool{}
		for _, ctx := range c.Contexts {
			if !counts(ctx) {
				continue
			}
			for _, key := range c.KeysIn(ctx) {
				counted[key] = true
			}
		}
		for key := range counted {
			if titles[key] == nil {
				titles[key] = map[string]bool{}
			}
			titles[key][c.Title] = true
			ids[key] = append(ids[key], string(c.ID)+" ("+c.Title+")")
		}
	}
	for key, means := range titles {
		if len(means) < 2 {
			delete(ids, key)
		}
	}
	return ids
}

// TestHintedKeys holds the keys that every line of hints names to the commands: each must do something in its context.
func TestHintedKeys(t *testing.T) {
	m := entire(t)
	for _, s := range m.order {
		for _, ctx := range s.Contexts() {
			hinted := []string{":", "?", "q"}
			if ctx.Typing {
				hinted = []string{"ctrl+p", "f1", "esc"}
			}
			for _, key := range hinted {
				if m.table.Resolve(ctx, key) == nil {
					t.Errorf("the hints in %s name %s, which does nothing there", ctx, key)
				}
			}
		}
	}
}

// TestPaletteBeginsHere looks for a command that several screens have: that of the current screen is the first.
func TestPaletteBeginsHere(t *testing.T) {
	m := entire(t)
	m.face(false)
	m.typing.Set("find text")
	for name, want := range map[screen.Name]keys.ID{screen.Capture: "pane.find", screen.Cache: "cache.find", screen.Etcd: "etcd.find"} {
		m.current = m.screens[name]
		if got := m.paletteCommands(); len(got) < 5 || got[0].ID != want {
			t.Errorf("on %s the palette begins with %s, want %s", name, got[0].ID, want)
		}
	}
}

// TestPaletteByUse: what is taken often comes first, also in the next run, and a command is found by its help.
func TestPaletteByUse(t *testing.T) {
	file := filepath.Join(t.TempDir(), "tui.json")
	m := again(t, file)
	m.typing.Set("")
	seldom := m.paletteCommands()[7]
	for range 2 * usedMost {
		m.use(seldom)
	}
	if first := m.paletteCommands()[0]; first != seldom || m.used[seldom.ID] >= usedMost {
		t.Errorf("%s comes first, %s was taken %d times", first.ID, seldom.ID, m.used[seldom.ID])
	}
	if err := m.keep(); err != nil {
		t.Fatal(err)
	}
	m = again(t, file)
	if first := m.paletteCommands()[0]; first.ID != seldom.ID {
		t.Errorf("in the next run %s comes first", first.ID)
	}
	m.typing.Set("lines that ran")
	if found := m.paletteCommands(); len(found) != 1 || found[0].ID != "detail.source" {
		t.Errorf("by its help %d commands are found", len(found))
	}
	m.typing.Set("send.held")
	if on := m.screenOf(m.paletteCommands()[0]); on != "Send" {
		t.Errorf("the command is said to be of %q", on)
	}
}

func TestClashes(t *testing.T) {
	one, other := keys.Place("one"), keys.Place("other")
	command := func(id keys.ID, ctx keys.Context, title string, pressed ...string) *keys.Command {
		return &keys.Command{ID: id, Contexts: []keys.Context{ctx}, Meaning: keys.Meaning{Title: title, Keys: pressed}}
	}
	got := clashes([]*keys.Command{
		command("one.find", one, "find", "f"), command("other.find", other, "find", "f"),
		command("one.delete", one, "delete", "d"), command("other.diff", other, "compare", "x", "d"),
	}, func(keys.Context) bool { return true })
	if want := map[string][]string{"d": {"one.delete (delete)", "other.diff (compare)"}}; !reflect.DeepEqual(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

func quoted(pressed []string) string {
	var shown []string
	for _, k := range pressed {
		shown = append(shown, "`"+keys.FormatKeys(k)+"`")
	}
	return strings.Join(shown, " ")
}

// shared are the commands that more than one screen has.
func shared(m *model) []*keys.Command {
	var all []*keys.Command
	for _, c := range m.table.Commands() {
		seen := map[any]bool{}
		for _, ctx := range c.Contexts {
			if s := m.owner(ctx); s != nil {
				seen[s] = true
			}
		}
		if len(seen) > 1 {
			all = append(all, c)
		}
	}
	return all
}

func section(b *strings.Builder, name string, commands []*keys.Command) {
	if len(commands) == 0 {
		return
	}
	fmt.Fprintf(b, "\n## %s\n\n", name)
	b.WriteString("| key | what it does | where | command |\n| --- | --- | --- | --- |\n")
	for _, c := range commands {
		var where []string
		for _, ctx := range c.Contexts {
			where = append(where, ctx.Name)
		}
		if name == "Everywhere" {
			where = nil
		}
		fmt.Fprintf(b, "| %s | %s | %s | `%s` |\n", cell(quoted(c.Keys)), cell(c.Help), strings.Join(where, ", "), c.ID)
	}
}

func cell(text string) string { return strings.ReplaceAll(text, "|", `\|`) }

// frameOf is where the page of the screen has a frame of a story: the file, and which of its frames.
var frameOf = regexp.MustCompile("(?s)<!-- frame (\\w+) (\\d+) -->\n```text\n(.*?)```\n")

// TestFrames holds the frames in the page of the screen against the stories. With -rewrite it writes them.
func TestFrames(t *testing.T) {
	file := filepath.Join(docs, "tui.md")
	page, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	found := 0
	text := frameOf.ReplaceAllStringFunc(string(page), func(block string) string {
		found++
		m := frameOf.FindStringSubmatch(block)
		var n int
		if _, err := fmt.Sscan(m[2], &n); err != nil {
			t.Fatal(err)
		}
		return fmt.Sprintf("<!-- frame %s %s -->\n```text\n%s```\n", m[1], m[2], storyFrame(t, m[1], n))
	})
	if found < 3 {
		t.Errorf("the page has %d frames", found)
	}
	screentest.Golden(t, file, text)
}

// storyFrame is the n-th whole frame of a story.
func storyFrame(t *testing.T, story string, n int) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "stories", story))
	if err != nil {
		t.Fatal(err)
	}
	all := regexp.MustCompile(`(?s)frame all\n----\n----\n(.*?)----\n----\n`).FindAllStringSubmatch(string(data), -1)
	if n < 1 || n > len(all) {
		t.Fatalf("%s has %d frames, not %d", story, len(all), n)
	}
	return all[n-1][1]
}

// TestPaletteKnowsFunctions types names of functions into the palette: a step's leads to the requests that went through it, and of another
// one the palette says what does its work.
func TestPaletteKnowsFunctions(t *testing.T) {
	d := filled(t)
	d.press(":")
	d.m.typing.Set("logiflong")
	if frame := strings.Join(d.frame(), "\n"); !strings.Contains(frame, "no step is logiflong. Upstream logs") {
		t.Error(frame)
	}
	d.press("enter")
	if d.m.overlay != keys.Palette {
		t.Errorf("%q is open", d.m.overlay)
	}
	d.m.typing.Set("WaitUntilFreshAndGet")
	if frame := strings.Join(d.frame(), "\n"); !strings.Contains(frame, "enter shows the requests that went through WaitUntilFreshAndGet") {
		t.Error(frame)
	}
	d.press("enter")
	if frame := strings.Join(d.frame(), "\n"); d.m.overlay != keys.None || !strings.Contains(frame, "/ WaitUntilFreshAndGet") {
		t.Error(frame)
	}
}
