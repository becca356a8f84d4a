package tui

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/kx-apiserver/kx/tui/keys"
	"github.com/kx-apiserver/kx/tui/screen/screentest"
)

// docs is where the documents are.
const docs = "../docs"

const keysHead = `# Keys

Every key of ` + "`kx tui`" + `, from the table that its hints, its help (` + "`?`" + `) and its palette (` + "`:`" + `) are drawn from. This page is made
by ` + "`go test ./tui -run TestKeysPage -rewrite`" + `.

Each key is a command's. To give commands other keys, write their IDs in ` + "`kx/keys.yaml`" + ` in the directory of your settings
(` + "`~/.config`" + ` on Linux, ` + "`~/Library/Application Support`" + ` on a Mac, ` + "`%AppData%`" + ` on Windows):

` + "```yaml" + `
list.follow: f5          # one key
steps.next: [n, space]   # several
mouse: []                # none: the palette has it still
` + "```" + `

A key is a character, or a name: ` + "`enter` `space` `tab` `backspace` `delete` `up` `down` `left` `right` `home` `end` `pgup` `pgdown`" + `,
` + "`f1`" + ` to ` + "`f20`" + `, any of them after ` + "`ctrl+`, `alt+` or `shift+`" + `. kx does not start with a file that names a command that there is
not, or that gives a key two meanings in one place; it says which. ` + "`back`" + ` and ` + "`quit.always`" + ` keep their keys.
`

// TestKeysPage holds the page of keys against the table. With -rewrite it writes the page.
func TestKeysPage(t *testing.T) {
	t.Setenv("HOME", t.TempDir())
	ctx, cancel := context.WithCancel(context.Background())
	s, err := New(ctx, Options{CrashDir: t.TempDir()}, &strings.Builder{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.model.close()
	defer cancel()
	var b strings.Builder
	b.WriteString(keysHead)
	everywhere := shared(s.model)
	section(&b, "Everywhere", "A pane may mean something else by one of these: then it is listed there.", everywhere)
	for _, one := range s.model.order {
		var own []*keys.Command
		for _, c := range s.model.table.Commands() {
			if !has(everywhere, c) && ofScreen(c, one.Contexts()) {
				own = append(own, c)
			}
		}
		section(&b, string(one.Name()), "", own)
	}
	var rest []*keys.Command
	for _, c := range s.model.table.Commands() {
		if !has(everywhere, c) && !s.model.inPalette(c) && s.model.owner(c.Contexts[0]) == nil {
			rest = append(rest, c)
		}
	}
	section(&b, "The palette, and questions", "", rest)
	screentest.Golden(t, filepath.Join(docs, "keys.md"), b.String())
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

func has(all []*keys.Command, c *keys.Command) bool {
	for _, other := range all {
		if other == c {
			return true
		}
	}
	return false
}

func ofScreen(c *keys.Command, contexts []keys.Context) bool {
	for _, ctx := range contexts {
		if c.In(ctx) {
			return true
		}
	}
	return false
}

func section(b *strings.Builder, name, text string, commands []*keys.Command) {
	if len(commands) == 0 {
		return
	}
	fmt.Fprintf(b, "\n## %s\n\n", name)
	if text != "" {
		fmt.Fprintf(b, "%s\n\n", text)
	}
	b.WriteString("| key | what it does | where | command |\n| --- | --- | --- | --- |\n")
	for _, c := range commands {
		var where []string
		for _, ctx := range c.Contexts {
			where = append(where, ctx.Name)
		}
		if name == "Everywhere" {
			where = nil
		}
		var shown []string
		for _, k := range c.Keys {
			shown = append(shown, "`"+keys.Shown(k)+"`")
		}
		fmt.Fprintf(b, "| %s | %s | %s | `%s` |\n", cell(strings.Join(shown, " ")), cell(c.Help), strings.Join(where, ", "), c.ID)
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
