package object_test

import (
	"bytes"
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/kx-apiserver/kx/core/object"
)

// sameAsLibrary compares the output and the error of WriteJSON with those of encoding/json.
func sameAsLibrary(t *testing.T, value any) {
	t.Helper()
	var got, want bytes.Buffer
	gotErr, wantErr := object.WriteJSON(&got, value), json.NewEncoder(&want).Encode(value)
	if (gotErr == nil) != (wantErr == nil) {
		t.Errorf("%#v: error %v, want %v", value, gotErr, wantErr)
	}
	if got.String() != want.String() {
		t.Errorf("%#v: %q, want %q", value, got.String(), want.String())
	}
}

// TestWriteJSON writes values that differ in how encoding/json escapes, orders and formats them.
func TestWriteJSON(t *testing.T) {
	deep := any("end")
	for range 2000 {
		deep = map[string]any{"list": []any{deep}, "after": true}
	}
	for _, value := range []any{
		nil, true, false, int64(0), int64(math.MinInt64), int64(math.MaxInt64), 3, int32(-4), uint8(5), json.Number("1e3"),
		0.0, math.Copysign(0, -1), 1.0, -2.5, 1e-6, 9.9e-7, 1e20, 1e21, 1e-9, math.MaxFloat64, math.SmallestNonzeroFloat64,
		math.NaN(), math.Inf(-1),
		"", "plain ~", "a\"b\\c/d", "<a href='x'>&amp;", "\x00\b\t\n\f\r\x1f\x7f", "é世\u2028\u2029😀", "bad\xffutf\xed\xa0\x80", "\ufffd",
		[]any(nil), []any{}, []any{nil}, []any{int64(1), "two", []any{3.5}}, map[string]any(nil), map[string]any{},
		map[string]any{"b": int64(1), "a": int64(2), "B": int64(3), "": int64(4), "aa": int64(5), "é": int64(6), "\xff": int64(7)},
		map[string]any{`k:{"name":"x"}`: map[string]any{".": map[string]any{}, "f:a": map[string]any{}}, "k:": nil},
		map[string]any{"m": map[string]any{"z": int64(1), "y": map[string]any{"x": "w"}}, "n": []any{map[string]any{"q": 1.5, "p": nil}}},
		[]string{"b", "<"}, map[string]string{"b": "1", "a": "2"}, []map[string]any{{"b": 1, "a": 2}},
		map[string]any{"bad": math.Inf(1)}, []any{make(chan int)},
		map[string]any{"large": strings.Repeat("x", 1<<17)}, deep,
	} {
		sameAsLibrary(t, value)
	}
}

// TestWriteJSONAllocations: an object of plain values costs nothing.
func TestWriteJSONAllocations(t *testing.T) {
	value := map[string]any{"spec": map[string]any{"list": []any{"a", int64(70000), true, nil}, "text": "plain"}, "kind": "Worker"}
	var out bytes.Buffer
	write := func() {
		out.Reset()
		if err := object.WriteJSON(&out, value); err != nil {
			t.Fatal(err)
		}
	}
	// A garbage collection empties the pool, and the race detector has it lose a quarter of what it gets: so a run in
	// which that happens is no measure.
	least := math.Inf(1)
	for range 200 {
		least = min(least, testing.AllocsPerRun(10, write))
	}
	if least > 0 {
		t.Errorf("%v allocations, want none", least)
	}
}

// FuzzWriteJSON writes what encoding/json reads.
func FuzzWriteJSON(f *testing.F) {
	for _, seed := range []string{`{"b":[1,2.5e-7,null],"a":{"<":"\u2028\ud800"}}`, `"\u0000\n"`, `[1e21,-0.0,{"":{}}]`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		var value any
		if json.Unmarshal(data, &value) == nil {
			sameAsLibrary(t, value)
		}
		sameAsLibrary(t, map[string]any{string(data): string(data)})
	})
}
