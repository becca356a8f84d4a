package editor

import (
	"strings"
	"testing"

	"github.com/kx-apiserver/kx/tui/draw"
	"github.com/kx-apiserver/kx/tui/keys"
)

func TestEdit(t *testing.T) {
	edits := map[string]keys.ID{
		"left": keys.EditLeft, "right": keys.EditRight, "home": keys.EditHome, "end": keys.EditEnd, "bs": keys.EditBackspace,
		"del": keys.EditDelete, "kill": keys.EditDeleteLine, "word": keys.EditDeleteWord,
	}
	for _, test := range []struct{ do, want string }{
		{"abc", "abc|"}, {"abc left left X", "aX|bc"}, {"abc home X", "X|abc"}, {"abc home right end Y", "abcY|"},
		{"abc bs", "ab|"}, {"bs", "|"}, {"abc home del", "|bc"}, {"abc del", "abc|"}, {"abc left kill", "|c"},
		{"verb:get word", "|"}, {"ä left left right", "ä|"}, {"home left", "|"},
	} {
		var l Line
		for _, word := range strings.Fields(test.do) {
			if !l.Handle(edits[word]) {
				l.Insert([]rune(word))
			}
		}
		if got := l.Before() + "|" + strings.TrimPrefix(l.String(), l.Before()); got != test.want {
			t.Errorf("%s: %q, want %q", test.do, got, test.want)
		}
	}
}

func TestDeleteWord(t *testing.T) {
	var l Line
	l.Set("verb:get code:409  ")
	l.Handle(keys.EditDeleteWord)
	if l.String() != "verb:get " {
		t.Errorf("%q", l.String())
	}
}

func TestInsert(t *testing.T) {
	var l Line
	l.Insert([]rune("a\x1b[31m\nb"))
	if l.String() != "a\uFFFD[31m b" {
		t.Errorf("%q", l.String())
	}
	if l.Insert([]rune(strings.Repeat("x", MaxLineBytes))) {
		t.Error("there is no limit")
	}
}

func TestView(t *testing.T) {
	var l Line
	l.Set("日本語 and more of it")
	for w := range 40 {
		if got := draw.Width(l.View(w)); got != w {
			t.Errorf("%d cells of %d", got, w)
		}
	}
	if got := l.View(6); !strings.Contains(got, "▏") {
		t.Errorf("the cursor is not in %q", got)
	}
}
