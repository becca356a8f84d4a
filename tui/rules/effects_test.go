package rules

import (
	"slices"
	"strings"
	"testing"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
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
		{"", "watch", []string{"503 Service Unavailable", "drop the watch", "lag 5s"}, []string{"time out after the commit"}},
		{"etcd.txn", "update", nil, []string{"lag 5s"}},
		{"", "", []string{"409 Conflict", "410 Gone", "time out after the commit", "drop the watch", "lag 1s", "lag 30s"}, nil},
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

// TestEventsHaveAStep says where a fault finds the events of a watch.
func TestEventsHaveAStep(t *testing.T) {
	for step, refused := range map[string]bool{"": false, "handler.watch-event": false, "handler.watch": true} {
		typed, err := ReadEffect(step, "watch", "lag 2s")
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range append(Effects(step, "watch"), typed) {
			ofEvents := e.Fault.Effect == v1alpha1.FaultLag || e.Fault.Effect == v1alpha1.FaultDropWatch
			if (e.Why != "") != (refused && ofEvents) {
				t.Errorf("%s at %q: %q", e.Title, step, e.Why)
			}
		}
	}
}

func TestReadEffect(t *testing.T) {
	for _, test := range []struct{ verb, text, want string }{
		{"update", "422", "422 Unprocessable Entity"},
		{"watch", "5s", "wait 5s"},
		{"watch", "lag 250ms", "lag 250ms"},
		{"", "lag 2m", "lag 2m0s"},
		{"update", "lag 2s", "only watches have events"},
		{"", "lag soon", "type a status"},
		{"", "200", "no HTTP status of an error"},
		{"", "-1s", "type a status"},
		{"", "soon", "type a status"},
	} {
		e, err := ReadEffect("", test.verb, test.text)
		if err != nil && !strings.Contains(err.Error(), test.want) || err == nil && e.Title != test.want {
			t.Errorf("%q of %q: %+v, %v", test.text, test.verb, e, err)
		}
	}
}
