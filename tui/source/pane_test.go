package source

import (
	"os"
	"strings"
	"testing"

	"github.com/muesli/termenv"

	"github.com/kx-apiserver/kx/core/escape/escapetest"
	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/tui/keys"
	"github.com/kx-apiserver/kx/tui/screen/screentest"
	"github.com/kx-apiserver/kx/tui/theme"
)

const example = "package example\n\n// Commit is \x1b[31mred.\nfunc (s *store) Commit(ctx context.Context) error {\n\tif err := s.txn(ctx, \"a\\\"b\", 'c', `raw\nstring`); err != nil {\n" +
	"\t\treturn fmt.Errorf(\"at %d: %w\", 0x1f, err) /* in\n\tcomment */\n\t}\n\treturn nil // 日本語\n}\n\nvar x = 1\n"

func read(t testing.TB, text string) *File {
	t.Helper()
	f, err := Read(&v1alpha1.Source{Spec: v1alpha1.SourceSpec{Package: "store/etcd3", File: "store/etcd3/example.go", Text: text}})
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// TestRead: what is shown is the text, but for tabs and what would do something to a terminal.
func TestRead(t *testing.T) {
	f := read(t, example)
	want := strings.Split(strings.TrimSuffix(strings.ReplaceAll(strings.ReplaceAll(example, "\t", tab), "\x1b", "\uFFFD"), "\n"), "\n")
	if f.lineCount() != len(want) {
		t.Fatalf("%d lines, want %d", f.lineCount(), len(want))
	}
	for i, text := range want {
		if f.lines[i].text != text {
			t.Errorf("line %d: %q, want %q", i+1, f.lines[i].text, text)
		}
	}
	kinds := map[string]paint{}
	for _, l := range f.lines {
		for _, p := range l.pieces {
			kinds[strings.TrimSpace(p.text)] = p.paint
		}
	}
	for text, paint := range map[string]paint{
		"func": keyword, "Commit": function, "return": keyword, `"a\"b"`: literal, "'c'": literal, "`raw": literal, "string`": literal,
		"0x1f": number, "nil": number, "/* in": comment, "comment */": comment, "// 日本語": comment, "x": plain,
	} {
		if got, ok := kinds[text]; !ok || got != paint {
			t.Errorf("%s is painted as %d (%v), want %d", text, got, ok, paint)
		}
	}
	for n, want := range map[int]int{1: 1, 4: 4, 6: 4, 10: 4, 13: 13} {
		if got := f.function(n); got != want {
			t.Errorf("line %d is in the function at %d, want %d", n, got, want)
		}
	}
}

func FuzzRead(f *testing.F) {
	f.Add(example)
	f.Add("func (\"`'/*")
	f.Add(strings.Repeat("\"\\", 100))
	f.Add(escapetest.Any())
	f.Add(escapetest.Any())
	f.Fuzz(func(t *testing.T, text string) {
		file := read(t, text)
		for i, line := range file.lines {
			if escapetest.Find(line.text, "") != "" {
				t.Errorf("line %d is not clean: %q", i+1, line.text)
			}
		}
	})
}

func shown(t testing.TB) *Pane {
	p := NewPane(theme.Plain)
	p.SetSize(72, 14)
	p.Show(Place{File: "store/etcd3/example.go", Line: 5, Function: "etcd3.(*store).Commit", Upstream: "store.Commit", UpstreamFile: "apiserver/pkg/storage/etcd3/store.go"},
		read(t, example), []StepLine{{Line: 5, Step: 27}, {Line: 10, Step: 30}, {Line: 10, Step: 31}}, "")
	return p
}

func TestGolden(t *testing.T) {
	p := shown(t)
	screentest.GoldenPane(t, "line", p.Render(true))
	p.Handle(keys.Bottom)
	p.Handle(keys.Right)
	screentest.Shows(t, "bottom", p.Render(false), "=> 5 rr := s.txn(ctx,", "step 28", "* 10 rn nil // 日本語", "step 31", "> 13 1")
	p.Show(Place{File: "x.go", Line: 3}, nil, nil, "the server has no source of it")
	screentest.Shows(t, "none", p.Render(false), "here x.go:3", "upstream nothing of the same name", "the server has no source of it")
}

// TestOtherRound: a line that did not run after the shown one is dim, unless it ran for another step.
func TestOtherRound(t *testing.T) {
	look := theme.Plain()
	look.Dim = func(text string) string { return "dim:" + text }
	p := NewPane(func() theme.Theme { return look })
	p.SetSize(60, 14)
	const text = "package p\n\nfunc f() error {\n\tfor {\n\t\tif done() {\n\t\t\treturn nil\n\t\t}\n\t\twork()\n\t\twait()\n\t}\n}\n"
	p.Show(Place{File: "p/f.go", Line: 6}, read(t, text), []StepLine{{Line: 8, Step: 4}}, "")
	drawn := strings.Join(p.Render(true), "\n")
	if strings.Contains(drawn, "dim: *") || !strings.Contains(drawn, "dim:    9") {
		t.Errorf("drawn\n%s", drawn)
	}
}

func TestFind(t *testing.T) {
	p := shown(t)
	if p.Cursor() != 5 {
		t.Fatalf("the cursor is on line %d", p.Cursor())
	}
	if step, ok := p.Step(); !ok || step != 27 {
		t.Errorf("step %d, %v", step, ok)
	}
	for _, want := range []int{7, 10, 7} {
		if !p.Find("RETURN ") || p.Cursor() != want {
			t.Errorf("the cursor is on line %d, want %d", p.Cursor(), want)
		}
	}
	if p.Find("nowhere") {
		t.Error("found what is not there")
	}
}

func TestSizes(t *testing.T) {
	p := shown(t)
	screentest.PaneSizes(t, "source", func(w, h int) []string {
		p.SetSize(w, h)
		p.Handle(keys.Down)
		p.Handle(keys.Right)
		return p.Render(true)
	})
	empty := NewPane(theme.Plain)
	screentest.PaneSizes(t, "no source", func(w, h int) []string {
		empty.SetSize(w, h)
		empty.Handle(keys.Down)
		return empty.Render(false)
	})
}

func BenchmarkRead(b *testing.B) {
	text, err := os.ReadFile("../../store/etcd3/kv.go")
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		read(b, string(text))
	}
}

func BenchmarkLines(b *testing.B) {
	text, err := os.ReadFile("../../store/etcd3/kv.go")
	if err != nil {
		b.Fatal(err)
	}
	p := NewPane(func() theme.Theme { return theme.NewTheme(theme.Dark, termenv.TrueColor) })
	p.SetSize(85, 39)
	p.Show(Place{File: "kv.go", Line: 105}, read(b, string(text)), nil, "")
	for b.Loop() {
		p.Lines(true)
	}
}
