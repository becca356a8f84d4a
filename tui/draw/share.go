package draw

import (
	"cmp"
	"slices"
)

// Share gives each of several columns what it needs of some cells. Where there are not enough for all, those that need little
// have it, and the others share the rest evenly. What is left over is nobody's.
func Share(room int, needs ...int) []int {
	order := make([]int, len(needs))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(needs[a], needs[b]) })
	widths := make([]int, len(needs))
	for k, i := range order {
		widths[i] = max(min(needs[i], room/(len(order)-k)), 0)
		room -= widths[i]
	}
	return widths
}

// Part is a part of a line.
type Part struct {
	Text string
	// Weight says which goes first where there is no room for all: the one of least weight, and of two the later one.
	Weight int
}

// Fitting is a line of as many parts as there is room for, in their order.
func Fitting(w int, parts ...Part) string {
	for {
		line, least := "", -1
		for i, p := range parts {
			line += p.Text
			if p.Text != "" && (least < 0 || p.Weight <= parts[least].Weight) {
				least = i
			}
		}
		if Width(line) <= w || least < 0 {
			return line
		}
		parts = append(append([]Part(nil), parts[:least]...), parts[least+1:]...)
	}
}
