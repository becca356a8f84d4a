package source

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/tui/screen/screentest"
)

// TestLibrary asks for each file once, keeps the latest, and asks again where the server could not answer.
func TestLibrary(t *testing.T) {
	asked, broken := map[string]int{}, true
	h := screentest.New(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		name := path.Base(r.URL.Path)
		asked[name]++
		switch {
		case name == "gone.go":
			http.Error(w, `{"kind":"Status","code":404,"message":"no"}`, http.StatusNotFound)
		case name == "broken.go" && broken:
			http.Error(w, `{"kind":"Status","code":503,"message":"not \u001b[2Jnow"}`, http.StatusServiceUnavailable)
		default:
			_ = json.NewEncoder(w).Encode(&v1alpha1.Source{Spec: v1alpha1.SourceSpec{File: name, Text: "package p\n"}})
		}
	}))
	arrived := 0
	l := NewLibrary(h, func() tea.Cmd {
		arrived++
		return nil
	})
	want := func(file string) tea.Cmd {
		cmd := l.Want(file)
		if cmd != nil {
			before := arrived
			if h.Run(cmd); arrived != before+1 {
				t.Errorf("%s: %d answers arrived", file, arrived-before)
			}
		}
		return cmd
	}
	want("a/b.go")
	if f, note := l.Get("a/b.go"); f == nil || f.lineCount() != 1 || note != "" || asked["a.b.go"] != 1 || want("a/b.go") != nil {
		t.Errorf("%v, %q, asked %v", f, note, asked)
	}
	for file, says := range map[string]string{"gone.go": "no source of this file", "/usr/lib/go/x.go": "not of the server's own source", "broken.go": "not \uFFFD[2Jnow"} {
		want(file)
		if f, note := l.Get(file); f != nil || !strings.Contains(note, says) {
			t.Errorf("%s: %q", file, note)
		}
	}
	if broken = false; want("gone.go") != nil || want("broken.go") == nil || want("") != nil {
		t.Error("what is known not to be there is asked for again, or what was not is not")
	}
	if f, _ := l.Get("broken.go"); f == nil {
		t.Error("the file is not there at the second time")
	}
	for i := range filesMost {
		want(fmt.Sprintf("f%d.go", i))
	}
	if f, _ := l.Get("a/b.go"); f != nil || len(l.files) != filesMost {
		t.Errorf("%d files are kept", len(l.files))
	}
}

// TestTheirsLater finds code upstream that came to this machine after it was looked for.
func TestTheirsLater(t *testing.T) {
	root := t.TempDir()
	t.Setenv("GOMODCACHE", root)
	h := screentest.New(t, http.NotFoundHandler())
	l := NewLibrary(h, func() tea.Cmd { return nil })
	here := Place{Upstream: "Get", UpstreamFile: "pkg/a.go", Release: "v1.9.1"}
	other := Place{Upstream: "List", UpstreamFile: "pkg/a.go", Release: "v1.9.1"}
	h.Run(l.WantTheirs(here))
	if _, _, note := l.Upstream(here); !strings.Contains(note, "go mod download") || l.WantTheirs(here) != nil {
		t.Errorf("%q, or it is looked for once more at once", note)
	}
	file := filepath.Join(root, "k8s.io/kubernetes@v1.9.1/pkg/a.go")
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte("package a\n\nfunc Get() {}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	h.Run(l.WantTheirs(other))
	h.Run(l.WantTheirs(here))
	if f, at, note := l.Upstream(here); f == nil || at.Line != 3 {
		t.Errorf("%+v, %+v, %q", f, at, note)
	}
}
