package draw

import (
	"cmp"
	"slices"
)

// Share divides cells among columns by need. If the cells do not suffice, columns with small needs get all of theirs,
// and the others share the rest evenly. Spare cells stay free.
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
	// Weight decides which part is dropped first: the one of least weight, and of two the later one.
	Weight int
}

// JoinFitting joins as many parts as fit, in their order.
func JoinFitting(w int, parts ...Part) string {
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
