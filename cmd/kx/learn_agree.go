package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/kx-apiserver/kx/cmd/kx/internal/learn"
	"github.com/kx-apiserver/kx/cmd/kx/internal/render"
	"github.com/kx-apiserver/kx/core/escape"
	"github.com/kx-apiserver/kx/core/lang"
	"github.com/kx-apiserver/kx/core/lesson"
	"github.com/kx-apiserver/kx/tui/draw"
)

// agreement asks the user before the commands of a file run. Lessons of the binary need no agreement.
type agreement struct {
	language lang.Language
	// yes agrees to everything without a question.
	yes bool
	in  *bufio.Reader
	out io.Writer
	// silent is set if no user can see or answer the question.
	silent bool
}

func newAgreement(yes bool, language lang.Language, in io.Reader, out io.Writer) *agreement {
	away := func(stream any) bool {
		_, file := stream.(*os.File)
		return file && !render.IsTerminal(stream)
	}
	return &agreement{language: language, yes: yes, in: bufio.NewReader(in), out: out, silent: away(in) || away(out)}
}

// ask shows all commands of a lesson, and returns whether the user agrees. With solutions it includes those of the
// solutions.
func (a *agreement) ask(e learn.Entry, solutions bool) (bool, error) {
	if e.Number > 0 || a.yes {
		return true, nil
	}
	file := escape.Line(e.File)
	if a.silent {
		return false, fmt.Errorf("%s: the commands of a file run after you have seen them at a terminal and agreed, or with --yes", file)
	}
	fmt.Fprintln(a.out, a.language.Phrase("%s runs this in sh with your rights: it can read, change and delete all that you can.", file))
	rows := a.rows(commands(e, solutions))
	for _, row := range rows {
		fmt.Fprintln(a.out, row)
	}
	fmt.Fprint(a.out, a.language.Phrase("Lines shown: %d. Run them? y or n:", len(rows))+" ")
	answer, err := a.in.ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return false, fmt.Errorf("read the answer: %w", err)
	}
	return strings.EqualFold(strings.TrimSpace(answer), "y"), nil
}

// commands returns the lines of a lesson's scripts, and its servers with their flags.
func commands(e learn.Entry, solutions bool) (lines []string) {
	script := func(text string) { lines = append(lines, strings.Split(strings.TrimRight(text, "\n"), "\n")...) }
	serve := func(flags []string, when string) {
		script(strings.Join(append([]string{"kx serve"}, flags...), " ") + when)
	}
	if len(e.Serve) > 0 {
		serve(e.Serve, "")
	}
	if e.Mutation != nil && e.Mutation.Serve != nil {
		serve(e.Mutation.Serve, "  # with kx learn verify --mutate")
	}
	for _, part := range e.Parts {
		switch part := part.(type) {
		case lesson.Run:
			script(part.Script)
		case lesson.Starter:
			script(part.Script)
		case lesson.Solution:
			if solutions {
				script(part.Script)
			}
		case lesson.Server:
			serve(part.Flags, "")
		}
	}
	return lines
}

const (
	// rowCells is the width of a command's row beside its indent: with it, a terminal of 80 columns breaks none.
	rowCells = 74
	// mostBlank limits consecutive blank rows. A file with many of them would scroll its commands off the terminal.
	mostBlank = 2
)

// rows returns lines for the terminal: complete, with escapes for control characters, and with a mark where a long
// line continues.
func (a *agreement) rows(lines []string) (rows []string) {
	blank := 0
	end := func() {
		if blank > mostBlank {
			rows = append(rows[:len(rows)-mostBlank], "  ⋯ "+a.language.Phrase("%d blank lines", blank))
		}
		blank = 0
	}
	for _, line := range lines {
		for i, row := range broken(escape.Line(line)) {
			mark := "  "
			if i > 0 {
				mark = "  ↳ "
			}
			if strings.TrimSpace(row) != "" {
				end()
			} else if blank++; blank > mostBlank {
				continue
			}
			rows = append(rows, mark+row)
		}
	}
	end()
	return rows
}

// broken breaks a line into rows. The rows contain the whole line, and no row is empty unless the line is.
func broken(line string) (rows []string) {
	begin, used := 0, 0
	for i, r := range line {
		cells := draw.Width(string(r))
		if used+cells > rowCells {
			rows = append(rows, line[begin:i])
			begin, used = i, 0
		}
		used += cells
	}
	return append(rows, line[begin:])
}
