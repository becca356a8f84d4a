package pane

import (
	"fmt"
	"strings"
	"testing"

	"github.com/kx-apiserver/kx/tui/draw"
	"github.com/kx-apiserver/kx/tui/keys"
	"github.com/kx-apiserver/kx/tui/theme"
)

// numbers is a content of n rows, and counts how many of them are made.
func numbers(n int, text bool, made *int) Content {
	return Content{
		Title: "Numbers", Head: []string{"head"}, Foot: func(int) []string { return []string{"foot"} }, Rows: n, Text: text, Empty: []string{"none"},
		Row: func(i int) Row {
			*made++
			return Row{Text: fmt.Sprintf("row %d", i), Mark: "*"}
		},
	}
}

// over is a pane of a content.
func over(c *Content) *Rows { return NewRows(theme.Plain, func() Content { return *c }) }

// moves does a motion.
func moves(p *Rows, id keys.ID) bool {
	_, ok := p.Handle(id)
	return ok
}

func TestList(t *testing.T) {
	made := 0
	c := numbers(1_000_000, false, &made)
	p := over(&c)
	p.SetSize(20, 9)
	for _, id := range []keys.ID{keys.Bottom, keys.Up, keys.HalfUp, keys.Down} {
		if !moves(p, id) {
			t.Errorf("%s is no motion", id)
		}
	}
	if moves(p, keys.Left) {
		t.Error("a list moves sideways")
	}
	got := p.Render(true)
	want := []string{
		"┏━ Numbers ━━━━━━━━┓", "┃head              ┃", "┃ * row 999995     ┃", "┃ * row 999996     ┃", "┃>* row 999997     ┃",
		"┃ * row 999998     ┃", "┃ * row 999999     ┃", "┃foot              ┃", "┗━━━━━━━━━━━━━━━━━━┛",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if made != 5 {
		t.Errorf("%d rows were made to show 5", made)
	}
	if !p.Click(0, 2) || p.Cursor() != 999995 || p.Click(0, 1) || p.Click(0, 8) {
		t.Errorf("the cursor is on %d", p.Cursor())
	}
	if !p.Find("ROW 12", 1, true) || p.Cursor() != 12 || !p.Find("row 12", 1, false) || p.Cursor() != 120 || !p.Find("row 12", -1, false) || p.Cursor() != 12 {
		t.Errorf("found %d", p.Cursor())
	}
	c = numbers(3, false, &made)
	if p.Find("nothing", 1, true) || p.Find("", 1, true) || p.Cursor() != 2 {
		t.Error("found what is not there")
	}
	if c.Rows = 0; p.Cursor() != -1 {
		t.Errorf("without rows, the cursor is on %d", p.Cursor())
	}
}

func TestText(t *testing.T) {
	made := 0
	c := numbers(10, true, &made)
	p := over(&c)
	p.SetSize(30, 7)
	if p.AtEnd() || !moves(p, keys.Bottom) || !p.AtEnd() || !moves(p, keys.Right) || p.Click(0, 2) {
		t.Error("the text does not move as it should")
	}
	got := p.Render(false)
	if !strings.Contains(got[0], "7-10 of 10") || strings.TrimSpace(strings.Trim(got[2], "│")) != "" {
		t.Errorf("%s", strings.Join(got, "\n"))
	}
	moves(p, keys.Left)
	if got := p.Render(false); !strings.HasPrefix(got[2], "│ row 6 ") {
		t.Errorf("%s", strings.Join(got, "\n"))
	}
	if !p.Find("row 3", 1, false) {
		t.Error("not found")
	}
	if got := p.Render(false); !strings.HasPrefix(got[2], "│ row 3 ") {
		t.Errorf("%s", strings.Join(got, "\n"))
	}
	if p.SetTop(99); p.Top() != 10-p.Height() || !p.AtEnd() {
		t.Errorf("beyond the end the first line in view is %d", p.Top())
	}
	if p.Reveal(9); p.Top() != 10-p.Height() {
		t.Errorf("a line that was in view was moved: %d", p.Top())
	}
	if p.Reveal(0); p.Top() != 0 {
		t.Errorf("the first line is not in view: %d", p.Top())
	}
}

func TestSizes(t *testing.T) {
	made := 0
	for w := range 40 {
		for h := range 20 {
			for _, c := range []Content{numbers(100, false, &made), numbers(100, true, &made), numbers(0, true, &made)} {
				p := over(&c)
				p.SetSize(w, h)
				moves(p, keys.Bottom)
				lines := p.Render(true)
				if len(lines) != h {
					t.Fatalf("%dx%d: %d lines", w, h, len(lines))
				}
				for _, l := range lines {
					if draw.Width(l) != w {
						t.Fatalf("%dx%d: %q", w, h, l)
					}
				}
			}
		}
	}
}
