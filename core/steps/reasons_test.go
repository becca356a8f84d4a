package steps_test

import (
	"io/fs"
	"regexp"
	"strings"
	"testing"

	"github.com/kx-apiserver/kx/core/steps"
	"github.com/kx-apiserver/kx/server"
)

// TestSayings finds each reason that the source declares where code gives it.
func TestSayings(t *testing.T) {
	source := server.Source()
	sayings, err := steps.ReadSayings(source)
	if err != nil {
		t.Fatal(err)
	}
	declared := 0
	declares := regexp.MustCompile(`(\w+)\s*=\s*(?:trace\.)?[bB]ecause\(\s*"([^"]+)"`)
	for _, room := range []string{"core", "server", "store"} {
		err := fs.WalkDir(source, room, func(name string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			text, err := fs.ReadFile(source, name)
			if err != nil {
				return err
			}
			for _, m := range declares.FindAllStringSubmatch(string(text), -1) {
				declared++
				found := sayings[m[2]]
				if len(found) == 0 {
					t.Errorf("no code gives the reason %s of %s", m[2], name)
				}
				for _, at := range found {
					text, err := fs.ReadFile(source, at.File)
					if err != nil {
						t.Fatal(err)
					}
					if line := strings.Split(string(text), "\n")[at.Line-1]; !strings.Contains(line, m[1]) || at.Function == "" {
						t.Errorf("%s is said to be given in %s at %s:%d, which is %q", m[2], at.Function, at.File, at.Line, line)
					}
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if declared < 300 {
		t.Errorf("the source declares %d reasons: the test does not see them", declared)
	}
}

// TestSayingOf tells places of one reason apart by the function and the file of the step.
func TestSayingOf(t *testing.T) {
	a, b := steps.Saying{Function: "store/cacher.(*Cacher).Get", File: "store/cacher/get.go", Line: 3},
		steps.Saying{Function: "store/cacher.(*listing).moment", File: "store/cacher/list.go", Line: 5}
	c := steps.Saying{Function: "store/cacher.(*listing).latest", File: "store/cacher/list.go", Line: 9}
	sayings := steps.Sayings{"one": {a}, "two": {a, b}, "three": {a, b, c}}
	for _, test := range []struct {
		reason, function, file string
		want                   steps.Saying
	}{
		{"one", "elsewhere.Get", "elsewhere/get.go", a},
		{"two", "store/cacher.(*Cacher).Get", "store/cacher/get.go", a},
		{"two", "store/cacher.(*Cacher).List", "store/cacher/list.go", b},
		{"three", "store/cacher.(*listing).latest.func1", "store/cacher/list.go", c},
		{"three", "store/cacher.(*Cacher).List", "store/cacher/list.go", steps.Saying{}},
		{"three", "elsewhere.Get", "elsewhere/get.go", steps.Saying{}},
		{"none", "elsewhere.Get", "elsewhere/get.go", steps.Saying{}},
	} {
		if at, ok := sayings.Of(test.reason, test.function, test.file); at != test.want || ok != (test.want.File != "") {
			t.Errorf("%s in %s of %s: %v", test.reason, test.function, test.file, at)
		}
	}
}
