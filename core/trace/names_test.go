package trace_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/kx-apiserver/kx/core/filter"
	"github.com/kx-apiserver/kx/core/steps"
	"github.com/kx-apiserver/kx/core/trace"
)

// files parses all source files of the module, by their paths.
func files(t *testing.T, fset *token.FileSet) map[string]*ast.File {
	t.Helper()
	all := map[string]*ast.File{}
	for _, path := range sourceFiles(t) {
		file, err := parser.ParseFile(fset, path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		all[filepath.ToSlash(path)] = file
	}
	return all
}

// asked finds what a text, such as an example of a filter, asks of steps and reasons.
var asked = regexp.MustCompile(`\b(step|reason):([a-z0-9*][a-z0-9.*-]*)`)

// TestNamesAreTypedOnce: a step is named by its constant. An example of a filter may name it, if there is such a step.
func TestNamesAreTypedOnce(t *testing.T) {
	fset := token.NewFileSet()
	examples, reasons := 0, declarations(t)
	for name, file := range files(t, fset) {
		if name == moduleRoot+"/core/steps/steps.go" {
			continue
		}
		for _, complaint := range typedNames(fset, file, reasons, &examples) {
			t.Error(complaint)
		}
	}
	if examples == 0 {
		t.Error("no example of a filter was found: this test reads the files wrongly")
	}
	// The check itself.
	n := 0
	for text, want := range map[string]int{`"etcd.txn"`: 1, `"etcd.txns"`: 0, `"such as step:etcd.nothing x"`: 1, `"step:etcd3.*"`: 0, `"reason:key-moved"`: 0, `"reason:no-such"`: 1} {
		file, err := parser.ParseFile(fset, "x.go", "package x\nvar x = "+text, 0)
		if err != nil {
			t.Fatal(err)
		}
		if got := typedNames(fset, file, reasons, &n); len(got) != want {
			t.Errorf("%s: %q, want %d complaints", text, got, want)
		}
	}
}

func typedNames(fset *token.FileSet, file *ast.File, reasons []declaration, examples *int) (complaints []string) {
	complain := func(n ast.Node, text string) {
		complaints = append(complaints, fset.Position(n.Pos()).String()+": "+text)
	}
	ast.Inspect(file, func(n ast.Node) bool {
		literal, ok := n.(*ast.BasicLit)
		if !ok || literal.Kind != token.STRING {
			return true
		}
		text, err := strconv.Unquote(literal.Value)
		if err != nil {
			return true
		}
		if _, ok := steps.Lookup(text); ok {
			complain(n, "the name of the step "+text+" is typed: use the constant of package steps")
		}
		for _, example := range asked.FindAllStringSubmatch(text, -1) {
			*examples++
			if !exists(example[1], strings.TrimRight(example[2], "."), reasons) {
				complain(n, "there is no "+example[1]+" "+example[2])
			}
		}
		return true
	})
	return complaints
}

// exists says whether there is a step or a reason of that name, which may have a *.
func exists(field, name string, reasons []declaration) bool {
	f, err := filter.Parse(field+":"+name, trace.Names)
	if err != nil {
		return false
	}
	match := func(name string) bool {
		return f.Match(filter.SubjectFunc(func(string) (filter.Value, bool) { return filter.TextValue(name), true }))
	}
	for _, id := range steps.All() {
		if field == "step" && match(id.String()) {
			return true
		}
	}
	for _, r := range reasons {
		if field == "reason" && match(r.name) {
			return true
		}
	}
	return false
}

// TestUpstream: what a step names upstream is declared in the file that it names, in the release that it names.
func TestUpstream(t *testing.T) {
	modules := map[string]module{}
	checked := 0
	for _, id := range steps.All() {
		u := id.Info().Upstream
		name, file := upstreamModule(u.File)
		if _, ok := modules[name]; !ok {
			modules[name] = findModule(t, name)
		}
		m := modules[name]
		if m.dir == "" {
			continue
		}
		checked++
		if release := strings.Replace(m.version, "v0.", "v1.", 1); !strings.HasPrefix(release, u.Release+".") {
			t.Errorf("%s was read in %s, and go.mod has %s %s", id, u.Release, name, m.version)
		}
		if !declares(t, filepath.Join(m.dir, file), u.Symbol) {
			t.Errorf("%s: %s does not declare %s", id, u.File, u.Symbol)
		}
	}
	if checked == 0 {
		t.Skip("none of upstream's modules is on this machine")
	}
}

type module struct{ dir, version string }

func upstreamModule(file string) (name, inside string) {
	if rest, ok := strings.CutPrefix(file, "staging/src/"); ok {
		parts := strings.SplitN(rest, "/", 3)
		return path.Join(parts[0], parts[1]), parts[2]
	}
	if strings.HasPrefix(file, "pkg/") {
		return "k8s.io/kubernetes", file // not in go.mod: checked where somebody adds it
	}
	return "go.etcd.io/etcd/client/v3", strings.TrimPrefix(file, "client/v3/")
}

// findModule finds a module where go has put it, and asks nobody for it.
func findModule(t *testing.T, name string) module {
	cmd := exec.Command("go", "list", "-m", "-f", "{{.Dir}} {{.Version}}", name)
	cmd.Env = append(os.Environ(), "GOPROXY=off", "GOFLAGS=-mod=readonly")
	out, err := cmd.Output()
	if err != nil {
		t.Logf("%s is not on this machine: %v", name, err)
		return module{}
	}
	dir, version, _ := strings.Cut(strings.TrimSpace(string(out)), " ")
	return module{dir, version}
}

// declares says whether a file declares a function, a type, a method as "type.method", or an interface's method or a field
// likewise.
func declares(t *testing.T, name, symbol string) (found bool) {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Error(err)
		return true
	}
	for _, decl := range file.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			own := d.Name.Name
			if d.Recv != nil {
				receiver, _, _ := strings.Cut(strings.TrimPrefix(types.ExprString(d.Recv.List[0].Type), "*"), "[")
				own = receiver + "." + own
			}
			found = found || own == symbol
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				typ, ok := spec.(*ast.TypeSpec)
				if !ok {
					continue
				}
				found = found || typ.Name.Name == symbol
				if s, ok := typ.Type.(*ast.StructType); ok {
					for _, field := range s.Fields.List {
						for _, n := range field.Names {
							found = found || typ.Name.Name+"."+n.Name == symbol
						}
					}
				}
				if i, ok := typ.Type.(*ast.InterfaceType); ok {
					for _, method := range i.Methods.List {
						for _, n := range method.Names {
							found = found || typ.Name.Name+"."+n.Name == symbol
						}
					}
				}
			}
		}
	}
	return found
}
