package survey

import (
	"slices"
	"strings"
	"testing"
)

// judged is a tally of n equal findings and the different ones that the case shows.
func judged(n int, c Case, different ...Finding) Tally {
	t := Tally{Equal: map[Finding]bool{}, Different: map[Finding]bool{}, Differences: []Difference{{Case: c, Findings: different}}}
	for i := range n {
		t.Equal[Finding{Field: strings.Repeat("x", i)}] = true
	}
	for _, f := range different {
		t.Different[f] = true
	}
	return t
}

// heldBack is a case of the tenth that is held back.
func heldBack(t *testing.T) Case {
	for i := range 1000 {
		if c := (Case{At: "/a", Doc: i}); c.HeldBack() {
			return c
		}
	}
	t.Fatal("no case is held back")
	return Case{}
}

// TestJudge: a resource fails for each thing that can be wrong with it, and for nothing else.
func TestJudge(t *testing.T) {
	things := Source{"example.com", "things"}
	bad := Finding{"example.com/v1", "spec.a", "value"}
	named := Exceptions{{Resource: "example.com/things", APIVersion: "example.com/v1", Reason: "because", Findings: []Named{{"spec.a", "value"}}}}
	for name, tc := range map[string]struct {
		known Exceptions
		tally Tally
		all   bool
		wrong []string
	}{
		"equal":            {nil, judged(1, Case{}), false, nil},
		"named":            {named, judged(19, Case{}, bad), false, nil},
		"below the bar":    {named, judged(18, Case{}, bad), false, []string{"94.74 % of the findings are equal: 95 % have to be"}},
		"not named":        {nil, judged(99, Case{}, bad), false, []string{"different without a reason"}},
		"without a reason": {Exceptions{{named[0].Resource, bad.APIVersion, "", named[0].Findings}}, judged(99, Case{}, bad), false, []string{"different without a reason"}},
		"another version":  {named, judged(99, Case{}, bad, Finding{"example.com/v2", bad.Field, bad.Cause}), false, []string{"different without a reason"}},
		"held back":        {nil, judged(99, heldBack(t), bad), false, []string{"1 findings of cases that are held back"}},
		"held back, shown": {nil, judged(99, heldBack(t), bad), true, []string{"different without a reason"}},
		"repaired":         {named, judged(99, Case{}), false, []string{"equal, or not asked any more"}},
		"of another":       {Exceptions{{Resource: "example.com/others", Findings: named[0].Findings}}, judged(99, Case{}), false, nil},
	} {
		same := func(a, b string) bool { return strings.HasPrefix(a, b) }
		if got := tc.known.Judge(things, tc.tally, tc.all); !slices.EqualFunc(got, tc.wrong, same) {
			t.Errorf("%s: got %q, want %q", name, got, tc.wrong)
		}
	}
}

// TestJudgeAll: all resources together have a higher bar, and a reason is that of a resource which was asked.
func TestJudgeAll(t *testing.T) {
	bad := Finding{"v1", "a", "value"}
	tallies := map[Source]Tally{{"", "a"}: judged(99, Case{}, bad)}
	if got := (Exceptions{{Resource: "core/a"}}).JudgeAll(tallies); got != nil {
		t.Errorf("99 of 100: %q", got)
	}
	tallies[Source{"", "b"}] = judged(97, Case{}, bad)
	got := Exceptions{{Resource: "core/c"}}.JudgeAll(tallies)
	if len(got) != 2 || !strings.HasPrefix(got[0], "98.99 % of all findings") || !strings.Contains(got[1], "core/c") {
		t.Errorf("196 of 198: %q", got)
	}
}

// TestPlain: a cause is the same whatever value of the object the message quotes.
func TestPlain(t *testing.T) {
	for message, want := range map[string]string{
		`Required value`:                            `Required value`,
		`Invalid value: "a\"b": must be c`:          `Invalid value: …: must be c`,
		`Invalid value: 7: must be c`:               `Invalid value: …: must be c`,
		`Invalid value: [{"a":"b: c"}]: must be c`:  `Invalid value: …: must be c`,
		`Invalid value: {"a":[1,{"b":null}]}: is c`: `Invalid value: …: is c`,
		`Duplicate value: {"a":1}`:                  `Duplicate value: …`,
		`Invalid value: [no JSON`:                   `Invalid value: … JSON`,
	} {
		if got := plain(message); got != want {
			t.Errorf("%s: got %s, want %s", message, got, want)
		}
	}
}
