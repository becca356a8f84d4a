package send

import (
	"fmt"
	"time"

	"github.com/kx-apiserver/kx/core/request"
	"github.com/kx-apiserver/kx/tui/draw"
	"github.com/kx-apiserver/kx/tui/pane"
	"github.com/kx-apiserver/kx/tui/send/exchange"
	"github.com/kx-apiserver/kx/tui/theme"
)

// Bounds of the history.
const (
	entriesMost  = 200
	historyBytes = 64 << 20
	notSent      = "not sent"
)

// entry is a request that was sent, or one that was opened from a file.
type entry struct {
	request request.Request
	at      time.Time // zero if it was not sent
	held    bool
	heldAt  string // the step that was to hold it; empty for the first

	exchange  *exchange.Exchange // nil if it was not sent
	answer    exchange.Answer    // as of the last time
	led       bool               // to where it is held
	missed    bool               // it ended without being held, which was said
	forgotten bool               // its body is not kept any more
}

// running reports whether more of the answer may come.
func (e *entry) running() bool { return e.exchange != nil && !e.answer.Ended }

// history holds the sent requests, the latest first.
type history struct {
	entries []*entry
	gone    int // forgotten for want of room
	rows    pane.Scroll
}

// add puts an entry before all others, and drops entries that do not fit.
func (h *history) add(e *entry) {
	h.entries = append([]*entry{e}, h.entries...)
	h.rows = pane.Scroll{}
	for i := len(h.entries) - 1; len(h.entries) > entriesMost && i > 0; i-- {
		if !h.entries[i].running() {
			h.entries = append(h.entries[:i], h.entries[i+1:]...)
			h.gone++
		}
	}
	h.trim()
}

// trim drops the bodies of the oldest entries.
func (h *history) trim() {
	kept := 0
	for _, e := range h.entries {
		kept += len(e.answer.Body)
		for i := range e.answer.Events {
			kept += len(e.answer.Events[i].Raw)
		}
		if kept > historyBytes && !e.running() {
			e.answer.Body, e.answer.Events, e.forgotten, e.exchange = nil, nil, true, nil
		}
	}
}

// selected returns the entry under the cursor, or nil.
func (h *history) selected() *entry {
	if h.rows.Cursor < len(h.entries) {
		return h.entries[h.rows.Cursor]
	}
	return nil
}

// render draws the pane's inside.
func (h *history) render(w, height int, shown *entry, focused bool, zone *time.Location, look theme.Theme) []string {
	var lines []string
	h.rows.Clamp(len(h.entries), height)
	for i := h.rows.Top; i < len(h.entries) && len(lines) < height; i++ {
		e := h.entries[i]
		mark := "  "
		if i == h.rows.Cursor && focused {
			mark = "> "
		} else if e == shown {
			mark = "* "
		}
		at, code := notSent, "   "
		if !e.at.IsZero() {
			at, code = e.at.In(zone).Format("15:04:05"), e.mark()
		}
		took := ""
		if e.answer.Ended && e.answer.Err == nil {
			took = draw.Duration(e.answer.Took)
		}
		line := fmt.Sprintf("%s%s  %s  %s", mark, at, code, draw.Clean(e.request.Title()))
		line = draw.Ends(line, took, w)
		switch {
		case i == h.rows.Cursor && focused:
			line = look.Selected(line)
		case e.answer.Code >= 400 || e.answer.Err != nil:
			line = look.Bad(line)
		}
		lines = append(lines, line)
	}
	if len(h.entries) == 0 {
		lines = []string{look.Dim(look.Words.Phrase("what is sent is remembered here"))}
	}
	return draw.Block(lines, w, height)
}
