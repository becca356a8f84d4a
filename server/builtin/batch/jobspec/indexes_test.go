package jobspec

import "testing"

func TestCountIndexes(t *testing.T) {
	for list, want := range map[string]struct {
		count int32
		err   string
	}{
		"":      {0, ""},
		"3":     {1, ""},
		"0,2-4": {4, ""},
		"1,0":   {0, "non-increasing order, previous: 1, current: 0"},
		"1-3,3": {0, "non-increasing order, previous: 3, current: 3"},
		"2-2":   {0, "non-increasing order, previous: 2, current: 2"},
		"5":     {0, `too large index: "5"`},
		"1-5":   {0, `too large index: "5"`},
		"-1":    {0, `cannot convert string to integer for index: ""`},
		"1-x":   {0, `cannot convert string to integer for index: "x"`},
		"1-2-3": {0, `the fragment "1-2-3" violates the requirement that an index interval can have at most two parts separated by '-'`},
	} {
		count, err := CountIndexes(list, 5)
		message := ""
		if err != nil {
			message = err.Error()
		}
		if count != want.count || message != want.err {
			t.Errorf("%q: %d, %q", list, count, message)
		}
	}
}

func TestCheckDisjoint(t *testing.T) {
	for lists, want := range map[[2]string]string{
		{"", "1"}:            "",
		{"0,2-4", "1,5"}:     "",
		{"0,2-4", "1,4"}:     "failedIndexes and completedIndexes overlap at index: 4",
		{"x,3", "1-2,3-5"}:   "failedIndexes and completedIndexes overlap at index: 3",
		{"6,7-9", "5,x,8-8"}: "",
	} {
		message := ""
		if err := CheckDisjoint(lists[0], lists[1], 9); err != nil {
			message = err.Error()
		}
		if message != want {
			t.Errorf("%v: %q", lists, message)
		}
	}
}
