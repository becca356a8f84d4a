package sites_test

import (
	"cmp"
	"path"
	"reflect"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/kx-apiserver/kx/core/sites"
)

// TestReadSayings finds the lines that give a reason, each marked, and no other line with the name of its variable.
func TestReadSayings(t *testing.T) {
	source := fstest.MapFS{
		"core/trace/reasons.go": {Data: []byte(`package trace

var NoPath = Because("no-path", "no path", "没有路径")

func Reasons() []Reason { return []Reason{NoPath} }
`)},
		"store/a/a.go": {Data: []byte(`package a

import "github.com/kx-apiserver/kx/core/trace"

var (
	taken = trace.Because("taken", "the key is taken", "已占用")
	free  = trace.Because("free", "the key is free", "空闲")
)

// Reasons lists the reasons.
func Reasons() []trace.Reason { return []trace.Reason{taken, free} }

func (s *Store[K]) Get(step *trace.Step) {
	step.Why(taken) // here: taken Store
	/* taken is
	taken */ if s.free == free || s.why == taken && is(taken) { // here: taken Store
		panic("taken")
	}
	switch s.why {
	case taken:
		step.Why(trace.NoPath) // here: no-path Store
	}
}

func (Store[K]) free(step *trace.Step) {
	answer(step, free, row{free: 1}) // here: free free
}

var watch = with(func(step *trace.Step) {
	step.Why(free) // here: free watch
})

func local(step *trace.Step) {
	for _, free := range all {
		step.Record(free)
	}
}
`)},
		"store/a/b.go": {Data: []byte(`package a

func decide(w write) error {
	return w.refuse(taken) // here: taken decide
}
`)},
		"server/b/b.go": {Data: []byte(`package b

import kx "github.com/kx-apiserver/kx/core/trace"

func give(step *kx.Step, trace other) {
	step.Why(kx.NoPath) // here: no-path give
	step.Say(trace.NoPath, taken)
}
`)},
	}
	functions := map[string]string{"Store": "(*Store[...]).Get", "free": "Store[...].free"}
	want := sites.Sayings{}
	for _, file := range []string{"server/b/b.go", "store/a/a.go", "store/a/b.go"} {
		for i, line := range strings.Split(string(source[file].Data), "\n") {
			_, here, ok := strings.Cut(line, "// here: ")
			if !ok {
				continue
			}
			reason, function, _ := strings.Cut(here, " ")
			at := path.Dir(file) + "." + cmp.Or(functions[function], function)
			want[reason] = append(want[reason], sites.Saying{Function: at, File: file, Line: i + 1})
		}
	}
	got, err := sites.ReadSayings(source)
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v\n%v\nwant\n%v", err, got, want)
	}
}

// TestSayingOf tells places of one reason apart by the function and the file of the step.
func TestSayingOf(t *testing.T) {
	a, b := sites.Saying{Function: "store/cacher.(*Cacher).Get", File: "store/cacher/get.go", Line: 3},
		sites.Saying{Function: "store/cacher.(*listing).moment", File: "store/cacher/list.go", Line: 5}
	c := sites.Saying{Function: "store/cacher.(*listing).latest", File: "store/cacher/list.go", Line: 9}
	sayings := sites.Sayings{"one": {a}, "two": {a, b}, "three": {a, b, c}}
	for _, test := range []struct {
		reason, function, file string
		want                   sites.Saying
	}{
		{"one", "elsewhere.Get", "elsewhere/get.go", a},
		{"two", "store/cacher.(*Cacher).Get", "store/cacher/get.go", a},
		{"two", "store/cacher.(*Cacher).List", "store/cacher/list.go", b},
		{"three", "store/cacher.(*listing).latest.func1", "store/cacher/list.go", c},
		{"three", "store/cacher.(*Cacher).List", "store/cacher/list.go", sites.Saying{}},
		{"three", "elsewhere.Get", "elsewhere/get.go", sites.Saying{}},
		{"none", "elsewhere.Get", "elsewhere/get.go", sites.Saying{}},
	} {
		if at, ok := sayings.Find(test.reason, test.function, test.file); at != test.want || ok != (test.want.File != "") {
			t.Errorf("%s in %s of %s: %v", test.reason, test.function, test.file, at)
		}
	}
}
