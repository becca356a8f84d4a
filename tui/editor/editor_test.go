package editor

import (
	"strings"
	"testing"

	"github.com/kx-apiserver/kx/tui/draw"
	"github.com/kx-apiserver/kx/tui/keys"
)

// TestEditor types words: <name> is a command, anything else is text. | is the cursor.
func TestEditor(t *testing.T) {
	commands := map[string]keys.ID{
		"<left>": keys.EditLeft, "<right>": keys.EditRight, "<up>": keys.Up, "<down>": keys.Down, "<home>": keys.EditHome, "<end>": keys.EditEnd,
		"<back>": keys.EditBackspace, "<del>": keys.EditDelete, "<word>": keys.EditDeleteWord, "<line>": keys.EditDeleteLine,
		"<top>": keys.Top, "<bottom>": keys.Bottom, "<pgdn>": keys.HalfDown, "<pgup>": keys.HalfUp,
	}
	for _, test := range []struct{ typed, want string }{
		{"abc", "abc|"},
		{"abc <left> <left> X", "aX|bc"},
		{"a <enter> b <up> c", "ac|\nb"},
		{"spec: <enter> a:1 <enter> b", "spec:\n  a:1\n  b|"},
		{"spec: # why: <enter> x", "spec: # why:\n  x|"},
		{"ab <enter> <back>", "ab|"},
		{"ab <enter> <back> <back> <back> <back>", "|"},
		{"ab <enter> cd <up> <end> <del>", "ab|cd"},
		{"long-line <enter> x <enter> other-line <up> <up> Y", "long-lineY|\nx\nother-line"},
		{"one two <word>", "one |"}, {"one two <line> z", "z|"}, {"one <enter> <word>", "one|"},
		{"one two <undo>", "one |"}, {"one two <undo> <undo>", "|"}, {"a <undo> <redo>", "a|"}, {"<undo> <redo> a", "a|"},
		{"a <back> <undo>", "a|"}, {"a <enter> b <word> <undo> <undo> <undo>", "a|"}, {"a <undo> b <redo>", "b|"},
		{"日本 <left> é", "日é|本"}, {"日本 <back>", "日|"},
		{"  x <home> a <home> <home> b", "b|  ax"},
		{"1 <enter> 2 <enter> 3 <top> 0", "10|\n2\n3"}, {"1 <enter> 2 <up> <bottom> 0", "1\n20|"}, {"1 <enter> 2 <pgup> <pgdn> 0", "1\n20|"},
	} {
		e := &Editor{}
		e.SetSize(40, 4)
		words := strings.Split(test.typed, " ")
		for i, w := range words {
			switch id, ok := commands[w]; {
			case ok:
				e.Handle(id)
			case w == "<enter>":
				e.Newline()
			case w == "<undo>":
				e.Undo()
			case w == "<redo>":
				e.Redo()
			case w == "":
				e.Insert([]rune(" "))
			default:
				// A space between two texts is typed too.
				for _, r := range w {
					e.Insert([]rune{r})
				}
				if i+1 < len(words) && !strings.HasPrefix(words[i+1], "<") && words[i+1] != "" {
					e.Insert([]rune(" "))
				}
			}
		}
		lines := strings.Split(e.String(), "\n")
		at := &lines[e.cursor.line]
		*at = (*at)[:e.cursor.at] + "|" + (*at)[e.cursor.at:]
		if got := strings.Join(lines, "\n"); got != test.want {
			t.Errorf("%s: %q, want %q", test.typed, got, test.want)
		}
		if e.Bytes() != len(e.String()) {
			t.Errorf("%s: %d bytes are %d", test.typed, e.Bytes(), len(e.String()))
		}
	}
}

func TestBounds(t *testing.T) {
	e := &Editor{}
	if e.Set(strings.Repeat("x", BytesMost+1)) || !e.Set(strings.Repeat("x\r\n", 1000)) || e.Lines() != 1001 || strings.Contains(e.String(), "\r") {
		t.Errorf("%d lines", e.Lines())
	}
	if e.Insert([]rune(strings.Repeat("y", BytesMost))) {
		t.Error("a text may have any size")
	}
	for range undoMost + 10 {
		e.Insert([]rune("ab"))
	}
	if len(e.undo) != undoMost {
		t.Errorf("%d changes can be undone", len(e.undo))
	}
	e.Go(1, 1)
	e.Reset("a\nb")
	if e.Undo() || e.Empty() || e.Line() != 1 {
		t.Error("reset does not forget")
	}
	e.Go(99, 99)
	if e.cursor != (pos{1, 1}) {
		t.Errorf("%+v", e.cursor)
	}
	v := e.Version()
	e.Set("a\nb")
	if e.Version() != v {
		t.Error("the same text is a change")
	}
}

func TestRender(t *testing.T) {
	e := &Editor{}
	e.Set("kind: Pod  # string\n# a comment\n\x1b[31mhostile\ttext\nlong: " + strings.Repeat("0123456789", 5))
	e.SetSize(30, 4)
	look := Look{Marked: func(line int) bool { return line == 3 }}
	want := "  1 kind: Pod  # string       \n  2 # a comment               \n! 3 \uFFFD[31mhostile text         \n  4 long: 0123456789012345678…"
	if got := strings.Join(e.Render(look), "\n"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	look.Cursor = true
	e.Go(4, 57)
	if got := e.Render(look)[3]; got != "  4>5678901234567890123456789▏" {
		t.Errorf("%q", got)
	}
	e.Press(4, 0)
	if e.cursor.line != 0 {
		t.Errorf("%+v", e.cursor)
	}
	for w := -1; w < 70; w += 3 {
		for h := -1; h < 7; h++ {
			e.SetSize(w, h)
			lines := e.Render(look)
			if len(lines) != max(h, 0) {
				t.Fatalf("%dx%d: %d lines", w, h, len(lines))
			}
			for _, l := range lines {
				if draw.Width(l) != max(w, 0) {
					t.Fatalf("%dx%d: %q", w, h, l)
				}
			}
		}
	}
}

// FuzzEditor does anything, takes all of it back, and does it again.
func FuzzEditor(f *testing.F) {
	f.Add("spec:\n  a: b", []byte("\x00\x01a\x02\x03b\x04\x05\x06\n"))
	f.Fuzz(func(t *testing.T, text string, does []byte) {
		e := &Editor{}
		if !e.Reset(text) {
			return
		}
		e.SetSize(20, 5)
		before := e.String()
		ids := []keys.ID{keys.EditLeft, keys.EditRight, keys.Up, keys.Down, keys.EditBackspace, keys.EditDelete, keys.EditDeleteWord, keys.EditDeleteLine, keys.EditHome, keys.EditEnd}
		if len(does) > undoMost {
			return
		}
		for _, b := range does {
			if int(b) < len(ids) {
				e.Handle(ids[b])
			} else {
				e.Insert([]rune{rune(b)})
			}
		}
		after := e.String()
		if e.Bytes() != len(after) {
			t.Fatalf("%d bytes are counted as %d", len(after), e.Bytes())
		}
		for e.Undo() {
		}
		if e.String() != before {
			t.Fatalf("taken back it is %q, and was %q", e.String(), before)
		}
		for e.Redo() {
		}
		if e.String() != after {
			t.Fatalf("done again it is %q, and was %q", e.String(), after)
		}
		e.Render(Look{Cursor: true})
	})
}
