package tui

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"

	tea "github.com/charmbracelet/bubbletea"
)

// editMost limits the text that is read back from an editor, in bytes.
const editMost = 16 << 20

// userEditor returns the user's editor as a command line.
func userEditor() []string {
	for _, name := range []string{"VISUAL", "EDITOR"} {
		if words := strings.Fields(os.Getenv(name)); len(words) > 0 {
			return words
		}
	}
	return []string{"vi"}
}

// edit opens text in the user's editor, which owns the terminal until it exits.
func (m *model) edit(text []byte, suffix string, then func([]byte, error) tea.Cmd) tea.Cmd {
	e := &editorRun{ctx: m.ctx, text: text, suffix: suffix}
	return tea.Exec(e, func(err error) tea.Msg {
		return editedMsg{text: e.edited, err: err, then: then}
	})
}

// editorRun is one run of an editor. Only the user can read its file, and the file is removed afterwards.
type editorRun struct {
	ctx    context.Context
	text   []byte
	suffix string
	edited []byte

	in       io.Reader
	out, err io.Writer
}

func (e *editorRun) SetStdin(in io.Reader) { e.in = in }

func (e *editorRun) SetStdout(out io.Writer) { e.out = out }

func (e *editorRun) SetStderr(err io.Writer) { e.err = err }

func (e *editorRun) Run() error {
	file, err := temporary(e.text, e.suffix)
	if err != nil {
		return err
	}
	defer os.Remove(file)
	words := append(userEditor(), file)
	cmd := exec.CommandContext(e.ctx, words[0], words[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = e.in, e.out, e.err
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("edit with %s: %w (VISUAL and EDITOR say which editor)", words[0], err)
	}
	e.edited, err = readEdited(file)
	return err
}

// temporary writes text to a new file, mode 0600.
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
