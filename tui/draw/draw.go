package draw

import (
	"strings"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"

	"github.com/kx-apiserver/kx/core/escape"
)

// Ellipsis stands where text was cut.
const Ellipsis = "…"

// Clean makes s one line of visible characters.
func Clean(s string) string {
	if !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, "\uFFFD")
	}
	var marks escape.Marks
	if !strings.ContainsFunc(s, func(r rune) bool { return marks.Pile(r) || hostile(r) }) {
		return s
	}
	marks = 0
	return strings.Map(func(r rune) rune {
		switch pile := marks.Pile(r); {
		case r == '\n' || r == '\t' || r == '\r':
			return ' '
		case pile || hostile(r):
			return '\uFFFD'
		}
		return r
	}, s)
}

// emojiSelector makes the character before it wide on some terminals, and not on others.
const emojiSelector = '\uFE0F'

// hostile reports whether a character acts on the terminal or on the line instead of being visible in it.
func hostile(r rune) bool { return escape.Hostile(r) || r == emojiSelector }

// Width returns the number of cells that s takes. Escape codes take none.
func Width(s string) int { return ansi.StringWidth(s) }

// Fit makes s exactly w cells wide: cut with an ellipsis, or filled with spaces. It keeps escape codes.
func Fit(s string, w int) string {
	if w <= 0 {
		return ""
	}
	n := ansi.StringWidth(s)
	if n > w {
		s = ansi.Truncate(s, w, Ellipsis)
		n = ansi.StringWidth(s) // a wide character at the edge leaves a cell free
	}
	return s + spaces(w-n)
}

// FitRight is Fit with the text at the right edge.
func FitRight(s string, w int) string {
	if n := ansi.StringWidth(s); n < w {
		return spaces(w-n) + s
	}
	return Fit(s, w)
}

// Ends puts left at the left edge and right at the right one; it drops right first if both do not fit.
func Ends(left, right string, w int) string {
	n := ansi.StringWidth(right)
	if n == 0 || n+1 >= w {
		return Fit(left, w)
	}
	return Fit(left, w-n-1) + " " + right
}

func spaces(n int) string {
	if n <= 0 {
		return ""
	}
	return strings.Repeat(" ", n)
}

// Block makes lines exactly w wide and h high.
func Block(lines []string, w, h int) []string {
	out := make([]string, max(h, 0))
	for i := range out {
		if i < len(lines) {
			out[i] = Fit(lines[i], w)
		} else {
			out[i] = spaces(w)
		}
	}
	return out
}

// border holds the pieces of a frame.
type border struct{ h, v, tl, tr, bl, br string }

var (
	light = border{"─", "│", "┌", "┐", "└", "┘"}
	heavy = border{"━", "┃", "┏", "┓", "┗", "┛"}
)

// Paint colours a piece of a frame. It must not change the width.
type Paint func(string) string

// Frame is the style of a box. The lines of a focused frame are heavy, so that the focus shows without colours.
type Frame struct {
	Focused bool
	Paint   Paint
}

// Box frames lines: w by h with the frame, title in the upper edge at the left, note at the right.
func (f Frame) Box(lines []string, title, note string, w, h int) []string {
	if w < 2 || h < 2 {
		return Block(nil, w, h)
	}
	b, paint := light, f.Paint
	if f.Focused {
		b = heavy
	}
	out := make([]string, 0, h)
	out = append(out, paint(b.tl)+edge(b, title, note, w-2, paint)+paint(b.tr))
	side := paint(b.v)
	for _, line := range Block(lines, w-2, h-2) {
		out = append(out, side+line+side)
	}
	return append(out, paint(b.bl+strings.Repeat(b.h, w-2)+b.br))
}

func edge(b border, title, note string, w int, paint Paint) string {
	if title != "" {
		title = " " + title + " "
	}
	if note != "" {
		note = " " + note + " "
	}
	if Width(title)+Width(note)+2 > w {
		note = ""
	}
	if Width(title)+2 > w {
		title = Fit(title, max(w-2, 0))
	}
	rest := w - 1 - Width(title) - Width(note) - 1
	if rest < 0 {
		return paint(strings.Repeat(b.h, max(w, 0)))
	}
	return paint(b.h) + title + paint(strings.Repeat(b.h, rest)) + note + paint(b.h)
}

// Overlay lays top over bottom, its upper left corner at x, y, and clips it. Lines of bottom keep their width.
func Overlay(bottom, top []string, x, y int) []string {
	out := append([]string(nil), bottom...)
	for i, line := range top {
		if y+i < 0 || y+i >= len(out) {
			continue
		}
		under := out[y+i]
		w := Width(under)
		left := min(max(x, 0), w)
		line = ansi.Truncate(line, w-left, "")
		n := Width(line)
		out[y+i] = Fit(ansi.Truncate(under, left, ""), left) + line + tail(under, w-left-n)
	}
	return out
}

// tail returns the last w cells of s. Half of a wide character becomes a space.
func tail(s string, w int) string {
	if w <= 0 {
		return ""
	}
	all := ansi.StringWidth(s)
	for skip := all - w; ; skip++ {
		if rest := ansi.TruncateLeft(s, skip, ""); ansi.StringWidth(rest) <= w {
			return spaces(w-ansi.StringWidth(rest)) + rest
		}
	}
}

// JoinBlocks joins blocks of the same height from left to right.
func JoinBlocks(blocks ...[]string) []string {
	if len(blocks) == 0 {
		return nil
	}
	out := append([]string(nil), blocks[0]...)
	for _, b := range blocks[1:] {
		for i := range out {
			if i < len(b) {
				out[i] += b[i]
			}
		}
	}
	return out
}
