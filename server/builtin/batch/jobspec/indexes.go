package jobspec

import (
	"fmt"
	"strconv"
	"strings"
)

// Lists of indexes are texts such as "1,3-5,7".

// CountIndexes returns the number of indexes in a list. All must be below completions, and ascending.
func CountIndexes(list string, completions int32) (int32, error) {
	if list == "" {
		return 0, nil
	}
	var total, last int32
	for i, text := range strings.Split(list, ",") {
		in, err := parseInterval(text, completions)
		if err != nil {
			return 0, err
		}
		if i > 0 && last >= in.first {
			return 0, fmt.Errorf("non-increasing order, previous: %d, current: %d", last, in.first)
		}
		total += in.last - in.first + 1
		last = in.last
	}
	return total, nil
}

// CheckDisjoint rejects an index that is in both lists. It skips intervals that it can't parse.
func CheckDisjoint(completed, failed string, completions int32) error {
	a, b := intervals(completed, completions), intervals(failed, completions)
	for len(a) > 0 && len(b) > 0 {
		switch {
		case a[0].first <= b[0].last && b[0].first <= a[0].last:
			return fmt.Errorf("failedIndexes and completedIndexes overlap at index: %d", max(a[0].first, b[0].first))
		case a[0].first <= b[0].first:
			a = a[1:]
		default:
			b = b[1:]
		}
	}
	return nil
}

type interval struct{ first, last int32 }

func intervals(list string, completions int32) []interval {
	var all []interval
	if list == "" {
		return nil
	}
	for _, text := range strings.Split(list, ",") {
		if in, err := parseInterval(text, completions); err == nil {
			all = append(all, in)
		}
	}
	return all
}

func parseInterval(text string, completions int32) (interval, error) {
	limits := strings.Split(text, "-")
	if len(limits) > 2 {
		return interval{}, fmt.Errorf(
			"the fragment %q violates the requirement that an index interval can have at most two parts separated by '-'", text)
	}
	first, err := parseIndex(limits[0], completions)
	if err != nil || len(limits) == 1 {
		return interval{first, first}, err
	}
	last, err := parseIndex(limits[1], completions)
	if err == nil && first >= last {
		err = fmt.Errorf("non-increasing order, previous: %d, current: %d", first, last)
	}
	return interval{first, last}, err
}

func parseIndex(text string, completions int32) (int32, error) {
	index, err := strconv.Atoi(text)
	if err != nil {
		return 0, fmt.Errorf("cannot convert string to integer for index: %q", text)
	}
	if index >= int(completions) {
		return 0, fmt.Errorf("too large index: %q", text)
	}
	return int32(index), nil
}
