package markdown

import (
	"strings"

	"github.com/kx-apiserver/kx/tui/draw"
)

// table lays out a table. Where its columns do not fit, their cells wrap.
func (p *page) table(lines []string) int {
	n := 0
	var cells [][]string
	headed := false
	for ; n < len(lines) && tableRow.MatchString(lines[n]); n++ {
		if dashes.MatchString(lines[n]) {
			headed = headed || n == 1
			continue
		}
		cells = append(cells, cellsOf(lines[n]))
	}
	columns := 0
	for _, row := range cells {
		columns = max(columns, len(row))
	}
	if columns == 0 {
		return n
	}
	widths := p.widths(cells, columns)
	for i, row := range cells {
		p.row(row, widths)
		if headed && i == 0 {
			var under []string
			for _, w := range widths {
				under = append(under, strings.Repeat("─", w))
			}
			p.lines = append(p.lines, Line{Text: p.look.Dim(draw.Fit(strings.Join(under, "  "), min(p.w, sum(widths)+2*(columns-1))))})
		}
	}
	return n
}

// widths divides the width among the columns.
func (p *page) widths(cells [][]string, columns int) []int {
	needs := make([]int, columns)
	for _, row := range cells {
		for i, cell := range row {
			needs[i] = max(needs[i], draw.Width(spans(cell).text()))
		}
	}
	return draw.Share(max(p.w-2*(columns-1), columns), needs...)
}

func sum(all []int) int {
	n := 0
	for _, one := range all {
		n += one
	}
	return n
}

// row lays out one row of cells.
func (p *page) row(cells []string, widths []int) {
	parts := make([][]string, len(cells))
	height := 1
	for i, cell := range cells {
		parts[i] = inline(cell, max(widths[i], 1), p.look)
		height = max(height, len(parts[i]))
	}
	var lines []string
	for y := range height {
		line := ""
		for i := range cells {
			text := ""
			if y < len(parts[i]) {
				text = parts[i][y]
			}
			if i > 0 {
				line += "  "
			}
			line += draw.Fit(text, widths[i])
		}
		lines = append(lines, draw.Fit(line, min(draw.Width(line), p.w)))
	}
	p.block(lines)
}

// cellsOf splits a row. A bar in code, or after a backslash, is text.
func cellsOf(line string) []string {
	line = strings.TrimSuffix(strings.TrimPrefix(strings.TrimSpace(line), "|"), "|")
	var cells []string
	cell, inCode := "", false
	for i := 0; i < len(line); i++ {
		switch c := line[i]; {
		case c == '\\' && i+1 < len(line) && line[i+1] == '|':
			i++
			cell += "|"
		case c == '|' && !inCode:
			cells = append(cells, strings.TrimSpace(cell))
			cell = ""
		default:
			if c == '`' {
				inCode = !inCode
			}
			cell += line[i : i+1]
		}
	}
	return append(cells, strings.TrimSpace(cell))
}
