package source

import (
	"encoding/json"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/tui/screen"
	"github.com/kx-apiserver/kx/tui/screen/screentest"
)

// server answers as a server does that has one file.
func server(t *testing.T) http.Handler {
	text, err := os.ReadFile("../pane/detail/testdata/store.etcd3.kv.go.txt")
	if err != nil {
		t.Fatal(err)
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/apis/kx.dev/v1alpha1/sources/store.etcd3.kv.go" {
			http.Error(w, `{"kind":"Status","code":404,"message":"not found"}`, http.StatusNotFound)
			return
		}
		s := &v1alpha1.Source{Spec: v1alpha1.SourceSpec{Package: "store/etcd3", File: "store/etcd3/kv.go", Text: string(text)}}
		data, err := json.Marshal(s)
		if err != nil {
			t.Error(err)
		}
		_, _ = w.Write(data)
	})
}

var commit = screen.ToSource{File: "store/etcd3/kv.go", Line: 110, Function: "store/etcd3.(*kv).commit", Upstream: "KV.Txn", UpstreamFile: "client/v3/kv.go", Release: "v3.7"}

func TestScreen(t *testing.T) {
	h := screentest.New(t, server(t))
	s := New(h)
	h.Attach(s)
	h.Sizes()
	h.Show(commit)
	h.Golden("commit")
	h.Sizes()
	h.Press("j", "G", "g", "ctrl+d", "l", "h", "y")
	if len(h.Copied) != 1 || !strings.HasPrefix(h.Copied[0], "store/etcd3/kv.go:") {
		t.Errorf("copied %q", h.Copied)
	}
	h.Frame(80, 20)
	h.Press("g", "j")
	h.Click(20, 6, 0)
	if line := s.pane.Cursor(); line != 3 {
		t.Errorf("a press on the third line put the cursor on line %d", line)
	}
	h.Click(20, 2, 0)
	if line := s.pane.Cursor(); line != 3 {
		t.Errorf("a press above the file put the cursor on line %d", line)
	}
	h.Press("f")
	h.Answer("optimisticput")
	if line := s.pane.File().lines[s.pane.Cursor()-1].text; !strings.Contains(line, "OptimisticPut(") {
		t.Errorf("the cursor is on %q", line)
	}
	h.Press("f")
	h.Answer("nowhere at all")
	if len(h.Complained) != 1 {
		t.Errorf("%q", h.Complained)
	}
	h.Press("A") // the server's own code, upstream's, and back
	if link := "https://github.com/etcd-io/etcd/blob/"; !strings.HasPrefix(s.location(), link) {
		t.Errorf("upstream is at %q, want %s", s.location(), link)
	}
	h.Frame(80, 20)
	h.Press("y", "A")
	if last := h.Copied[len(h.Copied)-1]; !strings.HasPrefix(last, "https://") {
		t.Errorf("copied %q", last)
	}
	h.Press("E")
	if len(h.Edits) != 1 || h.Edits[0].Suffix != ".go" || !strings.HasPrefix(string(h.Edits[0].Text), "package etcd3") {
		t.Errorf("%+v", h.Edits)
	}
	for _, test := range []struct{ file, want string }{
		{"nope/nope.go", "no source of this file"}, {"/usr/lib/go/src/net/http/server.go", "not of the server's own source"},
	} {
		h.Show(screen.ToSource{File: test.file, Line: 7})
		if frame := strings.Join(h.Frame(80, 20), "\n"); !strings.Contains(frame, test.want) {
			t.Errorf("%s:\n%s", test.file, frame)
		}
	}
}
