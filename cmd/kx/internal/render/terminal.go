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

// IsTerminal says whether somebody looks at what is written to w, or read from it.
func IsTerminal(w any) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// Colored says whether what goes to w is to be coloured, by "auto", "always" or "never".
func Colored(when string, w io.Writer) (bool, error) {
	switch when {
	case "always":
		return true, nil
	case "never":
		return false, nil
	case "auto":
		return IsTerminal(w) && os.Getenv("NO_COLOR") == "", nil
	}
	return false, fmt.Errorf("color %q is unknown: use auto, always or never", when)
}

var colors = map[byte]string{'+': "\x1b[32m", '-': "\x1b[31m"}

// none is JSON for no object.
const none = "null"

const endColor = "\x1b[0m"

// Diff writes the difference of two objects given as JSON, "null" for none. It says how many fields differ.
func Diff(out io.Writer, before, after []byte, colored bool) (int, error) {
	lines, changed, err := diff.Objects(before, after, false)
	if err != nil {
		return 0, err
	}
	for _, line := range lines {
		if line.Depth == 0 && line.Text == none {
			continue // what there was not
		}
		text := strings.TrimRight(string(line.Mark)+" "+strings.Repeat("  ", line.Depth)+line.Text, " ")
		if color := colors[line.Mark]; colored && color != "" {
			text = color + text + endColor
		}
		if _, err := fmt.Fprintln(out, text); err != nil {
			return changed, err
		}
	}
	return changed, nil
}

// Overwrite writes text in the place of the terminal's last line, as much of it as the line takes: what is longer would
// stay behind.
func Overwrite(terminal io.Writer, text string) {
	if f, ok := terminal.(*os.File); ok {
		if width, _, err := term.GetSize(int(f.Fd())); err == nil && draw.Width(text) >= width {
			text = draw.Fit(text, width-1)
		}
	}
	fmt.Fprintf(terminal, "\r\x1b[K%s", text)
}

// progressInterval is how often a progress is written anew.
const progressInterval = 100 * time.Millisecond

// Progress says on a terminal how far long work is; elsewhere it says nothing.
type Progress struct {
	out   io.Writer
	text  func(done int64) string
	done  int64
	next  time.Time
	shown bool
}

// NewProgress writes to out, if that is a terminal, what text makes of the sum of all Adds. The first 100 ms it is
// silent: most work is over by then.
func NewProgress(out io.Writer, text func(done int64) string) *Progress {
	p := &Progress{text: text, next: time.Now().Add(progressInterval)}
	if IsTerminal(out) {
		p.out = out
	}
	return p
}

// Add counts n more.
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

// Clear takes the progress off the terminal.
func (p *Progress) Clear() {
	if p.shown {
		Overwrite(p.out, "")
		p.shown = false
	}
}
