package journey

import (
	"fmt"
	"io"
	"strings"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/tui/draw"
)

// Files reads a source file by its name in steps.
type Files func(file string) (text string, err error)

// Source writes a journey like Objects, and below each step the code around its line.
func Source(out io.Writer, j *v1alpha1.Journey, files Files, p Paint) {
	(&tree{out: out, j: j, p: p, objects: true, files: files}).write()
}

// around is the number of lines shown before and after a step's line.
const around = 3

// source writes the lines of a step.
func (t *tree) source(s *v1alpha1.Step, below string, more bool) {
	if t.files == nil || s.File == "" {
		return
	}
	rail := t.rail(below, more)
	at := s.DecisionPlace()
	where := fmt.Sprintf("%s:%d", draw.Clean(at.File), at.Line)
	text, err := t.files(at.File)
	if err != nil {
		fmt.Fprintln(t.out, rail+t.p.dim(where+"  ")+t.p.bad(draw.Clean(err.Error())))
		return
	}
	fmt.Fprintln(t.out, rail+t.p.dim(where+"  "+draw.Clean(at.Function)))
	lines := strings.Split(text, "\n")
	from, to := window(lines, int(at.Line), around)
	if from == 0 {
		fmt.Fprintln(t.out, rail+t.p.bad(t.p.words.Phrase("the file has %d lines", len(lines))))
		return
	}
	dent := indent(lines[from-1 : to])
	for n := from; n <= to; n++ {
		mark, paint := " ", t.p.dim
		if n == int(at.Line) {
			mark, paint = ">", t.p.bold
		}
		line := strings.ReplaceAll(strings.TrimPrefix(lines[n-1], dent), "\t", "    ")
		fmt.Fprintln(t.out, rail+paint(strings.TrimRight(fmt.Sprintf("%s %4d  %s", mark, n, draw.Clean(line)), " ")))
	}
}

// bodyMost limits the lines that Body returns before and after a line.
const bodyMost = 500

// Body returns the lines of the function around a line of a file, and the number of the first; nil if there is no such
// line.
func Body(text string, line int) (first int, lines []string) {
	all := strings.Split(text, "\n")
	from, to := window(all, line, bodyMost)
	if from == 0 {
		return 0, nil
	}
	return from, all[from-1 : to]
}

// window returns the first and the last line to show around a line, both in its function or its variable. It returns 0
// if there is no such line.
func window(lines []string, line, around int) (from, to int) {
	if line < 1 || line > len(lines) {
		return 0, 0
	}
	from, to = line, line
	for from > 1 && line-from < around && !strings.HasPrefix(lines[from-1], "func ") && !ends(lines[from-2]) {
		from--
	}
	for to < len(lines) && to-line < around && !ends(lines[to-1]) {
		to++
	}
	return from, to
}

// ends reports whether a line ends a declaration. One that ends the parameters of a function begins its body.
func ends(line string) bool {
	return (strings.HasPrefix(line, "}") || strings.HasPrefix(line, ")")) && !strings.HasSuffix(line, "{")
}

// indent returns the common indentation of all lines that are not empty.
func indent(lines []string) string {
	common, first := "", true
	for _, l := range lines {
		if l == "" {
			continue
		}
		tabs := l[:len(l)-len(strings.TrimLeft(l, "\t"))]
		if first || len(tabs) < len(common) {
			common, first = tabs, false
		}
	}
	return common
}

// call is part of every line that begins a step.
const call = "trace."

// Fits returns an error if the code in files can't have made the journey. Every step's line must begin a step, in the
// function that the step names, and the line of a reason must name its variable. So one more or one less line in a file
// fails the check.
func Fits(j *v1alpha1.Journey, files Files) error {
	for i := range j.Status.Steps {
		s := &j.Status.Steps[i]
		if s.File == "" {
			continue
		}
		lines, text, err := lineOf(files, s.File, s.Line)
		if err != nil {
			return err
		}
		if !strings.Contains(text, call) || !strings.Contains(s.Function, enclosingFunction(lines, int(s.Line))) {
			return fmt.Errorf("step %s was taken in %s:%d, and there is none here", s.ID, s.File, s.Line)
		}
		r := s.Reason
		if r == nil || r.File == "" {
			continue
		}
		if _, text, err = lineOf(files, r.File, r.Line); err != nil {
			return err
		}
		if variable := strings.ReplaceAll(r.Kind, "-", ""); !strings.Contains(strings.ToLower(text), variable) {
			return fmt.Errorf("the reason %s was given in %s:%d, and it is not given there here", r.Kind, r.File, r.Line)
		}
	}
	return nil
}

// lineOf returns the lines of a file, and the text of one; the text is empty if there is no such line.
func lineOf(files Files, file string, line int32) (lines []string, text string, err error) {
	if text, err = files(file); err != nil {
		return nil, "", err
	}
	if lines = strings.Split(text, "\n"); line < 1 || int(line) > len(lines) {
		return lines, "", nil
	}
	return lines, lines[line-1], nil
}

// enclosingFunction returns the name of the function around a line.
func enclosingFunction(lines []string, line int) string {
	for n := line; n > 0; n-- {
		name, ok := strings.CutPrefix(lines[n-1], "func ")
		if !ok {
			continue
		}
		if strings.HasPrefix(name, "(") {
			_, name, _ = strings.Cut(name, ") ")
		}
		if end := strings.IndexAny(name, "(["); end > 0 {
			name = name[:end]
		}
		return name
	}
	return ""
}
