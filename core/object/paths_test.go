package object_test

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/kx-apiserver/kx/core/object"
)

// FuzzPaths holds values that are found by one reading against those that are found one by one, for any bytes.
func FuzzPaths(f *testing.F) {
	for _, data := range []string{
		"", "{}", "null", "{", `{"a":`, `{"a":}{"b":1}`, `{"a":]{"b":1}}`, `{"a":{"a":},"b":{"c":1}},"b":2}`, `{"a":[1,{"c":2}],"b":3,"c":"x"}`,
		`{"a":{"b":[1,{"c":2}],"d":"x\"y"},"b":{"a":{"a":true},"c":1},"c":null}` + "\n", `{"a":1,"a":2,"b":{"b":1}}`, `{"b":1,"a":2}`,
		`{"a":{"b":{"b":1,"a":2},"c":3},"b":{"a":4}}`, `{"\u003c":{"a":1},"A":2,"\\":3,"a\"b":{"é":4}}`, `{"a":{"a":"\`, `{"a":{"b":1]],"b":2}`,
	} {
		f.Add([]byte(data), "a.b.c;a;b;a.b;;c")
		f.Add([]byte(data), "b;a.a;a.c;c.a;b.a.a;a.a")
		f.Add([]byte(data), "<.a;\\;a\"b.é;A;missing")
	}
	f.Fuzz(func(t *testing.T, data []byte, list string) {
		if len(list) > 200 || !utf8.ValidString(list) {
			return
		}
		var paths [][]string
		for path := range bytes.SplitSeq([]byte(list), []byte(";")) {
			var names []string
			for name := range bytes.SplitSeq(path, []byte(".")) {
				if len(path) > 0 {
					names = append(names, string(name))
				}
			}
			paths = append(paths, names)
		}
		for i, got := range object.NewPaths(paths).Lookup(data) {
			want, found := object.Lookup(data, paths[i]...)
			if found != (got != nil) || !bytes.Equal(got, want) {
				t.Errorf("%q of %q: %q, want %q, which is there: %t", paths[i], data, got, want, found)
			}
		}
	})
}

// BenchmarkPaths looks up what a table of five columns shows of a large object, at once and one by one.
func BenchmarkPaths(b *testing.B) {
	paths := [][]string{{"spec", "schedule"}, {"status", "phase"}, {"status", "ready"}, {"spec", "image"}, {"metadata", "creationTimestamp"}}
	text := strings.Repeat(`{"a":["some text",12,true]},`, 50)
	data := []byte(`{"apiVersion":"v1","kind":"A","metadata":{"annotations":{"a":[` + text + `0]},"creationTimestamp":"now","managedFields":[` + text +
		`0]},"spec":{"image":"i","more":[` + text + `0],"schedule":"s"},"status":{"phase":"p","ready":true}}` + "\n")
	b.Run("at-once", func(b *testing.B) {
		at := object.NewPaths(paths)
		b.ReportAllocs()
		for b.Loop() {
			at.Lookup(data)
		}
	})
	b.Run("one-by-one", func(b *testing.B) {
		for b.Loop() {
			for _, path := range paths {
				object.Lookup(data, path...)
			}
		}
	})
}
