package filter_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/kx-apiserver/kx/core/filter"
)

// retried is an update that was tried twice, as a request whose steps are known one by one.
var retried = journey{
	subject: subject{"verb": filter.TextValue("update"), "dur": filter.DurationValue(9 * time.Millisecond), "after": filter.RequestValue("3f-17", time.UnixMicro(1000))},
	steps: steps{
		{id: "rest.update", layer: "rest", took: 8 * time.Millisecond},
		{id: "store.try-update", layer: "store", why: "attempt 1: on revision 5"},
		{id: "etcd.txn", layer: "etcd", why: "the key has moved", took: 2 * time.Millisecond},
		{id: "store.try-update", layer: "store", why: "attempt 2: on revision 6"},
		{id: "etcd.txn", layer: "etcd", why: "the key was still at revision 6", took: 3 * time.Millisecond},
	},
}

type journey struct {
	subject
	steps steps
}

func (j journey) Steps() filter.Steps { return j.steps }

type step struct {
	id, layer, why string
	took           time.Duration
}

type steps []step

func (s steps) Len() int { return len(s) }

func (s steps) Field(i int, name string) (filter.Value, bool) {
	if name == "took" {
		return filter.DurationValue(s[i].took), true
	}
	text := map[string]string{"step": s[i].id, "layer": s[i].layer, "why": s[i].why}[name]
	return filter.TextValue(text), text != ""
}

func (s steps) Find(i int, name string, c filter.TextCondition) int {
	for ; i < len(s); i++ {
		text := map[string]string{"step": s[i].id, "layer": s[i].layer, "why": s[i].why}[name]
		if text != "" && c.Matches(text) {
			return i
		}
	}
	return -1
}

func TestSteps(t *testing.T) {
	for _, tc := range []struct {
		filter    string
		want      bool
		canonical string // the filter itself, unless set
	}{
		{filter: "step:etcd.txn why:attempt", want: true},
		{filter: "step(etcd.txn why:attempt)", want: false},
		{filter: `step(store.* why:"attempt 2")`, want: true},
		{filter: "STEP( store.*  Why:attempt )", want: true, canonical: "step(store.* why:attempt)"},
		{filter: "step(etcd.txn,etcd.get took>2ms)", want: true},
		{filter: "step(etcd.txn & dur>3ms)", want: false, canonical: "step(etcd.txn took>3ms)"},
		{filter: "step(rest.* | etcd.* took>10ms)", want: true},
		{filter: "step((rest.* | etcd.*) took>10ms)", want: false},
		{filter: "step(layer:etcd !why:moved)", want: true},
		{filter: "step(!etcd.* took>5ms)", want: true},
		{filter: `step(etcd.txn "revision 6")`, want: true},
		{filter: `step("revision 6" etcd.txn)`, want: true, canonical: `step("revision 6" step:etcd.txn)`},
		{filter: "step(etcd.txn)", want: true, canonical: "step:etcd.txn"},
		{filter: "step(why~moved$)", want: true, canonical: "why~moved$"},
		{filter: "step(step:etcd.* step:*.txn)", want: true, canonical: "step(etcd.* step:*.txn)"},
		{filter: "!step(etcd.txn why:moved)", want: false},
		{filter: "step(why:moved (etcd.txn))", want: true, canonical: "step(why:moved step:etcd.txn)"},
		{filter: "step(about:x)", want: false, canonical: "key:x"},
		{filter: `step(step:"a b" why:x)`, want: false},
		{filter: "took>7ms", want: true},
		{filter: "step (etcd.txn)", want: false, canonical: "step etcd.txn"}, // two texts

		{filter: "etcd.txn -> store.try-update", want: true},
		{filter: "etcd.txn -> etcd.txn -> store.try-update", want: false},
		{filter: "etcd.txn->etcd.txn", want: true, canonical: "etcd.txn -> etcd.txn"},
		{filter: "why:moved -> why:still", want: true},
		{filter: "why:still -> why:moved", want: false},
		{filter: "step(etcd.txn why:moved) -> step(store.* why:attempt)", want: true},
		{filter: "step:etcd.txn -> dur>2ms", want: true, canonical: "etcd.txn -> took>2ms"},
		{filter: "rest.update -> step(!etcd.* why:attempt) -> etcd.*", want: true},
		{filter: "!etcd.txn -> rest.*", want: true},
		{filter: "!(etcd.txn -> rest.*)", want: true, canonical: "!etcd.txn -> rest.*"},
		{filter: "verb:update etcd.txn -> rest.*", want: false},
		{filter: "etcd.txn -> rest.* | verb:update", want: true},
		{filter: `"->" | why:"a->b"`, want: false},
		{filter: "steps(etcd.txn)>1", want: true},
		{filter: "steps(etcd.txn) > 2", want: false, canonical: "steps(etcd.txn)>2"},
		{filter: "steps(why:attempt | layer:rest)=3", want: true, canonical: "steps(why:attempt | layer:rest):3"},
		{filter: "steps(etcd.get):0", want: true},
		{filter: "steps(etcd.txn)!=1,2", want: false, canonical: "!steps(etcd.txn):1,2"},
		{filter: "verb:update steps(etcd.txn took>=3ms)<2 dur>1ms", want: true},
	} {
		t.Run(tc.filter, func(t *testing.T) {
			f, err := filter.Parse(tc.filter, nil)
			if err != nil {
				t.Fatal(err)
			}
			if got := f.Match(retried); got != tc.want {
				t.Errorf("match is %v; want %v", got, tc.want)
			}
			want := tc.canonical
			if want == "" {
				want = tc.filter
			}
			if got := f.String(); got != want {
				t.Errorf("canonical form is %q; want %q", got, want)
			}
			if again, err := filter.Parse(want, nil); err != nil || again.String() != want || again.Match(retried) != tc.want {
				t.Errorf("the canonical form is read as %q, %v", again, err)
			}
		})
	}
}

func TestStepErrors(t *testing.T) {
	for _, tc := range []struct{ filter, want string }{
		{"step(", `filter, column 6: nothing follows; expected a value`},
		{"step()", `filter, column 6: unexpected ")"; expected a value`},
		{"step(etcd.txn", `filter, column 14: the parenthesis of column 1 is open; expected ")"`},
		{"step(etcd.txn why:x retry)", `filter, column 21: a step's ID stands before its fields; expected a field, such as why:retry, or the text in quotes`},
		{"step(etcd.txn and why:x)", `filter, column 15: "and" is not an operator; expected & or a space, or the word in quotes`},
		{"step(a -> b)", `filter, column 8: "->" within the conditions of a step; expected the conditions of one step`},
		{"step(step(a))", `filter, column 6: "step(" within the conditions of a step; expected the conditions of one step`},
		{"a -> steps(b)>1", `filter, column 6: "steps(" within the conditions of a step; expected the conditions of one step`},
		{"a -> (b | c)", `filter, column 6: "(" beside "->"; expected a step, such as etcd.txn, why:retry or step(!etcd.txn)`},
		{"(a) -> b", `filter, column 1: "(" beside "->"; expected a step, such as etcd.txn, why:retry or step(!etcd.txn)`},
		{"a -> !b", `filter, column 6: "!" beside "->"; expected a step, such as etcd.txn, why:retry or step(!etcd.txn)`},
		{"a ->", `filter, column 5: nothing follows; expected a value`},
		{"-> a", `filter, column 1: unexpected "->"; expected a text, a field or (`},
		{"steps(a)", `filter, column 9: steps(...) is a number; expected a comparison, such as >1`},
		{"steps(a)>x", `filter, column 10: "x" is not a number; expected a whole number, such as 409`},
		{"steps(a)~x", `filter, column 9: steps(...) is a number; expected a comparison, such as >1`},
		{"after>3f-1", `filter, column 6: after is a request: it has no ">"; expected : = or !=`},
	} {
		t.Run(tc.filter, func(t *testing.T) {
			_, err := filter.Parse(tc.filter, nil)
			if err == nil || err.Error() != tc.want {
				t.Errorf("\ngot  %v\nwant %s", err, tc.want)
			}
		})
	}
	for _, text := range []string{"step(verb:get)", "verb:get -> etcd.txn"} {
		_, err := filter.Parse(text, nil)
		if err == nil || !strings.Contains(err.Error(), `a step has no field "verb"; expected one of step, layer`) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// TestParseRunning refuses what is not known at a step of a request that still runs.
func TestParseRunning(t *testing.T) {
	for text, want := range map[string]string{
		"verb:update step(etcd.txn why:x) after:3f-1": "",
		"step:etcd.txn steps>20 took>1ms":             "",
		"verb:update etcd.txn -> etcd.get":            `filter, column 22: "->" looks at steps to the request's end; expected what is known at a step`,
		"steps(etcd.txn)>1":                           `filter, column 1: "steps(" counts to the request's end; expected what is known at a step`,
		"verb:update touched:spec":                    `filter, column 13: "touched" is not known while the request runs; expected what is known at a step`,
		"!delivered:informer":                         `filter, column 2: "delivered" is not known while the request runs; expected what is known at a step`,
		"step(changed>1)":                             `filter, column 6: "changed" is not known while the request runs; expected what is known at a step`,
	} {
		_, err := filter.ParseRunning(text, nil)
		if (err == nil) != (want == "") || err != nil && !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
		if _, err := filter.Parse(text, nil); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
	// A subject whose steps are not known one by one is the step.
	f, err := filter.ParseRunning(`step(etcd.txn why:"retry 2")`, nil)
	if err != nil || !f.Match(update) {
		t.Errorf("%s does not match: %v", f, err)
	}
}

func TestAfter(t *testing.T) {
	known := func(id string) (time.Time, bool) {
		at, ok := map[string]time.Time{"3f-1": {}, "aa-9": time.UnixMicro(999), "ab-9": time.UnixMicro(1000)}[id]
		return at, ok
	}
	for text, want := range map[string]bool{
		"after:3f-1": true, "after:3f-1 verb:update": true, "after!=3f-1": false, "after:aa-9": true, "after:ab-9": false,
		"(after:ab-9 | verb:get) | after:ab-9,aa-9": true,
	} {
		f, err := filter.Parse(text, nil)
		if err != nil {
			t.Fatal(err)
		}
		f, err = f.Resolve(known)
		if err != nil || f.Match(retried) != want {
			t.Errorf("%s: %v, %v; want %v", text, f.Match(retried), err, want)
		}
	}
	for text, want := range map[string]bool{"after:3f-16": true, "after:3f-17": false, "after:aa-9": false} {
		if f, err := filter.Parse(text, nil); err != nil || f.Match(retried) != want {
			t.Errorf("%s, not resolved: %v, %v; want %v", text, f.Match(retried), err, want)
		}
	}
	f, err := filter.Parse("verb:get | !(code:200 after:3f-1,nobody)", nil)
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.Resolve(known)
	var e *filter.Error
	if want := `filter, column 34: no request "nobody" is known here; expected the ID of a request, as kx trace ls shows it`; !errors.As(err, &e) || err.Error() != want {
		t.Errorf("\ngot  %v\nwant %s", err, want)
	}
	if !filter.SameProcess("a-b-1", "a-b-22") || filter.SameProcess("a-1", "b-1") || filter.SameProcess("a", "a") {
		t.Error("which IDs one process gave is not known")
	}
}

func TestPlaceAt(t *testing.T) {
	for before, want := range map[string]filter.Place{
		"":                           {},
		"ver":                        {Word: "ver"},
		"verb:get,li":                {Field: "verb", Word: "li"},
		"code>=4":                    {Field: "code", Word: "4"},
		"(a | !na":                   {Word: "na"},
		"!name!=x":                   {Field: "name", Word: "x"},
		"namespace:k":                {Field: "ns", Word: "k"},
		`why:"retry 2`:               {Field: "why", Word: "retry 2", Quoted: true},
		`why:"a \" b`:                {Field: "why", Word: `a \" b`, Quoted: true},
		`why:"retry" na`:             {Word: "na"},
		"step(":                      {OfStep: true},
		"step(etcd.":                 {OfStep: true, Word: "etcd."},
		"step(etcd.txn,etcd.":        {OfStep: true, Word: "etcd."},
		"steps(etcd.txn wh":          {OfStep: true, Word: "wh"},
		"step(etcd.txn dur>5":        {OfStep: true, Field: "took", Word: "5"},
		"step((a | layer:et":         {OfStep: true, Field: "layer", Word: "et"},
		"step(etcd.txn) ver":         {Word: "ver"},
		"(verb:get step(a) | na":     {Word: "na"},
		"etcd.txn -> etcd.":          {OfStep: true, Word: "etcd."},
		"etcd.txn -> etcd.txn ve":    {Word: "ve"},
		"a->why:x":                   {OfStep: true, Field: "why", Word: "x"},
		`why:")" x`:                  {Word: "x"},
		"nonsense:x":                 {Field: "nonsense", Word: "x"},
		"step(a) -> step(store. | s": {OfStep: true, Word: "s"},
	} {
		if got := filter.PlaceAt(before); got != want {
			t.Errorf("%q: %+v, want %+v", before, got, want)
		}
	}
}
