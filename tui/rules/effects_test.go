package rules

import (
	"slices"
	"strings"
	"testing"
)

// TestEffects offers what can go wrong there, and nothing else.
func TestEffects(t *testing.T) {
	for _, test := range []struct {
		step, verb string
		has, lacks []string
	}{
		{"etcd.txn", "update", []string{"409 Conflict", "wait 1s", "time out after the commit"}, []string{"410 Gone", "drop the watch"}},
		{"etcd3.update", "update", []string{"wait 1s"}, []string{"409 Conflict"}}, // it can't fail by itself
		{"rest.list", "list", []string{"410 Gone"}, []string{"time out after the commit", "409 Conflict"}},
		{"", "watch", []string{"503 Service Unavailable", "drop the watch"}, []string{"time out after the commit"}},
		{"", "", []string{"409 Conflict", "410 Gone", "time out after the commit", "drop the watch"}, nil},
	} {
		var titles []string
		for _, e := range Effects(test.step, test.verb) {
			titles = append(titles, e.Title)
			if e.Help == "" {
				t.Errorf("%s says nothing", e.Title)
			}
		}
		for _, title := range test.has {
			if !slices.Contains(titles, title) {
				t.Errorf("%q %q lacks %s: %q", test.step, test.verb, title, titles)
			}
		}
		for _, title := range test.lacks {
			if slices.Contains(titles, title) {
				t.Errorf("%q %q has %s", test.step, test.verb, title)
			}
		}
	}
}

func TestReadEffect(t *testing.T) {
	for text, want := range map[string]string{
		"422":  "422 Unprocessable Entity",
		"5s":   "wait 5s",
		"200":  "no HTTP status of an error",
		"-1s":  "type a status",
		"soon": "type a status",
	} {
		e, err := ReadEffect(text)
		if err != nil && !strings.Contains(err.Error(), want) || err == nil && e.Title != want {
			t.Errorf("%s: %+v, %v", text, e, err)
		}
	}
}
