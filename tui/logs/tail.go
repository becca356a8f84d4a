package logs

import (
	"bytes"
	"sync"

	"github.com/kx-apiserver/kx/tui/draw"
)

const (
	linesMost = 2000
	lineMost  = 4 << 10
)

// Tail holds the newest lines of a log. The zero Tail is empty. mu guards its fields.
type Tail struct {
	mu      sync.Mutex
	lines   []string
	dropped int
	partial []byte // the line that has no end yet
	changed func()
}

func (t *Tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	rest := p
	for {
		line, after, ended := bytes.Cut(rest, []byte("\n"))
		if room := lineMost - len(t.partial); len(line) > room {
			line = line[:room]
		}
		t.partial = append(t.partial, line...)
		if !ended {
			break
		}
		t.add(string(t.partial))
		t.partial, rest = t.partial[:0], after
	}
	changed := t.changed
	t.mu.Unlock()
	if changed != nil {
		changed()
	}
	return len(p), nil
}

// add adds a line. The caller holds mu.
func (t *Tail) add(line string) {
	if len(line) == lineMost {
		line += draw.Ellipsis
	}
	if len(t.lines) == linesMost {
		t.lines = append(t.lines[:0], t.lines[1:]...)
		t.dropped++
	}
	t.lines = append(t.lines, draw.Clean(line))
}

// Lines returns the present lines, the oldest first, and the number of dropped lines.
func (t *Tail) Lines() (lines []string, dropped int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return append([]string(nil), t.lines...), t.dropped
}

// notify makes later writes call changed.
func (t *Tail) notify(changed func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.changed = changed
}
