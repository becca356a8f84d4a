package tui

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime/debug"
	"sync"
	"time"

	tea "github.com/charmbracelet/bubbletea"
)

// crash records the last messages and, after a panic, writes them with the stack to a file. mu guards the fields
// below it.
type crash struct {
	dir string
	// onPanic ends the program. It is called from the goroutine that panicked.
	onPanic func()

	mu       sync.Mutex
	messages [crashMessages]string // a ring
	next     int
	debug    *os.File
	err      error
}

// crashMessages limits the number of recorded messages.
const crashMessages = 200

// note records a message. Of data from a server it records only the type.
func (c *crash) note(msg tea.Msg) {
	text := fmt.Sprintf("%T", msg)
	switch m := msg.(type) {
	case tea.KeyMsg:
		text += " " + m.String()
	case tea.WindowSizeMsg:
		text += fmt.Sprintf(" %dx%d", m.Width, m.Height)
	}
	text = time.Now().Format("15:04:05.000 ") + text
	c.mu.Lock()
	defer c.mu.Unlock()
	c.messages[c.next%crashMessages] = text
	c.next++
	if c.debug != nil {
		fmt.Fprintln(c.debug, text)
	}
}

// caught recovers a panic and reports it. Every goroutine of ours defers it.
func (c *crash) caught() {
	if v := recover(); v != nil {
		c.report(v, debug.Stack())
	}
}

func (c *crash) report(v any, stack []byte) {
	c.mu.Lock()
	first := c.err == nil
	if first {
		c.err = c.write(v, stack)
	}
	c.mu.Unlock()
	if first && c.onPanic != nil {
		c.onPanic()
	}
}

// write writes the file and returns the error that the user sees. The caller holds mu.
func (c *crash) write(v any, stack []byte) error {
	var b bytes.Buffer
	fmt.Fprintf(&b, "panic: %v\n\n%s\nthe last messages:\n", v, stack)
	for i := max(c.next-crashMessages, 0); i < c.next; i++ {
		fmt.Fprintln(&b, c.messages[i%crashMessages])
	}
	file := filepath.Join(c.dir, time.Now().Format("tui-crash-20060102-150405.txt"))
	if err := os.WriteFile(file, b.Bytes(), 0o600); err != nil {
		return fmt.Errorf("the screen failed: %v; its stack could not be written: %w\n%s", v, err, stack)
	}
	return fmt.Errorf("the screen failed: %v; its stack is in %s", v, file)
}

// failure returns the error of the recorded panic, or nil.
func (c *crash) failure() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}
