package send

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/kx-apiserver/kx/core/escape/escapetest"
	"github.com/kx-apiserver/kx/core/request"
	"github.com/kx-apiserver/kx/tui/screen/screentest"
)

// TestSizes draws every state at many sizes, and does what the mouse can do.
func TestSizes(t *testing.T) {
	h, s, _ := start(t)
	h.Press("r")
	answered(h, s)
	h.Sizes()
	some := func() {
		for _, size := range [][2]int{{1, 1}, {2, 30}, {7, 3}, {29, 8}, {30, 9}, {60, 11}, {99, 20}, {100, 9}, {121, 37}, {300, 96}} {
			h.Frame(size[0], size[1])
		}
	}
	for _, ctx := range s.Contexts() {
		if s.Focus(ctx) {
			some()
			h.Press(map[bool]string{true: "down", false: "z"}[ctx.Typing])
			some()
		}
	}
	h.Press("esc", "/")
	some()
	h.Type("日本")
	some()
	h.Press("esc")
	for _, size := range [][2]int{{80, 20}, {120, 36}, {20, 5}} {
		h.Frame(size[0], size[1])
		for y := -1; y <= size[1]; y += 2 {
			for x := -1; x <= size[0]; x += 7 {
				for wheel := -1; wheel <= 1; wheel++ {
					h.Click(x, y, wheel)
				}
			}
		}
		h.Frame(size[0], size[1])
	}
	for _, c := range s.Commands() {
		if c.Title == "" || c.Help == "" || len(c.Contexts) == 0 {
			t.Errorf("%s has no words, or no place", c.ID)
		}
	}
}

// TestHostile shows an answer that means harm to the terminal.
func TestHostile(t *testing.T) {
	h := screentest.New(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Kx-Journey", escapetest.InHeader())
		w.Header().Set("Content-Type", "text/plain")
		fmt.Fprint(w, escapetest.Any(), "\r\n", strings.Repeat("y", 100<<10), "\nend")
	}))
	s := New(h, nil)
	h.Attach(s)
	s.load(request.Request{Method: "GET", Path: "/x"})
	h.Press("r")
	answered(h, s)
	for range int(tabs) {
		for _, l := range h.Frame(120, 36) {
			if raw := escapetest.Find(l, ""); raw != "" {
				t.Error(raw)
			}
		}
		h.Press("l")
	}
}

func TestHistoryBounds(t *testing.T) {
	var hist history
	for i := range entriesMost + 5 {
		e := &entry{request: request.Request{Method: "GET", Path: fmt.Sprint("/", i)}}
		e.answer.Body = make([]byte, 1<<20)
		e.answer.Ended = true
		hist.add(e)
	}
	kept := 0
	for _, e := range hist.entries {
		kept += len(e.answer.Body)
	}
	if len(hist.entries) != entriesMost || hist.gone != 5 || kept > historyBytes || hist.entries[0].request.Path != fmt.Sprint("/", entriesMost+4) {
		t.Errorf("%d entries, %d gone, %d bytes", len(hist.entries), hist.gone, kept)
	}
	if !hist.entries[entriesMost-1].forgotten || hist.entries[0].forgotten {
		t.Error("the wrong bodies were forgotten")
	}
}
