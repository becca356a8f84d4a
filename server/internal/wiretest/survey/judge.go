package survey

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"slices"

	"sigs.k8s.io/yaml"
)

// The bar: how much of what a kube-apiserver was asked has to be answered equally.
const (
	BarOfAll      = 0.99
	BarOfResource = 0.95
)

// Exception names findings in which kx answers otherwise than a kube-apiserver, with the reason why that stays.
type Exception struct {
	// Resource is what [Source.String] says.
	Resource   string  `json:"resource"`
	APIVersion string  `json:"apiVersion"`
	Reason     string  `json:"reason"`
	Findings   []Named `json:"findings"`
}

// Named is a [Finding] in the version of its exception.
type Named struct {
	Field string `json:"field"`
	Cause string `json:"cause"`
}

func (e Exception) finding(n Named) Finding { return Finding{e.APIVersion, n.Field, n.Cause} }

// Exceptions are all that there are. What is different must be among them, and what is among them must be different.
type Exceptions []Exception

// ReadExceptions reads the file that lists them.
func ReadExceptions(file string) (all Exceptions, err error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	if err := yaml.UnmarshalStrict(data, &all); err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return all, nil
}

// Reason says why a finding stays different, empty if nobody has said it.
func (all Exceptions) Reason(s Source, f Finding) string {
	for _, e := range all {
		if e.Resource == s.String() && e.APIVersion == f.APIVersion && slices.Contains(e.Findings, Named{f.Field, f.Cause}) {
			return e.Reason
		}
	}
	return ""
}

// Judge says what is wrong with a resource: too little is equal, a different finding has no reason, or a reason no
// finding. A finding that only cases show which are held back is counted and not named, unless all are to be named.
func (all Exceptions) Judge(s Source, t Tally, nameAll bool) (wrong []string) {
	if t.Share() < BarOfResource {
		wrong = append(wrong, fmt.Sprintf("%.2f %% of the findings are equal: %.0f %% have to be", 100*t.Share(), 100*BarOfResource))
	}
	wrong = append(wrong, all.Unexplained(s, t, nameAll)...)
	for _, e := range all {
		for _, n := range e.Findings {
			if e.Resource == s.String() && !t.Different[e.finding(n)] {
				wrong = append(wrong, fmt.Sprintf("equal, or not asked any more: take it out of exceptions.yaml: %+v", e.finding(n)))
			}
		}
	}
	return wrong
}

// Unexplained says which findings are different without a reason. It holds for a part of the cases, too.
func (all Exceptions) Unexplained(s Source, t Tally, nameAll bool) (wrong []string) {
	shown, hidden := t.shown(), 0
	for _, f := range t.Sorted() {
		switch {
		case all.Reason(s, f) != "":
		case shown[f] || nameAll:
			wrong = append(wrong, fmt.Sprintf("different without a reason: repair it, or add it to exceptions.yaml: %+v", f))
		default:
			hidden++
		}
	}
	if hidden > 0 {
		wrong = append(wrong, fmt.Sprintf("%d findings of cases that are held back are different without a reason: -held-back names them",
			hidden))
	}
	return wrong
}

// JudgeAll says what is wrong with all resources together.
func (all Exceptions) JudgeAll(tallies map[Source]Tally) (wrong []string) {
	names, equal, different := map[string]bool{}, 0, 0
	for s, t := range tallies {
		names[s.String()] = true
		equal, different = equal+len(t.Equal), different+len(t.Different)
	}
	if share := float64(equal) / float64(max(equal+different, 1)); share < BarOfAll {
		wrong = append(wrong, fmt.Sprintf("%.2f %% of all findings are equal: %.0f %% have to be", 100*share, 100*BarOfAll))
	}
	for _, e := range all {
		if !names[e.Resource] {
			wrong = append(wrong, fmt.Sprintf("exceptions.yaml names %s: no recording has it", e.Resource))
		}
	}
	return wrong
}

// Sorted are the different findings in the order of versions, fields and causes.
func (t Tally) Sorted() []Finding {
	return slices.SortedFunc(maps.Keys(t.Different), func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.APIVersion, b.APIVersion), cmp.Compare(a.Field, b.Field), cmp.Compare(a.Cause, b.Cause))
	})
}

// shown are the different findings in cases that are not held back.
func (t Tally) shown() map[Finding]bool {
	found := map[Finding]bool{}
	for _, d := range t.Differences {
		if d.HeldBack() {
			continue
		}
		for _, f := range d.Findings {
			found[f] = true
		}
	}
	return found
}
