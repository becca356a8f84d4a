package logs

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/kx-apiserver/kx/core/escape/escapetest"
	"github.com/kx-apiserver/kx/tui/screen/screentest"
)

func TestTail(t *testing.T) {
	var tail Tail
	fmt.Fprint(&tail, "one\ntw")
	fmt.Fprint(&tail, "o\nthree")
	if lines, _ := tail.Lines(); strings.Join(lines, ",") != "one,two" {
		t.Errorf("%q", lines)
	}
	fmt.Fprintln(&tail, "\x1b[31m", strings.Repeat("x", 2*lineMost))
	lines, _ := tail.Lines()
	if last := lines[2]; escapetest.Find(last, "") != "" || len(last) > lineMost+8 || !strings.HasSuffix(last, "…") {
		t.Errorf("a long hostile line became one of %d bytes", len(last))
	}
	fmt.Fprintln(&tail, escapetest.Any())
	lines, _ = tail.Lines()
	if raw := escapetest.Find(strings.Join(lines, ""), ""); raw != "" || !strings.Contains(lines[3], "[2J") {
		t.Errorf("the lines have %s", raw)
	}
	before := len(lines)
	for i := range linesMost + 5 {
		fmt.Fprintln(&tail, i)
	}
	if lines, dropped := tail.Lines(); len(lines) != linesMost || dropped != before+5 || lines[0] != "5" {
		t.Errorf("%d lines from %s on, %d dropped", len(lines), lines[0], dropped)
	}
}

func TestScreen(t *testing.T) {
	h := screentest.New(t, http.NotFoundHandler())
	tail := &Tail{}
	s := New(h, tail)
	h.Attach(s)
	seen := func() string { return strings.Join(h.Frame(80, 20), "\n") }
	if !strings.Contains(seen(), "Nothing was logged") {
		t.Error(seen())
	}
	for i := range 30 {
		fmt.Fprintf(tail, "level=INFO msg=line-%d.\n", i)
	}
	fmt.Fprintf(tail, "level=ERROR msg=%s\n", strings.Repeat("long ", 30)+"end")
	h.Until("the newest is seen", func() bool { return strings.Contains(seen(), "31 of 31") })
	if text := seen(); !strings.Contains(text, "> ! level=ERROR") || !strings.Contains(text, "long end") {
		t.Error(text)
	}
	h.Press("g")
	fmt.Fprintln(tail, "more")
	h.Until("more is there", func() bool { return strings.Contains(seen(), "1 of 32") })
	h.Press("y", "G")
	h.Click(3, 1, -1)
	h.Click(3, 3, 0)
	if len(h.Copied) != 1 || h.Copied[0] != "level=INFO msg=line-0." {
		t.Errorf("%q", h.Copied)
	}
	h.Sizes()
}
