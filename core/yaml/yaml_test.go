package yaml

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	sigsyaml "sigs.k8s.io/yaml"
)

// long is an object of 10 KB, with lines.
func long(t testing.TB) []byte {
	data, err := json.Marshal(map[string]any{"kind": "ConfigMap", "data": map[string]any{"d": strings.Repeat("a line: with <text> that is not too short\n", 240)}})
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestAllocations: the library makes 2,000 for a large object, so a long list takes the processor for garbage.
func TestAllocations(t *testing.T) {
	data, out := long(t), []byte(nil)
	allocations := testing.AllocsPerRun(10, func() {
		var err error
		if out, err = AppendJSON(out[:0], data); err != nil {
			t.Fatal(err)
		}
	})
	if allocations > 50 { // at most 10, and more with the race detector
		t.Errorf("%v allocations were made", allocations)
	}
}

func BenchmarkFromJSON(b *testing.B) {
	data := long(b)
	for _, way := range []struct {
		name string
		of   func([]byte) ([]byte, error)
	}{{"own", FromJSON}, {"library", sigsyaml.JSONToYAML}} {
		b.Run(way.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := way.of(data); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// same compares what the writer makes of a document with what the library does, and says whether the writer made it itself.
func same(t testing.TB, data []byte) (own bool) {
	t.Helper()
	want, wantErr := sigsyaml.JSONToYAML(data)
	w := &writer{}
	got, err := w.append([]byte("before\n"), data)
	if errors.Is(err, errRare) {
		return false
	}
	if err != nil || wantErr != nil {
		t.Fatalf("%s: error %v, want %v", data, err, wantErr)
	}
	if !bytes.Equal(got, append([]byte("before\n"), want...)) && !byChance(data, want) {
		t.Fatalf("%q:\ngot  %q\nwant %q", data, bytes.TrimPrefix(got, []byte("before\n")), want)
	}
	return true
}

// byChance says whether the library makes several documents of one, because it takes the fields of objects in any order and its
// order of keys has circles.
func byChance(data, first []byte) bool {
	for range 50 {
		if again, err := sigsyaml.JSONToYAML(data); err != nil || !bytes.Equal(again, first) {
			return true
		}
	}
	return false
}

// interesting are pieces of texts: what YAML reads as something else than text, alone, in front, inside, or at the end.
var interesting = strings.Split("|a|word|A|é|漢|😀|\U0010FFFF|\u00a0|\u0080|\u0085|\u2028|\ufeff|\ufffd|\x7f| |  |\n|\n\n|\t|\r|\r\n|\x00|\x1b|\b|"+
	`"|'|\|/|<|>|&|*|!|@|`+"`"+`|#| #|:|: |-|- |--- |---|...|?|? |,|[|]|{|}|%|=|~|null|Null|true|yes|y|Y|No|off|<<|.inf|-.INF|.nan|.5|`+
	"0|1|01|0x1F|0b11|-0b11|0b-1|0o7|1_000|1e3|1E+3|+1|-1|1.5|-.5|1:30|1:30:59|+1:5.3|12:|2026-01-02|2026-1-2T3:4:5Z|2026-01-02 03:04:05|"+
	"2026-01-02T03:04:05,5+01:00|2026-01-02T|18446744073709551615|18446744073709551616|9223372036854775808|"+
	"long words that are wrapped behind the column eighty, if there is a space, |"+strings.Repeat("x", 79)+"|"+strings.Repeat("x", 81), "|")

func randomText(r *rand.Rand) string {
	var b strings.Builder
	for range r.IntN(4) + r.IntN(2)*r.IntN(20) {
		b.WriteString(interesting[r.IntN(len(interesting))])
	}
	return b.String()
}

func randomKey(r *rand.Rand) string {
	if r.IntN(8) > 0 {
		const letters = `abzAZ0019.-_/:~ x"\\`
		key := make([]byte, r.IntN(6))
		for i := range key {
			key[i] = letters[r.IntN(len(letters))]
		}
		return string(key)
	}
	return randomText(r)
}

func randomValue(r *rand.Rand, depth int) any {
	switch kind := r.IntN(10); {
	case kind == 0:
		numbers := []string{"0", "-0", "-0.0", "1", "-5", "1.5", "1e3", "1E-7", "123456789012345678901234567890", "1e400", "0.1", "1e21", "-9223372036854775808", "18446744073709551615", "1.0"}
		return json.Number(numbers[r.IntN(len(numbers))])
	case kind == 1:
		return []any{nil, true, false}[r.IntN(3)]
	case kind < 4 && depth > 0:
		list := make([]any, r.IntN(4))
		for i := range list {
			list[i] = randomValue(r, depth-1)
		}
		return list
	case kind < 7 && depth > 0:
		object := map[string]any{}
		for range r.IntN(5) {
			object[randomKey(r)] = randomValue(r, depth-1)
		}
		return object
	}
	return randomText(r)
}

// TestAsTheLibrary compares documents made of what is special in YAML.
func TestAsTheLibrary(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	own, documents := 0, 20_000
	if testing.Short() {
		documents = 2_000
	}
	for range documents {
		data, err := json.Marshal(map[string]any{randomKey(r): randomValue(r, 6), "k": randomText(r)})
		if err != nil {
			t.Fatal(err)
		}
		if same(t, data) {
			own++
		}
	}
	if own < documents/3 {
		t.Errorf("the writer made %d of %d documents", own, documents)
	}
	for _, text := range interesting {
		for _, other := range interesting {
			data, _ := json.Marshal(map[string]any{"a": text + other, "b": []string{other + text}})
			same(t, data)
		}
	}
}

// TestObjects compares the objects that other tests ask servers for, and those that the screens begin with.
func TestObjects(t *testing.T) {
	found, left := 0, 0
	check := func(data []byte) {
		if found++; !same(t, data) {
			left++
		}
	}
	must := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	must(filepath.WalkDir("../../server/testdata", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".txt" {
			return err
		}
		text, err := os.ReadFile(path)
		for line := range bytes.Lines(text) {
			if line = bytes.TrimSpace(line); bytes.HasPrefix(line, []byte(`{"`)) && json.Valid(line) {
				check(line)
			}
		}
		return err
	}))
	samples, err := os.ReadFile("../request/sample_builtin.yaml")
	must(err)
	for sample := range bytes.SplitSeq(samples, []byte("\n---\n")) {
		data, err := sigsyaml.YAMLToJSON(sample)
		must(err)
		check(data)
	}
	// Some requests have a field twice.
	if found < 400 || left > found/20 {
		t.Errorf("%d objects were found, of which %d were left to the library", found, left)
	}
}

func FuzzFromJSON(f *testing.F) {
	r := rand.New(rand.NewPCG(3, 4))
	for range 200 {
		data, _ := json.Marshal(map[string]any{"a": randomValue(r, 4)})
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if json.Valid(data) {
			same(t, data)
		}
	})
}
