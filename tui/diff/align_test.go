package diff

import (
	"fmt"
	"strings"
	"testing"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/tui/internal/tuitest"
)

// made makes a journey of steps: each is its depth in dots, and its ID.
func made(text string) *v1alpha1.Journey {
	j := &v1alpha1.Journey{}
	var callers []int32
	for _, word := range strings.Fields(text) {
		id := strings.TrimLeft(word, ">")
		depth := len(word) - len(id)
		parent := int32(-1)
		if depth > 0 {
			parent = callers[depth-1]
		}
		id, why, _ := strings.Cut(id, ":")
		callers = append(callers[:depth], int32(len(j.Status.Steps)))
		j.Status.Steps = append(j.Status.Steps, v1alpha1.Step{ID: id, Why: why, Parent: parent})
	}
	return j
}

// told is an alignment as text: = both, ~ both otherwise, < and > one alone.
func told(a, b *v1alpha1.Journey, pairs []StepPair) string {
	var out []string
	for _, p := range pairs {
		mark, id := "=", ""
		switch {
		case p.B < 0:
			mark, id = "<", a.Status.Steps[p.A].ID
		case p.A < 0:
			mark, id = ">", b.Status.Steps[p.B].ID
		default:
			if id = a.Status.Steps[p.A].ID; p.Differs {
				mark = "~"
			}
		}
		out = append(out, mark+strings.Repeat(".", p.Depth)+id)
	}
	return strings.Join(out, " ")
}

func TestSteps(t *testing.T) {
	for _, test := range []struct{ name, a, b, want string }{
		{"nothing", "", "", ""},
		{"the same", "f handler.get >rest.get", "f handler.get >rest.get", "=f =handler.get =.rest.get"},
		{"one more", "handler.get >x", "handler.get >x >>etcd.get", "=handler.get =.x >..etcd.get"},
		{"one less", "a b c", "a c", "=a <b =c"},
		{"another reason", "a:1 b:2", "a:1 b:3", "=a ~b"},
		{"another verb", "handler.create >decode", "handler.update >decode >store.try", "~handler.create =.decode >.store.try"},
		{"the layer etcd's steps are their own", "etcd.get", "etcd.watch", "<etcd.get >etcd.watch"},
		{"a second attempt", "u >try >txn", "u >try >txn >try >txn", "=u =.try =.txn >.try >.txn"},
		{"nothing in common", "a >b", "c >d", "<a <.b >c >.d"},
		{"another caller", "a >x b", "a b >x", "=a <.x =b >.x"},
	} {
		a, b := made(test.a), made(test.b)
		if got := told(a, b, Steps(a, b)); got != test.want {
			t.Errorf("%s: %s, want %s", test.name, got, test.want)
		}
	}
}

// TestRecorded compares what one wants to: a read that the cache answered with one that asked etcd, a write that was done
// with one that was refused, one at the first attempt with one at the second.
func TestRecorded(t *testing.T) {
	all := map[string]*v1alpha1.Journey{}
	for _, j := range tuitest.Recorded(t, "../pane/testdata/journeys.json") {
		all[j.Name] = j
	}
	for _, test := range []struct{ a, b, want string }{
		{"rec-2", "rec-3", "27 in both, 3 differ, 0 and 2 alone"},
		{"rec-7", "rec-8", ""},
		{"rec-7", "rec-16", ""},
	} {
		pairs := Steps(all[test.a], all[test.b])
		both, differ, onlyA, onlyB := CountPairs(pairs)
		got := fmt.Sprintf("%d in both, %d differ, %d and %d alone", both, differ, onlyA, onlyB)
		if test.want != "" && got != test.want {
			t.Errorf("%s, %s: %s, want %s", test.a, test.b, got, test.want)
		}
		if both+onlyA != len(all[test.a].Status.Steps) || both+onlyB != len(all[test.b].Status.Steps) || onlyB == 0 {
			t.Errorf("%s, %s: %s of %d and %d steps", test.a, test.b, got, len(all[test.a].Status.Steps), len(all[test.b].Status.Steps))
		}
	}
}

// TestMany does not compare each with each where there are very many.
func TestMany(t *testing.T) {
	a, b := made("x"), made("x")
	for range 2000 {
		a.Status.Steps = append(a.Status.Steps, v1alpha1.Step{ID: "s", Parent: 0})
		b.Status.Steps = append(b.Status.Steps, v1alpha1.Step{ID: "s", Parent: 0})
	}
	if both, _, onlyA, onlyB := CountPairs(Steps(a, b)); both != 2001 || onlyA+onlyB != 0 {
		t.Errorf("%d in both, %d and %d alone", both, onlyA, onlyB)
	}
}

func FuzzSteps(f *testing.F) {
	f.Add("a.b,c", "a.c,c.d", int32(0))
	f.Fuzz(func(t *testing.T, a, b string, parent int32) {
		journey := func(text string) *v1alpha1.Journey {
			j := &v1alpha1.Journey{}
			for i, id := range strings.Split(text, ",") {
				j.Status.Steps = append(j.Status.Steps, v1alpha1.Step{ID: id, Parent: parent + int32(i/2)})
			}
			return j
		}
		x, y := journey(a), journey(b)
		both, _, onlyA, onlyB := CountPairs(Steps(x, y))
		if both+onlyA != len(x.Status.Steps) || both+onlyB != len(y.Status.Steps) {
			t.Errorf("%d in both, %d and %d alone, of %d and %d", both, onlyA, onlyB, len(x.Status.Steps), len(y.Status.Steps))
		}
	})
}
