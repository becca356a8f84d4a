package source

import (
	"fmt"
	"strings"

	"github.com/alecthomas/chroma/v2"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/tui/draw"
	"github.com/kx-apiserver/kx/tui/theme"
)

// File is a highlighted file, ready to be painted.
type File struct {
	// Name is the file's name in steps, such as store/etcd3/update.go.
	Name, Package string
	// Text is the file's raw text.
	Text  string
	lines []line
}

// line is a line, cut into pieces of one style.
type line struct {
	text   string
	pieces []piece
}

type piece struct {
	paint paint
	text  string
}

// paint is the style of a piece.
type paint uint8

const (
	plain paint = iota
	comment
	literal
	number
	keyword
	function
)

// paintOf lists the kinds of tokens with a style of their own.
var paintOf = map[chroma.TokenType]paint{
	chroma.Comment: comment, chroma.String: literal, chroma.Number: number, chroma.Keyword: keyword, chroma.NameFunction: function,
}

const (
	// textMost limits the highlighted text, in bytes.
	textMost = 2 << 20
	// tab replaces a tab.
	tab = "    "
)

// Read highlights a file. It is slow: about 50 ms for 1,000 lines.
func Read(s *v1alpha1.Source) (*File, error) {
	f := &File{Name: draw.Clean(s.Spec.File), Package: draw.Clean(s.Spec.Package), Text: s.Spec.Text}
	text := strings.ToValidUTF8(s.Spec.Text, "\uFFFD")
	if len(text) > textMost {
		text = strings.ToValidUTF8(text[:textMost], "") + "\n… cut: the file is larger than what is shown"
	}
	tokens, err := lexer().Tokenise(nil, cleanLines(text))
	if err != nil {
		return nil, fmt.Errorf("highlight %s: %w", f.Name, err)
	}
	current := line{}
	for token := tokens(); token != chroma.EOF; token = tokens() {
		for i, part := range strings.Split(token.Value, "\n") {
			if i > 0 {
				f.lines = append(f.lines, current)
				current = line{}
			}
			if part != "" {
				current.pieces = append(current.pieces, piece{paintOf[token.Type], part})
				current.text += part
			}
		}
	}
	if current.text != "" {
		f.lines = append(f.lines, current)
	}
	return f, nil
}

// cleanLines cleans whole lines, since combining characters may pile up across several tokens.
func cleanLines(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		lines[i] = draw.Clean(strings.ReplaceAll(line, "\t", tab))
	}
	return strings.Join(lines, "\n")
}

// lineCount returns the number of lines.
func (f *File) lineCount() int { return len(f.lines) }

// function returns the first line of the function around the n-th line; n itself outside of functions.
func (f *File) function(n int) int {
	for i := min(n, len(f.lines)); i >= 1; i-- {
		switch text := f.lines[i-1].text; {
		case strings.HasPrefix(text, "func "):
			return i
		case text == "}" && i < n:
			return n
		}
	}
	return n
}

// styles maps the paints to a theme.
func styles(t theme.Theme) [function + 1]theme.Style {
	return [...]theme.Style{plain: nil, comment: t.Dim, literal: t.Good, number: t.Notice, keyword: t.Layer, function: t.Title}
}
