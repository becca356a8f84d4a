package learn

import (
	"regexp"
	"unicode/utf8"

	"github.com/kx-apiserver/kx/tui/draw"
	"github.com/kx-apiserver/kx/tui/markdown"
)

// tableName matches the name of a column.
const tableName = `[A-Z#][A-Z0-9#%()/.-]*(?: [A-Z0-9#%()/.-]+)*`

var (
	// tableHead matches the first line of a table that a command prints: two names or more, in capitals.
	tableHead = regexp.MustCompile(`^ *` + tableName + `(?: {2,}` + tableName + `)+ *$`)
	// tableCell matches one cell: single spaces belong to it.
	tableCell = regexp.MustCompile(`\S+(?: \S+)*`)
)

// fitOutput lays out lines of an output in lines of at most w cells. A table that is too wide becomes a list: each row
// with the names of its columns.
func fitOutput(lines []string, w int) (out []string) {
	for i := 0; i < len(lines); {
		if n := tableLines(lines[i:], w); n > 0 {
			for _, row := range lines[i+1 : i+n] {
				out = append(out, listRow(lines[i], row, w)...)
			}
			i += n
			continue
		}
		out = append(out, markdown.Verbatim(lines[i], w)...)
		i++
	}
	return out
}

// tableLines counts the lines of the table that is too wide and begins with the first line; 0 if there is none.
func tableLines(lines []string, w int) int {
	if !tableHead.MatchString(lines[0]) {
		return 0
	}
	n, wide := 1, draw.Width(lines[0]) > w
	for ; n < len(lines); n++ {
		if cells := len(tableCell.FindAllString(lines[n], -1)); cells < 2 && n > 1 || cells == 0 || tableHead.MatchString(lines[n]) {
			break
		}
		wide = wide || draw.Width(lines[n]) > w
	}
	if n == 1 || !wide {
		return 0
	}
	return n
}

// listRow lays out one row of a table as pairs of a column's name and the cell.
func listRow(head, row string, w int) []string {
	const indent, gap = "    ", "  "
	names, cells := tableCell.FindAllStringIndex(head, -1), tableCell.FindAllStringIndex(row, -1)
	var out []string
	line := ""
	for i, cell := range cells {
		column := i
		if len(cells) != len(names) { // some are empty
			column = columnAt(names, utf8.RuneCountInString(row[:cell[0]])) // tables of kubectl count characters, not cells
		}
		pair := head[names[column][0]:names[column][1]] + " " + row[cell[0]:cell[1]]
		switch {
		case line == "":
			line = pair
		case draw.Width(line+gap+pair) <= w:
			line += gap + pair
		default:
			out = append(out, markdown.Verbatim(line, w)...)
			line = indent + pair
		}
	}
	return append(out, markdown.Verbatim(line, w)...)
}

// columnAt returns the last column that begins at a place or before it, and the first one if there is none.
func columnAt(names [][]int, at int) (column int) {
	for i, name := range names {
		if name[0] <= at {
			column = i
		}
	}
	return column
}
