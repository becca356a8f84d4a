package journey

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kx-apiserver/kx/core/blame"
	"github.com/kx-apiserver/kx/core/escape/escapetest"
	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
)

func object(text string) *runtime.RawExtension { return &runtime.RawExtension{Raw: []byte(text)} }

// journey is a write whose object changes on its way, told by somebody who means no good to the terminal.
func journey() *v1alpha1.Journey {
	j := &v1alpha1.Journey{Spec: v1alpha1.JourneySpec{Method: "PUT", URI: "/apis/x\x1b[2J", User: "al\nice"}}
	j.Name = "abc-1"
	j.Status = v1alpha1.JourneyStatus{Phase: v1alpha1.JourneyComplete, TookMicros: 1500, Code: 409, Bytes: 20, Cut: 2, Steps: []v1alpha1.Step{
		{ID: "filter.a", Layer: "filter", Title: "first", Parent: -1, TookNanos: 1000},
		{ID: "filter.b", Layer: "filter", Title: "second", Parent: -1, TookNanos: 2000},
		{ID: "handler.update", Layer: "handler", Title: "update", Parent: -1, TookNanos: 1_400_000, Error: "con\x1bflict"},
		{ID: "handler.decode", Layer: "handler", Title: "decode", Parent: 2, TookNanos: 5000, After: object(`{"spec":{"replicas":1,"list":[{"a":"x"}]}}`), Function: "f", File: "f.go", Line: 3},
		{ID: "handler.mutate", Layer: "handler", Title: "admit", Parent: 2, TookNanos: 6000, Why: "two of \x07 them",
			Before: object(`{"spec":{"replicas":1,"list":[{"a":"x"}]}}`), After: object(`{"spec":{"replicas":2,"list":[{"a":"x"}]},"metadata":{"labels":{"a.b/c":"d"}}}`)},
		{ID: "rest.update", Layer: "rest", Title: "REST", Parent: 2, TookNanos: 900_000,
			Before: object(`{"spec":{"replicas":2}}`), After: object(`{"spec":{"replicas":3}}`)},
		{ID: "store.before-update", Layer: "store", Title: "BeforeUpdate", Parent: 5, TookNanos: 800,
			Before: object(`{"spec":{"replicas":2}}`), After: object(`{"spec":{"replicas":3}}`)},
		{ID: "etcd.txn", Layer: "etcd", Title: "KV.Txn", Subject: "/registry/x", Parent: 5, TookNanos: -1, Error: "lost"},
		{ID: "odd", Layer: "etcd", Title: "a step before its parent", Parent: 99, Before: object(`{`), After: object(`{}`)},
	}, Marks: []v1alpha1.Mark{{ID: "cacher.dispatch", Layer: "cacher", Title: "the event goes", Function: "give", Revision: 7, AfterMicros: 1900}},
		Interventions: []v1alpha1.Intervention{{Kind: "Delayed", Step: 7, Message: "held \x1bback"}},
		Deliveries:    []v1alpha1.Delivery{{Watcher: "w", User: "bob", UserAgent: "kubectl", Type: "MODIFIED", Revision: 7, AfterMicros: 2000}}}
	return j
}

func TestGolden(t *testing.T) {
	for name, write := range map[string]func(*bytes.Buffer){
		"tree":     func(b *bytes.Buffer) { Tree(b, journey(), nil, Plain) },
		"objects":  func(b *bytes.Buffer) { Objects(b, journey(), nil, Plain, 0) },
		"wide":     func(b *bytes.Buffer) { Objects(b, journey(), nil, Plain, 200) },
		"brief":    func(b *bytes.Buffer) { Brief(b, journey(), Plain) },
		"coloured": func(b *bytes.Buffer) { Objects(b, journey(), nil, Coloured, 0) },
	} {
		var b bytes.Buffer
		write(&b)
		golden(t, name, b.Bytes())
		if name != "coloured" && escapetest.Find(b.String(), "\n") != "" {
			t.Errorf("%s: what a journey says reaches the terminal as it is: %q", name, b.String())
		}
	}
}

// TestSource shows the lines around a step's, within its function.
func TestSource(t *testing.T) {
	text := "package a\n\nfunc before() {}\n\n// Get gets.\nfunc (s *store) Get(ctx context.Context) (err error) {\n\tctx, step := trace.Start(ctx, trace.A, \"\x1b\")\n" +
		"\tif true {\n\t\treturn nil\n\t}\n\treturn nil\n}\n\nfunc after() {}\n"
	files := func(file string) (string, error) {
		if file != "a/b.go" {
			return "", errors.New("there is no \a file")
		}
		return text, nil
	}
	j := &v1alpha1.Journey{Status: v1alpha1.JourneyStatus{Phase: v1alpha1.JourneyComplete, Code: 200, Steps: []v1alpha1.Step{
		{ID: "store.get", Layer: "store", Title: "Store.Get", Parent: -1, Function: "a.(*store).Get", File: "a/b.go", Line: 7},
		{ID: "etcd3.get", Layer: "etcd3", Title: "get", Parent: 0, Function: "a.(*store).Get", File: "a/b.go", Line: 11},
		{ID: "etcd.get", Layer: "etcd", Title: "KV.Get", Parent: 1, Function: "a.x", File: "a/c.go", Line: 1},
		{ID: "odd", Layer: "etcd", Title: "behind the end", Parent: 1, Function: "a.x", File: "a/b.go", Line: 99},
	}}}
	var b bytes.Buffer
	Source(&b, j, files, Plain)
	golden(t, "source", b.Bytes())

	j.Status.Steps = j.Status.Steps[:1]
	if err := Fits(j, files); err != nil {
		t.Errorf("what fits is refused: %v", err)
	}
	for _, other := range []v1alpha1.Step{
		{ID: "a", Function: "a.(*store).Get", File: "a/b.go", Line: 8}, {ID: "b", Function: "a.(*store).List", File: "a/b.go", Line: 7},
		{ID: "c", Function: "a.(*store).Get", File: "a/c.go", Line: 7}, {ID: "d", Function: "a.(*store).Get", File: "a/b.go", Line: 700},
		{ID: "e", Function: "a.(*store).Get", File: "a/b.go", Line: 7, Reason: &v1alpha1.Reason{Kind: "key-moved", File: "a/b.go", Line: 9}},
		{ID: "f", Function: "a.(*store).Get", File: "a/b.go", Line: 7, Reason: &v1alpha1.Reason{Kind: "key-moved", File: "a/b.go", Line: 99}},
	} {
		j.Status.Steps[0] = other
		if Fits(j, files) == nil {
			t.Errorf("%+v fits", other)
		}
	}
}

// TestBody returns the function around a line, or the variable, and not the one before or after.
func TestBody(t *testing.T) {
	const text = "package a\n\nvar moved = trace.Because(\n\t\"key-moved\",\n)\n\nfunc before() {\n}\n\n// keep keeps.\nvar keep = with(func() {\n" +
		"\tstep.Why(keyMoved)\n})\n\n// After is the last.\nfunc after(\n\tstep *trace.Step,\n) {\n\twork()\n}\n"
	for line, want := range map[int]string{4: "moved", 8: "before", 11: "keep", 12: "keep", 13: "keep", 17: "after", 19: "after"} {
		first, lines := Body(text, line)
		body := strings.Join(lines, "\n")
		for _, name := range []string{"moved =", "before(", "keep =", "after("} {
			if is := strings.HasPrefix(name, want); strings.Contains(body, name) != is {
				t.Errorf("line %d is in %s, shown from line %d on\n%s", line, want, first, body)
			}
		}
	}
	given := &v1alpha1.Journey{Status: v1alpha1.JourneyStatus{Steps: []v1alpha1.Step{{ID: "a", Function: "a.f", File: "a.go", Line: 1,
		Reason: &v1alpha1.Reason{Kind: "key-moved", File: "b.go", Line: 12}}}}}
	files := func(file string) (string, error) {
		return map[string]string{"a.go": "trace.Start()", "b.go": text}[file], nil
	}
	if err := Fits(given, files); err != nil {
		t.Error(err)
	}
}

// golden compares text with a file under testdata.
func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	file := filepath.Join("testdata", name+".txt")
	if os.Getenv("KX_REWRITE") != "" {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("%s (%v), rewrite it with KX_REWRITE=yes:\n%s", file, err, got)
	}
}

func TestBlame(t *testing.T) {
	j := journey()
	j.Status.Steps = j.Status.Steps[:8]
	changes, err := blame.FindChanges(j, "spec.replicas")
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	Blame(&b, j, "spec.replicas", changes, Plain)
	Blame(&b, j, "spec.\x1bnone", nil, Plain)
	for _, want := range []string{"nothing → 1  the client", "1 → 2  mutating admission", "handler.mutate", "two of \uFFFD them", "no step changed spec.\uFFFDnone"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("%q is not in\n%s", want, &b)
		}
	}
}

func TestPaintFor(t *testing.T) {
	file, err := os.Create(filepath.Join(t.TempDir(), "pipe"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if PaintFor(file) != Plain || PaintFor(&bytes.Buffer{}) != Plain {
		t.Error("what is no terminal gets colours")
	}
}
