package journey

import (
	"io"

	"github.com/kx-apiserver/kx/cmd/kx/internal/render"
	"github.com/kx-apiserver/kx/core/lang"
)

// Paint colours text by its meaning. It also holds the width of lines, and the language of
// the words that do not come from the journey.
type Paint struct {
	on    bool
	words lang.Language
	cells int
}

// Plain does not colour anything.
var Plain = Paint{}

// Coloured colours with the terminal's own colours, whatever its background.
var Coloured = Paint{on: true}

// PaintFor colours output to a terminal, unless the environment forbids it.
func PaintFor(out io.Writer) Paint {
	on, _ := render.WantsColour("auto", out) // auto is a valid value
	return Paint{on: on}
}

// WithLanguage returns the paint for text in a language.
func (p Paint) WithLanguage(l lang.Language) Paint {
	p.words = l
	return p
}

// WithWidth returns the paint for lines of at most so many cells: Tree wraps longer ones. Without it, lines have any
// length.
func (p Paint) WithWidth(cells int) Paint {
	p.cells = cells
	return p
}

func (p Paint) with(code, text string) string {
	if !p.on || text == "" {
		return text
	}
	return "\x1b[" + code + "m" + text + "\x1b[0m"
}

func (p Paint) bold(text string) string  { return p.with("1", text) }
func (p Paint) dim(text string) string   { return p.with("2", text) }
func (p Paint) good(text string) string  { return p.with("32", text) }
func (p Paint) bad(text string) string   { return p.with("31", text) }
func (p Paint) layer(text string) string { return p.with("36", text) }
func (p Paint) notes(text string) string { return p.with("33", text) }

// code colours an HTTP status.
func (p Paint) code(code int32, text string) string {
	if code >= 400 {
		return p.bad(text)
	}
	return p.good(text)
}
