package survey

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
)

// Finding is one thing to be equal in: what becomes of a field in a version, for one cause. The same in other cases, by
// other ways, in other elements of a list is the same finding.
type Finding struct {
	APIVersion string
	// Field is the one that was changed, without indices and keys. It is empty where none was.
	Field string
	// Cause is what the server said, without the values in it, or what it did with the object.
	Cause string
}

// Difference is a case that two servers answer differently.
type Difference struct {
	Case
	Findings  []Finding
	Want, Got Answer
}

// Tally is the comparison of two recordings of a resource.
type Tally struct {
	Cases int
	// Equal and Different are distinct findings: different if any case shows it.
	Equal, Different map[Finding]bool
	Differences      []Difference
}

// Share is the part of the findings that is equal.
func (t Tally) Share() float64 {
	if len(t.Equal)+len(t.Different) == 0 {
		return 1
	}
	return float64(len(t.Equal)) / float64(len(t.Equal)+len(t.Different))
}

// Compare compares what two servers have answered to the same cases. Cases that got was not asked are not compared.
func Compare(want Recording, got []Record) (Tally, error) {
	types := make([]reflect.Type, len(want.Objects))
	for i, object := range want.Objects {
		var err error
		if types[i], err = typeOf(object); err != nil {
			return Tally{}, err
		}
	}
	t := Tally{Equal: map[Finding]bool{}, Different: map[Finding]bool{}}
	answers := map[string]Answer{}
	for _, r := range got {
		answers[string(render(r.Case))] = r.Answer
	}
	for _, w := range want.Records {
		g, asked := answers[string(render(w.Case))]
		if !asked {
			continue
		}
		t.Cases++
		equal, different := compareAnswers(types[w.Doc], w, g)
		for _, f := range withVersion(want, w.Case, types[w.Doc], equal) {
			t.Equal[f] = true
		}
		if len(different) > 0 {
			d := Difference{w.Case, withVersion(want, w.Case, types[w.Doc], different), w.Answer, g}
			t.Differences = append(t.Differences, d)
			for _, f := range d.Findings {
				t.Different[f] = true
			}
		}
	}
	maps.DeleteFunc(t.Equal, func(f Finding, _ bool) bool { return t.Different[f] })
	return t, nil
}

// outcome is a finding of a case.
type outcome struct{ field, cause string }

func withVersion(r Recording, c Case, t reflect.Type, outcomes []outcome) []Finding {
	var found []Finding
	for _, o := range outcomes {
		found = append(found, Finding{text(r.Objects[c.Doc], "apiVersion"), cmp.Or(o.field, pattern(t, c.At)), o.cause})
	}
	return found
}

// compareAnswers compares two answers to a case. If one server takes the object and the other does not, what the real
// one said is different, and nothing else is: the other's words are not one more thing to be repaired.
func compareAnswers(t reflect.Type, w Record, got Answer) (equal, different []outcome) {
	wants, gots := outcomes(w.Answer), outcomes(got)
	alike := w.Accepted() == got.Accepted()
	for _, o := range wants {
		if slices.Contains(gots, o) {
			equal = append(equal, o)
		} else {
			different = append(different, o)
		}
	}
	if !alike {
		return equal, different
	}
	for _, o := range gots {
		if !slices.Contains(wants, o) {
			different = append(different, outcome{o.field, "not: " + o.cause})
		}
	}
	if len(different) == 0 && !slices.Equal(exact(w.Answer), exact(got)) {
		return nil, append(wants, outcome{cause: "order or values"})
	}
	e, d := compareObjects(t, w, got)
	return append(equal, e...), append(different, d...)
}

// compareObjects compares what came back of the object: every field of a whole one, what changed in a broken one.
func compareObjects(t reflect.Type, w Record, got Answer) (equal, different []outcome) {
	wants, gots := w.Changed, got.Changed
	if w.Answer.Object != nil {
		wants, gots = map[string]any{}, map[string]any{}
		leaves(w.Answer.Object, "", wants)
		leaves(got.Object, "", gots)
	}
	at := func(pointer string) outcome {
		if w.Via == Table {
			return outcome{cause: "table"}
		}
		return outcome{pattern(t, pointer), "value"}
	}
	for pointer, value := range wants {
		if is, found := gots[pointer]; found && bytes.Equal(render(value), render(is)) {
			equal = append(equal, at(pointer))
		} else {
			different = append(different, at(pointer))
		}
	}
	for pointer := range gots {
		if _, found := wants[pointer]; !found {
			different = append(different, at(pointer))
		}
	}
	return equal, different
}

// leaves are the values in an object that have no members. Who owns which field is one value.
func leaves(value any, at string, found map[string]any) {
	switch held := value.(type) {
	case map[string]any:
		for name, v := range held {
			if name == "managedFields" {
				found[below(at, name)] = v
				continue
			}
			leaves(v, below(at, name), found)
		}
		if len(held) > 0 {
			return
		}
	case []any:
		for i, v := range held {
			leaves(v, below(at, fmt.Sprint(i)), found)
		}
		if len(held) > 0 {
			return
		}
	}
	found[at] = value
}

// values are what messages repeat of an object, where it is no JSON.
var (
	values  = regexp.MustCompile(`(value: )("(\\.|[^"\\])*"|[^"\s:]+)`)
	indices = regexp.MustCompile(`\[[^\]]*\]`)
)

// outcomes are the findings in an answer's status, causes and warnings.
func outcomes(a Answer) []outcome {
	var found []outcome
	code := fmt.Sprintf("%d %s", a.Code, a.Reason)
	for _, c := range a.Causes {
		found = append(found, outcome{cause: fmt.Sprintf("%s %s %s: %s", code, c.Type, indices.ReplaceAllString(c.Field, "[]"),
			plain(c.Message))})
	}
	if len(a.Causes) == 0 {
		found = append(found, outcome{cause: strings.TrimSpace(code + " " + plain(a.Message))})
	}
	for _, w := range a.Warnings {
		found = append(found, outcome{cause: "warning: " + plain(w)})
	}
	return found
}

func plain(message string) string {
	message = withoutJSON(message)
	return indices.ReplaceAllString(values.ReplaceAllString(message, "$1…"), "[]")
}

// withoutJSON leaves out a list or an object that a message quotes.
func withoutJSON(message string) string {
	const mark = "value: "
	i := strings.Index(message, mark) + len(mark)
	if i < len(mark) || i == len(message) || !strings.ContainsRune("[{", rune(message[i])) {
		return message
	}
	var quoted json.RawMessage
	decoder := json.NewDecoder(strings.NewReader(message[i:]))
	if decoder.Decode(&quoted) != nil {
		return message
	}
	return message[:i] + "…" + message[i+int(decoder.InputOffset()):]
}

// exact is what outcomes leaves out: values, indices and order.
func exact(a Answer) []string {
	lines := []string{a.Message}
	for _, c := range a.Causes {
		lines = append(lines, c.Type+" "+c.Field+" "+c.Message)
	}
	return append(lines, a.Warnings...)
}

// Describe shows a difference: the change, and what both servers say, as lines to compare.
func (d Difference) Describe(documents Documents) string {
	var out strings.Builder
	object := documents.Objects[d.Doc]
	fmt.Fprintf(&out, "%s %s %s", d.Via, text(object, "apiVersion"), text(object, "metadata", "name"))
	if d.At != "" {
		fmt.Fprintf(&out, ": %s %s", d.Kind, d.At)
		if d.To != nil {
			fmt.Fprintf(&out, " = %s", d.To)
		}
	}
	for _, f := range d.Findings {
		fmt.Fprintf(&out, "\n  in %s: %s", f.Field, f.Cause)
	}
	want, got := lines(d.Want), lines(d.Got)
	for _, line := range want {
		if !slices.Contains(got, line) {
			fmt.Fprintf(&out, "\n  want %s", line)
		}
	}
	for _, line := range got {
		if !slices.Contains(want, line) {
			fmt.Fprintf(&out, "\n  got  %s", line)
		}
	}
	return out.String()
}

// lines are an answer, a thing to compare on each.
func lines(a Answer) []string {
	found := []string{strings.TrimSpace(fmt.Sprintf("%d %s %s", a.Code, a.Reason, a.Message))}
	for i, c := range a.Causes {
		found = append(found, fmt.Sprintf("%d. %s %s: %s", i+1, c.Type, c.Field, c.Message))
	}
	for _, w := range a.Warnings {
		found = append(found, "warning: "+w)
	}
	members := maps.Clone(a.Changed)
	if members == nil {
		members = map[string]any{}
		leaves(a.Object, "", members)
	}
	for _, at := range slices.Sorted(maps.Keys(members)) {
		found = append(found, fmt.Sprintf("%s = %s", at, render(members[at])))
	}
	return found
}
