package rows

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
		Title: "Numbers", Head: []string{"head"}, Foot: []string{"foot"}, Rows: n, Text: text, Empty: []string{"none"},
		Row: func(i int) Row {
			*made++
			return Row{Text: fmt.Sprintf("row %d", i), Mark: "*"}
		},
	}
}

func TestList(t *testing.T) {
	made := 0
	c := numbers(1_000_000, false, &made)
	var p Pane
	p.SetSize(20, 9)
	for _, id := range []keys.ID{keys.Bottom, keys.Up, keys.HalfUp, keys.Down} {
		if !p.Move(id, c) {
			t.Errorf("%s is no motion", id)
		}
	}
	if p.Move(keys.Left, c) {
		t.Error("a list moves sideways")
	}
	got := p.Render(c, true, theme.Plain())
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
	if !p.Click(2, c) || p.Cursor(c) != 999995 || p.Click(1, c) || p.Click(8, c) {
		t.Errorf("the cursor is on %d", p.Cursor(c))
	}
	if !p.Find("ROW 12", 1, true, c) || p.Cursor(c) != 12 || !p.Find("row 12", 1, false, c) || p.Cursor(c) != 120 || !p.Find("row 12", -1, false, c) || p.Cursor(c) != 12 {
		t.Errorf("found %d", p.Cursor(c))
	}
	small := numbers(3, false, &made)
	if p.Find("nothing", 1, true, small) || p.Find("", 1, true, small) || p.Cursor(small) != 2 || p.Cursor(numbers(0, false, &made)) != -1 {
		t.Error("found what is not there")
	}
}

func TestText(t *testing.T) {
	made := 0
	c := numbers(10, true, &made)
	var p Pane
	p.SetSize(30, 7)
	if p.AtEnd(c) || !p.Move(keys.Bottom, c) || !p.AtEnd(c) || !p.Move(keys.Right, c) || p.Click(2, c) {
		t.Error("the text does not move as it should")
	}
	got := p.Render(c, false, theme.Plain())
	if !strings.Contains(got[0], "7-10 of 10") || strings.TrimSpace(strings.Trim(got[2], "│")) != "" {
		t.Errorf("%s", strings.Join(got, "\n"))
	}
	p.Move(keys.Left, c)
	if got := p.Render(c, false, theme.Plain()); !strings.HasPrefix(got[2], "│ row 6 ") {
		t.Errorf("%s", strings.Join(got, "\n"))
	}
	if !p.Find("row 3", 1, false, c) {
		t.Error("not found")
	}
	if got := p.Render(c, false, theme.Plain()); !strings.HasPrefix(got[2], "│ row 3 ") {
		t.Errorf("%s", strings.Join(got, "\n"))
	}
}

func TestSizes(t *testing.T) {
	made := 0
	for w := range 40 {
		for h := range 20 {
			for _, c := range []Content{numbers(100, false, &made), numbers(100, true, &made), numbers(0, true, &made)} {
				var p Pane
				p.SetSize(w, h)
				p.Move(keys.Bottom, c)
				lines := p.Render(c, true, theme.Plain())
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
