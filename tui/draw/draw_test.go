package draw

import (
	"strings"
	"testing"
)

func plain(s string) string { return s }

func TestFit(t *testing.T) {
	for _, test := range []struct {
		in   string
		w    int
		want string
	}{
		{"abc", 5, "abc  "}, {"abcdef", 4, "abc…"}, {"abc", 3, "abc"}, {"abc", 0, ""}, {"abc", -1, ""}, {"日本", 3, "日…"},
		{"日本語", 4, "日… "}, {"\x1b[31mabc\x1b[0m", 5, "\x1b[31mabc\x1b[0m  "},
	} {
		if got := Fit(test.in, test.w); got != test.want {
			t.Errorf("Fit(%q, %d) = %q, want %q", test.in, test.w, got, test.want)
		}
	}
	if got := FitRight("ab", 4); got != "  ab" {
		t.Errorf("%q", got)
	}
	if got := Ends("left", "right", 12); got != "left   right" {
		t.Errorf("%q", got)
	}
	if got := Ends("left and more", "right", 12); got != "left … right" {
		t.Errorf("%q", got)
	}
	if got := Ends("left", "right", 5); got != "left " {
		t.Errorf("%q", got)
	}
}

func TestClean(t *testing.T) {
	for in, want := range map[string]string{
		"plain": "plain", "a\nb\tc": "a b c", "\x1b]52;c;x\x07": "\uFFFD]52;c;x\uFFFD", "\u202edlrow": "\uFFFDdlrow",
		"a\u200bb": "a\uFFFDb", "\u0085": "\uFFFD", "größe": "größe", "✈\uFE0F": "✈\uFFFD",
	} {
		if got := Clean(in); got != want {
			t.Errorf("Clean(%q) = %q, want %q", in, got, want)
		}
	}
}

func FuzzFit(f *testing.F) {
	f.Add("abc", 2)
	f.Add("日本語\x1b[31mé", 3)
	f.Add("👩‍👩‍👧‍👦 family", 4)
	f.Fuzz(func(t *testing.T, s string, w int) {
		w %= 300
		if got := Fit(Clean(s), w); Width(got) != max(w, 0) || strings.ContainsAny(got, "\x1b\n\r") {
			t.Errorf("Fit(%q, %d) = %q, %d wide", s, w, got, Width(got))
		}
	})
}

func TestBox(t *testing.T) {
	for w := -1; w < 40; w++ {
		for h := -1; h < 8; h++ {
			box := Frame{true, plain}.Box([]string{"a line that is long", "日本"}, "title", "note", w, h)
			size(t, box, w, h)
			size(t, Overlay(Block(nil, w, h), Frame{false, plain}.Box(nil, "t", "", 9, 3), 3, 2), w, h)
			size(t, JoinBlocks(Block(nil, w, h), box), 2*max(w, 0), h)
		}
	}
	got := strings.Join(Frame{false, plain}.Box([]string{"ab"}, "t", "n", 12, 3), "\n")
	if want := "┌─ t ── n ─┐\n│ab        │\n└──────────┘"; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestOver(t *testing.T) {
	got := Overlay([]string{"abcdef", "日本語", "abcdef"}, []string{"XX", "XX"}, 3, 1)
	if got[0] != "abcdef" || got[1] != "日 XX " || got[2] != "abcXXf" {
		t.Errorf("%q", got)
	}
}

func size(t *testing.T, lines []string, w, h int) {
	t.Helper()
	if len(lines) != max(h, 0) {
		t.Fatalf("%dx%d has %d lines", w, h, len(lines))
	}
	for _, line := range lines {
		if Width(line) != max(w, 0) {
			t.Fatalf("%dx%d has a line of %d: %q", w, h, Width(line), line)
		}
	}
}

func TestWrap(t *testing.T) {
	if got := Wrap("one two three", 8); len(got) != 2 || got[0] != "one two" {
		t.Errorf("%q", got)
	}
	if Wrap("x", 0) != nil {
		t.Error("lines without width")
	}
}
