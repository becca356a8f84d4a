package store_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/kx-apiserver/kx/store"
)

// TestCompiledSelectors compares compiled selectors with those that they were made of, on random terms and objects.
func TestCompiledSelectors(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	name := func() string { return fmt.Sprintf("k%d", r.IntN(4)) }
	value := func() string { return []string{"", "a", "b", "1", "2", "3", "007", "10"}[r.IntN(8)] }
	number := func() string { return fmt.Sprint(r.IntN(6)) }
	label := []func() string{
		func() string { return name() + "=" + value() }, func() string { return name() + "!=" + value() },
		func() string { return name() + " in (" + value() + "," + value() + "," + value() + ",a)" },
		func() string { return name() + " notin (" + value() + "," + value() + ")" },
		name, func() string { return "!" + name() },
		func() string { return name() + ">" + number() }, func() string { return name() + "<" + number() },
	}
	field := label[:2]
	terms := func(of []func() string, n int) string {
		var all []string
		for range n {
			all = append(all, of[r.IntN(len(of))]())
		}
		return strings.Join(all, ",")
	}
	selected := 0
	for range 3000 {
		kinds, n := label, 1+r.IntN(14)
		if r.IntN(2) == 0 { // terms that can hold at once
			kinds = []func() string{label[1], label[3], label[2], label[7]}
		}
		l, err := labels.Parse(terms(kinds, n))
		if err != nil {
			t.Fatal(err)
		}
		f, err := fields.ParseSelector(terms(field, n))
		if r.IntN(2) == 0 {
			f, err = fields.ParseSelector(terms(field[1:], n))
		}
		if err != nil {
			t.Fatal(err)
		}
		compiledLabels, compiledFields := store.CompileLabels(l), store.CompileFields(f)
		if compiledLabels.String() != l.String() || compiledFields.String() != f.String() {
			t.Errorf("compiling changed the text of %s, %s", l, f)
		}
		for range 30 {
			labelSet, fieldSet := labels.Set{}, fields.Set{}
			for i := range 4 {
				if key := fmt.Sprintf("k%d", i); r.IntN(5) > 0 {
					labelSet[key], fieldSet[key] = value(), value()
				}
			}
			want := l.Matches(labelSet)
			if compiledLabels.Matches(labelSet) != want || compiledLabels.DeepCopySelector().Matches(labelSet) != want {
				t.Errorf("%s of %v: want %v", l, labelSet, want)
			}
			if want {
				selected++
			}
			if want := f.Matches(fieldSet); compiledFields.Matches(fieldSet) != want || compiledFields.DeepCopySelector().Matches(fieldSet) != want {
				t.Errorf("%s of %v: want %v", f, fieldSet, want)
			}
		}
	}
	if selected < 1000 {
		t.Errorf("only %d objects were selected", selected)
	}
	if l := labels.Nothing(); store.CompileLabels(l).Matches(labels.Set{}) || store.CompileFields(fields.Nothing()).Matches(fields.Set{}) {
		t.Error("nothing selects something")
	}
}

// TestFewTermsStay: a usual selector is not compiled.
func TestFewTermsStay(t *testing.T) {
	few := labels.SelectorFromSet(labels.Set{"a": "b"})
	if got, want := fmt.Sprintf("%T", store.CompileLabels(few)), fmt.Sprintf("%T", few); got != want {
		t.Errorf("it is a %s, was a %s", got, want)
	}
}

// asked counts how often labels and fields are looked for.
type asked struct{ looks int }

func (a *asked) Has(string) bool              { a.looks++; return true }
func (a *asked) Get(string) string            { a.looks++; return "x" }
func (a *asked) Lookup(string) (string, bool) { a.looks++; return "x", true }

// many is a selector of n terms with an operator, about one label or field.
func many(n int, operator string) string {
	terms := make([]string, n)
	for i := range terms {
		terms[i] = fmt.Sprintf("k%sv%d", operator, i)
	}
	return strings.Join(terms, ",")
}

// TestManyTermsCostOneLook: an object is looked at once for each label that a selector names, not for each term.
func TestManyTermsCostOneLook(t *testing.T) {
	l, err := labels.Parse(many(1000, "!="))
	if err != nil {
		t.Fatal(err)
	}
	f, err := fields.ParseSelector(many(1000, "!="))
	if err != nil {
		t.Fatal(err)
	}
	var a asked
	if !store.CompileLabels(l).Matches(&a) || a.looks != 1 {
		t.Errorf("%d looks at labels", a.looks)
	}
	a = asked{}
	if !store.CompileFields(f).Matches(&a) || a.looks != 1 {
		t.Errorf("%d looks at fields", a.looks)
	}
}

// BenchmarkSelectors matches an object with usual selectors, and with those of many terms.
func BenchmarkSelectors(b *testing.B) {
	in := func(n int) string {
		return "k in (" + strings.ReplaceAll(strings.ReplaceAll(many(n, "="), "k=", ""), "=", "") + ")"
	}
	object := labels.Set{"app": "web", "tier": "front", "k": "none"}
	for _, bb := range []struct{ name, text string }{
		{"one", "app=web"}, {"three", "app=web,tier in (front,back),k!=v"}, {"notequals-10000", many(10_000, "!=")}, {"in-10000", in(10_000)},
	} {
		l, err := labels.Parse(bb.text)
		if err != nil {
			b.Fatal(err)
		}
		compiled := store.CompileLabels(l)
		b.Run(bb.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				compiled.Matches(object)
			}
		})
		b.Run(bb.name+"/as-parsed", func(b *testing.B) {
			for b.Loop() {
				l.Matches(object)
			}
		})
		b.Run(bb.name+"/compile", func(b *testing.B) {
			for b.Loop() {
				store.CompileLabels(l)
			}
		})
	}
}
