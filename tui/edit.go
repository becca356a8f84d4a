package tui

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"

	tea "github.com/charmbracelet/bubbletea"
)

// editMost is how much text comes back from an editor at most.
const editMost = 16 << 20

// editor is the command that the user edits files with.
func editor() []string {
	for _, name := range []string{"VISUAL", "EDITOR"} {
		if words := strings.Fields(os.Getenv(name)); len(words) > 0 {
			return words
		}
	}
	return []string{"vi"}
}

// edit lets the user edit text in his editor, which has the terminal meanwhile. The file is his alone, and does not stay.
func (m *model) edit(text []byte, suffix string, then func([]byte, error) tea.Cmd) tea.Cmd {
	file, err := temporary(text, suffix)
	if err != nil {
		return then(nil, err)
	}
	command := append(editor(), file)
	return tea.ExecProcess(exec.CommandContext(m.ctx, command[0], command[1:]...), func(err error) tea.Msg {
		defer os.Remove(file)
		if err != nil {
			return editedMsg{err: fmt.Errorf("edit with %s: %w (VISUAL and EDITOR say which editor)", command[0], err), then: then}
		}
		edited, err := readEdited(file)
		return editedMsg{text: edited, err: err, then: then}
	})
}

// temporary writes text to a file of its own, mode 0600.
func temporary(text []byte, suffix string) (string, error) {
	f, err := os.CreateTemp("", "kx-*"+suffix)
	if err != nil {
		return "", fmt.Errorf("make a file to edit: %w", err)
	}
	_, err = f.Write(text)
	if err = errors.Join(err, f.Close()); err != nil {
		os.Remove(f.Name())
		return "", fmt.Errorf("write the file to edit: %w", err)
	}
	return f.Name(), nil
}

func readEdited(file string) ([]byte, error) {
	info, err := os.Stat(file)
	if err == nil && info.Size() > editMost {
		return nil, fmt.Errorf("what was saved has %d bytes: there may be %d", info.Size(), editMost)
	}
	if err != nil {
		return nil, fmt.Errorf("read what was saved: %w", err)
	}
	return os.ReadFile(file)
}
