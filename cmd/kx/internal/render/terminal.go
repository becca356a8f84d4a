package render

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/term"

	"github.com/kx-apiserver/kx/tui/diff"
	"github.com/kx-apiserver/kx/tui/draw"
)

// IsTerminal reports whether w, a reader or a writer, is a terminal.
func IsTerminal(w any) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// WantsColour reports whether to colour output to w. when is "auto", "always" or "never".
func WantsColour(when string, w io.Writer) (bool, error) {
	switch when {
	case "always":
		return true, nil
	case "never":
		return false, nil
	case "auto":
		return IsTerminal(w) && os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb", nil
	}
	return false, fmt.Errorf("color %q is unknown: use auto, always or never", when)
}

var colors = map[byte]string{'+': "\x1b[32m", '-': "\x1b[31m"}

// none is the JSON of a missing object.
const none = "null"

const endColor = "\x1b[0m"

// writeDiff writes the difference of two objects in JSON. Nil means that there is no object.
func writeDiff(out io.Writer, before, after []byte, colored bool) error {
	lines, _, err := diff.Objects(orNone(before), orNone(after), false)
	if err != nil {
		return err
	}
	for _, line := range lines {
		if line.Depth == 0 && line.Text == none {
			continue // there is no object on this side
		}
		text := strings.TrimRight(string(line.Mark)+" "+strings.Repeat("  ", line.Depth)+line.Text, " ")
		if color := colors[line.Mark]; colored && color != "" {
			text = color + text + endColor
		}
		if _, err := fmt.Fprintln(out, text); err != nil {
			return err
		}
	}
	return nil
}

func orNone(object []byte) []byte {
	if object == nil {
		return []byte(none)
	}
	return object
}

// Overwrite replaces the terminal's last line. It cuts the text to the line's width, because a second line could not be
// replaced.
func Overwrite(terminal io.Writer, text string) {
	if f, ok := terminal.(*os.File); ok {
		if width, _, err := term.GetSize(int(f.Fd())); err == nil && draw.Width(text) >= width {
			text = draw.Fit(text, width-1)
		}
	}
	fmt.Fprintf(terminal, "\r\x1b[K%s", text)
}

// progressInterval is the time between two updates of a progress.
const progressInterval = 100 * time.Millisecond

// Progress shows the progress of long work on a terminal. Elsewhere it is silent.
type Progress struct {
	out   io.Writer
	text  func(done int64) string
	done  int64
	next  time.Time
	shown bool
}

// NewProgress shows text(sum of all Adds) on out, if out is a terminal. It is silent for the first 100 ms, because most
// work takes less.
func NewProgress(out io.Writer, text func(done int64) string) *Progress {
	p := &Progress{text: text, next: time.Now().Add(progressInterval)}
	if IsTerminal(out) {
		p.out = out
	}
	return p
}

// Add adds n to the sum.
func (p *Progress) Add(n int) {
	p.done += int64(n)
	if p.out == nil {
		return
	}
	if now := time.Now(); now.After(p.next) {
		p.next, p.shown = now.Add(progressInterval), true
		Overwrite(p.out, p.text(p.done))
	}
}

// Clear removes the progress from the terminal.
func (p *Progress) Clear() {
	if p.shown {
		Overwrite(p.out, "")
		p.shown = false
	}
}
