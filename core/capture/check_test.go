package capture

import (
	"fmt"
	"strings"
	"testing"
)

const head = `{"kind":"KxCapture","version":1}` + "\n"

// of is a capture of one journey with a status.
func of(status string) string {
	return head + `{"metadata":{"name":"a-1"},"status":{` + status + "}}\n"
}

// repeated is a list of n entries.
func repeated(entry string, n int) string { return "[" + strings.Repeat(entry+",", n-1) + entry + "]" }

// chain is a list of steps of which each called the next.
func chain(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `,{"parent":%d}`, i-1)
	}
	return "[" + b.String()[1:] + "]"
}

// labels are n labels of an object.
func labels(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `,"%d":""`, i)
	}
	return b.String()[1:]
}

func nested(n int) string { return strings.Repeat(`{"a":[`, n/2) + strings.Repeat(`]}`, n/2) }

// TestBounds refuses journeys that no server records, whose readers would count, add or follow what has no end.
func TestBounds(t *testing.T) {
	const longest = "9223372036854775807"
	for _, test := range []struct{ name, text, want string }{
		{"a time of a step", of(`"steps":[{"parent":-1},{"tookNanos":` + longest + `}]`),
			"line 2 of the capture: step 2 took " + longest + " nanoseconds: no request takes longer than a year"},
		{"the sum of times", of(`"steps":` + repeated(`{"tookNanos":31536000000000000}`, 1000)), "no request takes longer"},
		{"a start", of(`"steps":[{"startMicros":-` + longest + `}]`), "no request takes longer"},
		{"the time of the request", of(`"tookMicros":` + longest), "took " + longest + " microseconds: no request takes longer"},
		{"the time that it was held", of(`"heldMicros":9223372036854775`), "no request takes longer"},
		{"an intervention", of(`"interventions":[{"tookMicros":` + longest + `}]`), "no request takes longer"},
		{"a mark", of(`"marks":[{"afterMicros":` + longest + `}]`), "no request takes longer"},
		{"a delivery", of(`"deliveries":[{"afterMicros":-` + longest + `}]`), "no request takes longer"},
		{"an effect", of(`"effects":[{"afterMicros":` + longest + `}]`), "no request takes longer"},
		{"too large a number", of(`"tookMicros":9223372036854775808`), "line 2 of the capture: json: cannot unmarshal number"},
		{"a million steps", of(`"steps":` + repeated(`{}`, 1_000_000)), "line 2 of the capture: a list of the journey has 1000000 entries"},
		{"many events", of(`"deliveries":` + repeated(`{}`, 1_000_000)), "has 1000000 entries"},
		{"a list that is there twice", of(`"steps":` + repeated(`{}`, 1_000_000) + `,"steps":[]`), "has 1000000 entries"},
		{"attributes of steps that are there twice", of(`"steps":[{"attributes":` + repeated(`{}`, 1_000_000) + `}],"steps":[]`),
			"the steps of the journey have 1000000 values"},
		{"many attributes", of(`"steps":[{"attributes":` + repeated(`{}`, 1_000_000) + `}]`), "the steps of the journey have 1000000 values"},
		{"many values of a reason", of(`"steps":[{"reason":{"values":` + repeated(`{}`, 70_000) + `}}]`), "have 70000 values"},
		{"many sentences", of(`"sentences":` + repeated(`{}`, 1_000_000)), "has 1000000 entries"},
		{"many labels", head + `{"metadata":{"name":"a-1","labels":{` + labels(20_000) + `}}}`, "has 20000 entries"},
		{"many steps in a short line", of(`"steps":` + repeated(`{}`, 20_000)), "has 20000 entries"},
		{"steps that call each other", of(`"steps":` + chain(10_000)), "step 258 is called through more than 256 others"},
		{"nesting of the journey", of(`"steps":` + nested(20_000)), "exceeded max depth"},
		{"a gzip stream", "\x1f\x8b\x08\x00\x00", "compressed: unpack it with gunzip"},
		{"a line that is too long", head + strings.Repeat("x", LineMost+1), "line 2 of the capture: it has more than 16 MiB"},
		{"a line of a page that is too long", "<html>\n" + strings.Repeat("x", LineMost+1), "line 2 of the page: it has more than 16 MiB"},
		{"a long watch", of(`"tookMicros":2592000000000,"steps":` + repeated(`{"startMicros":2592000000000,"tookNanos":2592000000000000}`, 2000)),
			""},
	} {
		_, _, err := readAll(strings.NewReader(test.text))
		if (err == nil) != (test.want == "") || err != nil && (!strings.Contains(err.Error(), test.want) || len(err.Error()) > 200) {
			t.Errorf("%s: %v; want %q", test.name, err, test.want)
		}
	}
}

// TestRepairs reads what can be read: a step that its caller would begin after has none, and an object that is nested too deep is missing.
func TestRepairs(t *testing.T) {
	third := `{"parent":2147483647,"before":` + nested(9000) + `,"after":{"a":"` + strings.Repeat(`\"[{`, 1000) + `"}}`
	_, all, err := readAll(strings.NewReader(of(`"steps":[{"parent":-7},{"parent":1},` + third + `]`)))
	if err != nil {
		t.Fatal(err)
	}
	s := all[0].Status
	for i := range s.Steps {
		if s.Steps[i].Parent != -1 {
			t.Errorf("step %d was called by %d", i, s.Steps[i].Parent)
		}
	}
	if s.Steps[2].Before != nil || s.Steps[2].After == nil || s.Cut != 1 {
		t.Errorf("before %v, after %v, %d missing", s.Steps[2].Before, s.Steps[2].After, s.Cut)
	}
}

// TestSize counts what short lines become in memory.
func TestSize(t *testing.T) {
	_, all, err := readAll(strings.NewReader(of(`"steps":` + repeated(`{"attributes":[{},{},{},{}],"before":{"a":1}}`, 1000))))
	if err != nil {
		t.Fatal(err)
	}
	if got := Size(all[0]); got < 400_000 || got > 2_000_000 {
		t.Errorf("1000 steps take %d bytes", got)
	}
}
