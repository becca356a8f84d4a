package capturetest

import (
	"bytes"
	_ "embed"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kx-apiserver/kx/core/capture"
	"github.com/kx-apiserver/kx/core/escape/escapetest"
	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/core/steps"
)

// Recorded is a capture of a real server: an update, one that was refused over a conflict, and a patch that watchers
// were sent.
//
//go:embed recorded.kxtrace
var Recorded []byte

// IDs are the names of its journeys.
var IDs = []string{"642e7f-12", "642e7f-14", "patch"}

// hangs is the time after which a reader counts as hanging. No reader that ends comes near it, not even in parallel
// runs with the race detector.
const hangs = 5 * time.Minute

// Watch stops the process if the test still runs after hangs: a reader does, and a fuzzer has to keep the input.
func Watch(t testing.TB) {
	name := t.Name()
	watch := time.AfterFunc(hangs, func() { panic(name + ": a reader of a capture hangs") })
	t.Cleanup(func() { watch.Stop() })
}

// Numbers lists values at which arithmetic tends to fail.
var Numbers = []json.Number{
	"9223372036854775807", "-9223372036854775808", "9223372036854775", "-9223372036854775", "2147483647", "-2147483648",
	"31536000000000000",
	"31536000000000", "0", "-1", "1", "2", "5", "255", "65536", "1e3", "1e400", "-0", "0.5", "18446744073709551616",
}

// Texts mean something to a terminal, to Markdown, to HTML or to a drawing.
var Texts = func() (texts []string) {
	for _, t := range escapetest.Texts {
		texts = append(texts, t.Raw)
	}
	return append(texts,
		"<script>alert(1)</script>", "<img src=x onerror=alert(1)>", "--><b>", "]]><b>", "```", "~~~~\n# a", "| a | b |\n|---|---|",
		"[a](javascript:alert(1))",
		"![a](https://example.com/a.png)", "@somebody #7", "a\r\n\r\n    b", "%%{init: {}}%%", "A->>B: x;end",
		"{{.}}{a}{error:quote}", `\`, "", " ",
		strings.Repeat("x", 1<<16), strings.Repeat("界", 300), "\ufdfd\U0001f468\u200d\U0001f469", strings.Repeat("a ",
			5000), strings.Repeat("[", 500),
		"filter", "etcd", steps.EtcdTxn.String(), steps.StoreTryUpdate.String(), steps.HandlerDecode.String(),
		"Held", "Running", "Complete", "Objects", "install",
		"DELETE", "delete ",
	)
}()

// changesMost bounds the changes of a recipe.
const changesMost = 24

// Changed is the recorded capture as a recipe changes it.
func Changed(recipe []byte) []byte {
	var lines []any
	d := json.NewDecoder(bytes.NewReader(Recorded))
	d.UseNumber()
	for d.More() {
		var v any
		if err := d.Decode(&v); err != nil {
			panic(err)
		}
		lines = append(lines, v)
	}
	header, journeys := lines[0], any(lines[1:])
	all, _ := places(&journeys)
	for r := (&recipeReader{left: recipe[:min(len(recipe), 4*changesMost)]}); len(r.left) >= 4; {
		at := all[(int(r.next())<<8|int(r.next()))%len(all)]
		at.set(r.change(at.value, all))
		after, size := places(&journeys)
		if size > sizeMost {
			at.set(at.value)
			continue
		}
		all = after
	}
	var b bytes.Buffer
	w := json.NewEncoder(&b)
	w.SetEscapeHTML(false)
	list, _ := journeys.([]any)
	for _, v := range append([]any{header}, list...) {
		if err := w.Encode(v); err != nil {
			panic(err)
		}
	}
	return b.Bytes()
}

// Read returns the journeys of a capture up to the first that its reader refuses.
func Read(data []byte) (all []*v1alpha1.Journey) {
	r, err := capture.NewReader(bytes.NewReader(data))
	for err == nil {
		var j *v1alpha1.Journey
		if j, err = r.Next(); err == nil {
			all = append(all, j)
		}
	}
	return all
}

// recipeReader reads a recipe.
type recipeReader struct{ left []byte }

func (r *recipeReader) next() (b byte) {
	if len(r.left) > 0 {
		b, r.left = r.left[0], r.left[1:]
	}
	return b
}

// place is a value in a document, and how to put another there.
type place struct {
	value any
	set   func(any)
}

// sizeMost is the approximate size of the largest captures.
const sizeMost = 1 << 20

// walk lists the values of a document.
type walk struct {
	all  []place
	size int
}

// places lists the values of a document, the outermost first, and says about how many bytes it has.
func places(document *any) ([]place, int) {
	w := &walk{}
	w.add(*document, func(v any) { *document = v })
	return w.all, w.size
}

func (w *walk) add(v any, set func(any)) {
	if w.size++; w.size > sizeMost {
		return // what is in several places may be too much to list
	}
	w.all = append(w.all, place{v, set})
	switch v := v.(type) {
	case string:
		w.size += len(v)
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			w.size += len(name)
			w.add(v[name], func(part any) { v[name] = part })
		}
	case []any:
		for i := range v {
			w.add(v[i], func(part any) { v[i] = part })
		}
	}
}

// clone copies a value, so that it does not become a part of itself.
func clone(v any) any {
	switch v := v.(type) {
	case map[string]any:
		other := make(map[string]any, len(v))
		for name, part := range v {
			other[name] = clone(part)
		}
		return other
	case []any:
		other := make([]any, len(v))
		for i := range v {
			other[i] = clone(v[i])
		}
		return other
	}
	return v
}

// longMost bounds how long a list becomes.
const longMost = 20_000

// change applies the recipe to a value.
func (r *recipeReader) change(v any, all []place) any {
	how, which := r.next(), int(r.next())
	switch how % 16 {
	case 0:
		return nil
	case 1:
		return clone(all[which%len(all)].value)
	case 2:
		for range 1 + which*2 {
			v = []any{v}
		}
		return v
	case 3:
		for range 1 + which*2 {
			v = map[string]any{"a": v}
		}
		return v
	}
	switch v := v.(type) {
	case json.Number:
		return Numbers[which%len(Numbers)]
	case string:
		if how%2 == 0 {
			return v + Texts[which%len(Texts)]
		}
		return Texts[which%len(Texts)]
	case []any:
		return r.list(v, how, which)
	case map[string]any:
		return r.object(v, how, which)
	case bool:
		return !v
	}
	return Numbers[which%len(Numbers)]
}

func (r *recipeReader) list(v []any, how byte, which int) any {
	if len(v) == 0 {
		return []any{map[string]any{"step": json.Number("1")}}
	}
	i := which % len(v)
	switch how % 4 {
	case 0:
		return slices.Delete(slices.Clone(v), i, i+1)
	case 1:
		return slices.Insert(slices.Clone(v), i, v[i])
	case 2:
		long := v
		for len(long)+len(v) < min(len(v)<<(which%12), longMost) {
			long = append(long[:len(long):len(long)], v...)
		}
		return long
	}
	other := slices.Clone(v)
	slices.Reverse(other)
	return other
}

func (r *recipeReader) object(v map[string]any, how byte, which int) any {
	names := slices.Sorted(maps.Keys(v))
	if len(names) == 0 {
		return v
	}
	name, other := names[which%len(names)], maps.Clone(v)
	switch how % 3 {
	case 0:
		delete(other, name)
	case 1:
		other[Texts[which%len(Texts)]] = v[name]
	default:
		for i := range 10 * which {
			other[fmt.Sprint(name, i)] = v[name]
		}
	}
	return other
}

// Seeds are recipes that do each kind of change, a few at a time, to places all over the capture.
func Seeds() (recipes [][]byte) {
	for i := range byte(48) {
		recipe := []byte{}
		for k := range 1 + i%3 {
			recipe = append(recipe, i*5+k*83, i*37+k*11, i%16, i*23+k*7)
		}
		recipes = append(recipes, recipe)
	}
	return recipes
}
