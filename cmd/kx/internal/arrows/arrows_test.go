package arrows

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/kx-apiserver/kx"

// floors are who may import whom, among our own rooms. A room that is missing may import nothing of ours.
var floors = map[string][]string{
	"cmd":    {"cmd", "tui", "server", "store", "core", "docs"},
	"tui":    {"tui", "core", "docs"},
	"server": {"server", "store", "core"},
	"store":  {"store", "core"},
	"core":   {"core"},
	"docs":   {"docs"},
}

// The reasons for the floors, for whoever runs into one.
var reasons = map[string]string{
	"tui":    "the screen shows what any client could ask for over HTTP",
	"server": "the server knows nothing of commands and screens",
	"store":  "the store works without a server above it",
	"core":   "core is the words that all of them use",
	"docs":   "documents travel in the binary and know nothing of it",
}

// forbidden are imports that no file of ours makes, with what stands in their place.
var forbidden = []struct {
	path  string
	exact bool // only this package, not what lies below it
	why   string
}{
	{path: "k8s.io/apiserver/pkg/endpoints/handlers", why: "server/handler is ours to write"},
	{path: "k8s.io/apiserver/pkg/registry", why: "core/rest and store/registry are ours to write"},
	{path: "k8s.io/apiserver/pkg/storage", why: "store is ours to write"},
	{path: "k8s.io/apiserver/pkg/server", why: "server is ours to write"},
	{path: "k8s.io/apiextensions-apiserver/pkg/apiserver", exact: true, why: "server/crd is ours to write"},
	{path: "k8s.io/apiextensions-apiserver/pkg/registry", why: "server/crd is ours to write"},
	{path: "k8s.io/apiextensions-apiserver/pkg/controller", why: "server/crd is ours to write"},
	{path: "k8s.io/kubernetes", why: "it is not a library"},
}

// coreOpens are packages that reach for files, sockets and processes, which core does not.
var coreOpens = map[string]bool{"os": true, "os/exec": true, "net": true, "net/http": true}

type listed struct {
	ImportPath                         string
	Imports, TestImports, XTestImports []string
}

func TestArrows(t *testing.T) {
	packages := list(t)
	if len(packages) < 10 {
		t.Fatalf("go list found %d packages: too few to be the project", len(packages))
	}
	for _, p := range packages {
		for _, imported := range p.Imports {
			if why := wrong(p.ImportPath, imported, false); why != "" {
				t.Errorf("%s imports %s: %s", p.ImportPath, imported, why)
			}
		}
		for _, imported := range append(p.TestImports, p.XTestImports...) {
			if why := wrong(p.ImportPath, imported, true); why != "" {
				t.Errorf("a test of %s imports %s: %s", p.ImportPath, imported, why)
			}
		}
	}
}

// TestKits: what only tests need is in rooms whose names end in "test", which only tests and other such rooms import. So kx has none of it.
func TestKits(t *testing.T) {
	kits := 0
	for _, p := range list(t) {
		if isKit(p.ImportPath) {
			kits++
			continue
		}
		for _, imported := range p.Imports {
			if isKit(imported) {
				t.Errorf("%s imports %s, which is for tests", p.ImportPath, imported)
			}
			if imported == "testing" {
				t.Errorf("%s imports testing, and is no room for tests: its name does not end in test", p.ImportPath)
			}
		}
	}
	if kits < 10 {
		t.Errorf("there are %d rooms for tests: too few to be all", kits)
	}
}

// isKit says whether a package of ours is for tests.
func isKit(path string) bool {
	rest, ours := strings.CutPrefix(path, module+"/")
	return ours && slices.ContainsFunc(strings.Split(rest, "/"), func(room string) bool { return strings.HasSuffix(room, "test") })
}

// TestWrong shows that the rules refuse what they are there to refuse.
func TestWrong(t *testing.T) {
	tests := []struct {
		from, to string
		test     bool
		refused  bool
	}{
		{from: module + "/store/etcd3", to: module + "/core/trace"},
		{from: module + "/store/etcd3", to: module + "/server/handler", refused: true},
		{from: module + "/store/etcd3", to: module + "/server/handler", test: true, refused: true},
		{from: module + "/tui", to: module + "/server", refused: true},
		{from: module + "/tui", to: module + "/core/filter"},
		{from: module + "/core/trace", to: "os", refused: true},
		{from: module + "/core/trace", to: "os", test: true},
		{from: module + "/core/trace", to: module + "/store", refused: true},
		{from: module + "/server/handler", to: "k8s.io/apiserver/pkg/endpoints/request"},
		{from: module + "/server/handler", to: "k8s.io/apiserver/pkg/endpoints/handlers", refused: true},
		{from: module + "/server/handler", to: "k8s.io/apiserver/pkg/endpoints/handlers/negotiation", refused: true},
		{from: module + "/server/crd", to: "k8s.io/apiextensions-apiserver/pkg/apiserver/schema"},
		{from: module + "/server/crd", to: "k8s.io/apiextensions-apiserver/pkg/apiserver", refused: true},
		{from: module + "/server", to: "k8s.io/kubernetes/pkg/apis/core", refused: true},
	}
	for _, test := range tests {
		if why := wrong(test.from, test.to, test.test); (why != "") != test.refused {
			t.Errorf("%s → %s (test: %v): %q, want refused: %v", test.from, test.to, test.test, why, test.refused)
		}
	}
}

// wrong says what is wrong with an import, or nothing.
func wrong(from, to string, inTest bool) string {
	for _, f := range forbidden {
		if to == f.path || !f.exact && strings.HasPrefix(to, f.path+"/") {
			return f.why
		}
	}
	room := roomOf(from)
	if room == "core" && !inTest && coreOpens[to] {
		return "core opens no file, socket or process"
	}
	other := roomOf(to)
	if other == "" {
		return ""
	}
	for _, allowed := range floors[room] {
		if other == allowed {
			return ""
		}
	}
	return reasons[room]
}

// roomOf is the top-level directory of one of our packages, or empty.
func roomOf(path string) string {
	rest, ok := strings.CutPrefix(path, module+"/")
	if !ok {
		return ""
	}
	room, _, _ := strings.Cut(rest, "/")
	return room
}

// heavy are packages that no package of kx may bring in, with what to use instead: they make a cold build longer.
var heavy = map[string]string{
	"k8s.io/client-go/informers": "informers of all kinds, a hundred packages: who follows objects uses server/controller/feed",
}

// TestCold: kx is built without heavy packages, also those that only a library would use.
func TestCold(t *testing.T) {
	all := strings.Fields(golist(t, "-deps", module+"/cmd/kx"))
	if len(all) < 1000 {
		t.Fatalf("go list found %d packages: too few to be all", len(all))
	}
	for _, path := range all {
		if why := heavy[path]; why != "" {
			t.Errorf("kx is built of %s: %s", path, why)
		}
	}
}

func golist(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.Command("go", append([]string{"list"}, args...)...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, stderr.String())
	}
	return string(out)
}

func list(t *testing.T) []listed {
	t.Helper()
	out := golist(t, "-json=ImportPath,Imports,TestImports,XTestImports", module+"/...")
	var packages []listed
	for d := json.NewDecoder(strings.NewReader(out)); ; {
		var p listed
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return packages
		} else if err != nil {
			t.Fatal(err)
		}
		packages = append(packages, p)
	}
}
