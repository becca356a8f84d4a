package diff

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/kx-apiserver/kx/core/escape/escapetest"
)

func text(lines []Line) string {
	var b strings.Builder
	for _, l := range lines {
		b.WriteString(strings.TrimRight(string(l.Mark)+" "+strings.Repeat("  ", l.Depth)+l.Text, " ") + "\n")
	}
	return b.String()
}

func TestObjects(t *testing.T) {
	for _, test := range []struct {
		name, before, after string
		all                 bool
		changed             int
		want                string
	}{
		{"scalars", `{"a":1,"b":"x","c":null}`, `{"a":2,"b":"x","c":null}`, false, 1, "- a: 1\n+ a: 2\n  b: x\n  c: null\n"},
		{"came and went", `{"a":1}`, `{"b":{"c":[1,{}],"d":[]}}`, false, 2, "- a: 1\n+ b:\n+   c:\n+     - 1\n+     - {}\n+   d: []\n"},
		{"the same is counted", `{"m":{"a":1,"b":2},"x":1}`, `{"m":{"a":1,"b":2},"x":2}`, false, 1, "  m: … 2 lines the same\n- x: 1\n+ x: 2\n"},
		{"or shown", `{"m":{"a":1,"b":2},"x":1}`, `{"m":{"a":1,"b":2},"x":2}`, true, 1, "  m:\n    a: 1\n    b: 2\n- x: 1\n+ x: 2\n"},
		{"all the same", `{"a":{"b":1}}`, `{"a":{"b":1}}`, false, 0, "  … 2 lines the same\n"},
		{"an item in the middle", `{"l":[1,2,3]}`, `{"l":[1,9,2,3]}`, false, 1, "  l:\n    - 1\n+   - 9\n    - 2\n    - 3\n"},
		{"an item less", `{"l":[1,2,3]}`, `{"l":[1,3]}`, false, 1, "  l:\n    - 1\n-   - 2\n    - 3\n"},
		{"in an item", `{"l":[{"n":"a","v":1}]}`, `{"l":[{"n":"a","v":2}]}`, false, 1, "  l:\n    -\n      n: a\n-     v: 1\n+     v: 2\n"},
		{"another kind", `{"a":[1]}`, `{"a":{"b":1}}`, false, 1, "- a:\n-   - 1\n+ a:\n+   b: 1\n"},
		{"strings that look other", `{"a":"1","b":"true","c":""}`, `{"a":"1","b":"x: y","c":" "}`, false, 2, "  a: \"1\"\n- b: \"true\"\n+ b: \"x: y\"\n- c: \"\"\n+ c: \" \"\n"},
		{"large numbers", `{"a":12345678901234567890}`, `{"a":12345678901234567891}`, false, 1, "- a: 12345678901234567890\n+ a: 12345678901234567891\n"},
		{"nothing to escape", `{"a":"\u001b[31m"}`, `{"a":"b"}`, false, 1, "- a: \uFFFD[31m\n+ a: b\n"},
	} {
		lines, changed, err := Objects([]byte(test.before), []byte(test.after), test.all)
		if err != nil || changed != test.changed || text(lines) != test.want {
			t.Errorf("%s: %v, %d changed\n%swant %d\n%s", test.name, err, changed, text(lines), test.changed, test.want)
		}
	}
}

// TestPaths says where each line that changed is, and folds what is not to be written out.
func TestPaths(t *testing.T) {
	lines, changed, err := Compare([]byte(`{"a":1,"l":[1,2,{"x":1}],"m":[1]}`), []byte(`{"b":{"c":true},"l":[1,2,{"x":2}],"m":[1,2]}`),
		Options{Fold: func(path []string) bool { return len(path) == 1 && path[0] == "m" }})
	if err != nil || changed != 4 {
		t.Fatalf("%d changed, %v", changed, err)
	}
	var got []string
	for _, l := range lines {
		if l.Mark != ' ' {
			got = append(got, string(l.Mark)+strings.Join(l.Path, "/")+" "+l.Text)
		}
	}
	want := "-a a: 1|+b b:|+b/c c: true|-l/2/x x: 1|+l/2/x x: 2|-m m: … 1 lines|+m m: … 2 lines"
	if strings.Join(got, "|") != want {
		t.Errorf("%s\nwant %s", strings.Join(got, "|"), want)
	}
}

func TestUnreadable(t *testing.T) {
	if _, _, err := Objects([]byte(`{`), []byte(`{}`), false); err == nil || !strings.Contains(err.Error(), "before") {
		t.Errorf("%v", err)
	}
	if _, _, err := Objects([]byte(`{}`), []byte(`{} {}`), false); err == nil || !strings.Contains(err.Error(), "after") {
		t.Errorf("%v", err)
	}
}

func TestBounded(t *testing.T) {
	many, err := json.Marshal(make([]int, 2*diffMost))
	if err != nil {
		t.Fatal(err)
	}
	lines, _, err := Objects(many, many, true)
	if err != nil || len(lines) != diffMost+1 || !strings.Contains(lines[diffMost].Text, "cut") {
		t.Errorf("%d lines, %v", len(lines), err)
	}
}

func FuzzObjects(f *testing.F) {
	f.Add([]byte(`{"a":[1,{"b":null}]}`), []byte(`{"a":[{"b":2},1]}`))
	f.Fuzz(func(t *testing.T, before, after []byte) {
		lines, changed, err := Objects(before, after, true)
		if err != nil {
			return
		}
		marked := false
		for _, l := range lines {
			marked = marked || l.Mark != ' '
			if escapetest.Find(l.Text, "") != "" {
				t.Errorf("a line is not clean: %q", l.Text)
			}
		}
		if marked != (changed > 0) {
			t.Errorf("%d changed, marked: %v", changed, marked)
		}
	})
}
