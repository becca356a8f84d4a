package server_test

import (
	"io/fs"
	"regexp"
	"strings"
	"testing"

	"github.com/kx-apiserver/kx/core/sites"
	"github.com/kx-apiserver/kx/server"
)

// TestSayings finds each reason that the source declares where code gives it.
func TestSayings(t *testing.T) {
	source := server.Source()
	sayings, err := sites.ReadSayings(source)
	if err != nil {
		t.Fatal(err)
	}
	declared, once := 0, 0
	declares := regexp.MustCompile(`(\w+)\s*=\s*(?:trace\.)?Because\(\s*"([^"]+)"`)
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
				if len(found) == 1 {
					once++
				}
				if len(found) == 0 {
					t.Errorf("no code gives the reason %s of %s", m[2], name)
				}
				for _, at := range found {
					text, err := fs.ReadFile(source, at.File)
					if err != nil {
						t.Fatal(err)
					}
					if line := strings.Split(string(text), "\n")[at.Line-1]; !strings.Contains(line, m[1]) || at.Function == "" || strings.HasSuffix(at.Function, ".Reasons") {
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
	if declared < 300 || once < declared*4/5 {
		t.Errorf("the source declares %d reasons, and gives %d of them at one place: the test does not see them", declared, once)
	}
}
