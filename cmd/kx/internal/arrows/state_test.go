package arrows

import (
	"encoding/json"
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// allowed are the package-level variables that change all the same, with the reason why servers may share them.
var allowed = map[string]string{
	"core/trace.sites":                      "the place of each step in this binary, noted when the step first runs: it is the same for all",
	"server/handler.getMethod":              methodPlaces,
	"server/handler.listMethod":             methodPlaces,
	"server/handler.watchMethod":            methodPlaces,
	"server/handler.createMethod":           methodPlaces,
	"server/handler.updateMethod":           methodPlaces,
	"server/handler.deleteMethod":           methodPlaces,
	"server/handler.deleteCollectionMethod": methodPlaces,
	"server/handler.connectMethod":          methodPlaces,
	"server/endpoint.types":                 "the fields of built-in kinds, parsed from the binary when a kind is first written",
	"server/openapi.v2":                     "the built-in definitions in the binary, encoded when they are first asked for",
	"server/openapi.v3":                     "the built-in definitions in the binary, encoded when they are first asked for",
	"cmd/kx/internal/proc.latest":           "klog has one logger for the process: this is the handler behind it, of the command that began last",
	"runtime.MemProfileRate":                "main sets it, before anything runs",
	"store/embedded/embedtest.prefixes":     "tests alone: each gets keys of its own",
	"store/embedded/embedtest.shared":       "tests alone: the etcd that the tests of a package share",
}

const methodPlaces = "where types of storages have a method, in this binary: it is the same for all"

// TestNothingIsProcessWide finds package-level variables that change while the process runs. Servers in one process would
// share them, and one that has stopped would leave something behind.
func TestNothingIsProcessWide(t *testing.T) {
	exports, packages := compiled(t)
	if len(packages) < 50 {
		t.Fatalf("go list found %d packages: too few to be the project", len(packages))
	}
	fset := token.NewFileSet()
	imports := importerOf(fset, exports)
	found := map[string]string{}
	for _, p := range packages {
		var files []*ast.File
		for _, name := range p.GoFiles {
			f, err := parser.ParseFile(fset, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
			if err != nil {
				t.Fatal(err)
			}
			files = append(files, f)
		}
		maps.Copy(found, stateOf(t, fset, imports, p.ImportPath, files))
	}
	for name, why := range found {
		if allowed[name] == "" {
			t.Errorf("%s is shared by all servers of the process, and changes: %s", name, why)
		}
	}
	for name := range allowed {
		if found[name] == "" {
			t.Errorf("%s is on the list of what may change, and does not: take it off the list", name)
		}
	}
}

// TestStateOf shows that the check finds what it is there to find.
func TestStateOf(t *testing.T) {
	const source = `package p
import ("strings"; "sync"; "sync/atomic"; "time")
type guarded struct { mu sync.Mutex; n int }
func (g *guarded) add() { g.n++ }
func (g guarded) get() int { return g.n }
var (
	mutexed guarded
	pointed = &guarded{}
	counted atomic.Int64
	assigned int
	incremented int
	filled = map[string]int{}
	emptied = map[string]int{"a": 1}
	field struct{ a, b int }
	element [2]int
	addressed int
	called time.Time
	queue = make(chan int)
	table = map[string]int{"a": 1}
	pool = sync.Pool{New: func() any { return 1 }}
	replacer = strings.NewReplacer("a", "b")
	parsed = sync.OnceValue(func() int { return 1 })
	atInit int
)
func init() { atInit = 1 }
func f() int {
	assigned = 1
	incremented++
	filled["a"] = 1
	delete(emptied, "a")
	field.a = 1
	element[0]++
	p := &addressed
	_ = called.UnmarshalText(nil)
	table := table // another one
	table = nil
	_ = table
	pool.Put(pool.Get())
	return *p + parsed() + len(replacer.Replace("a")) + atInit
}`
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, "p.go", source, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	found := stateOf(t, fset, importer.ForCompiler(fset, "source", nil), module+"/p", []*ast.File{file})
	got := slices.Sorted(maps.Keys(found))
	want := []string{"p.addressed", "p.assigned", "p.called", "p.counted", "p.element", "p.emptied", "p.field", "p.filled",
		"p.incremented", "p.mutexed", "p.pointed", "p.queue"}
	if !slices.Equal(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
}

type built struct {
	ImportPath, Dir, Export string
	GoFiles                 []string
}

// compiled returns where the export data of each package is, and the packages of the project.
func compiled(t *testing.T) (exports map[string]string, ours []built) {
	t.Helper()
	cmd := exec.Command("go", "list", "-export", "-deps", "-json=ImportPath,Dir,Export,GoFiles", module+"/...")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list -export: %v", err)
	}
	exports = map[string]string{}
	for d := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p built
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return exports, ours
		} else if err != nil {
			t.Fatal(err)
		}
		exports[p.ImportPath] = p.Export
		if strings.HasPrefix(p.ImportPath, module) {
			ours = append(ours, p)
		}
	}
}

func importerOf(fset *token.FileSet, exports map[string]string) types.Importer {
	return importer.ForCompiler(fset, "gc", func(path string) (io.ReadCloser, error) {
		if exports[path] == "" {
			return nil, fmt.Errorf("go list has no export data of %s", path)
		}
		return os.Open(exports[path])
	})
}

// stateOf returns the package-level variables that change while a process runs, with what makes them change. These are
// variables whose type is there to change, and variables that a function other than init writes.
func stateOf(t *testing.T, fset *token.FileSet, imports types.Importer, path string, files []*ast.File) map[string]string {
	t.Helper()
	info := &types.Info{
		Uses: map[*ast.Ident]types.Object{}, Types: map[ast.Expr]types.TypeAndValue{},
		Selections: map[*ast.SelectorExpr]*types.Selection{},
	}
	pkg, err := (&types.Config{Importer: imports}).Check(path, fset, files, info)
	if err != nil {
		t.Fatal(err)
	}
	s := &search{info: info, fset: fset, found: map[string]string{}}
	for _, name := range pkg.Scope().Names() {
		if v, ok := pkg.Scope().Lookup(name).(*types.Var); ok {
			if what := holds(v.Type(), map[types.Type]bool{}); what != "" {
				s.note(v, "it has a "+what)
			}
		}
	}
	for _, f := range files {
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Body != nil && (fn.Recv != nil || fn.Name.Name != "init") {
				ast.Inspect(fn.Body, s.visit)
			}
		}
	}
	return s.found
}

// stateful are types that are there to change.
var stateful = []string{"sync.Mutex", "sync.RWMutex", "sync.Map", "sync.WaitGroup", "sync.Cond", "sync/atomic.",
	"github.com/prometheus/client_golang/prometheus."}

// unseen are types whose changes nobody sees.
var unseen = []string{"sync.Pool", "strings.Replacer"}

// holds returns the stateful type that is a part of t, or nothing.
func holds(t types.Type, seen map[types.Type]bool) string {
	if seen[t] {
		return ""
	}
	seen[t] = true
	switch t := t.(type) {
	case *types.Named:
		name := t.Obj().Name()
		if t.Obj().Pkg() != nil {
			name = t.Obj().Pkg().Path() + "." + name
		}
		if slices.Contains(unseen, name) {
			return ""
		}
		for _, s := range stateful {
			if name == s || strings.HasSuffix(s, ".") && strings.HasPrefix(name, s) {
				return name
			}
		}
		return holds(t.Underlying(), seen)
	case *types.Struct:
		for field := range t.Fields() {
			if what := holds(field.Type(), seen); what != "" {
				return what
			}
		}
	case interface{ Elem() types.Type }: // pointers, arrays, slices and maps
		if _, ok := t.(*types.Chan); ok {
			return "channel"
		}
		return holds(t.Elem(), seen)
	}
	return ""
}

// search looks for writes of package-level variables.
type search struct {
	info  *types.Info
	fset  *token.FileSet
	found map[string]string
}

func (s *search) note(v *types.Var, why string) {
	name := strings.TrimPrefix(v.Pkg().Path(), module+"/") + "." + v.Name()
	if s.found[name] == "" {
		s.found[name] = why
	}
}

func (s *search) visit(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.AssignStmt:
		if n.Tok != token.DEFINE {
			for _, e := range n.Lhs {
				s.write(e)
			}
		}
	case *ast.IncDecStmt:
		s.write(n.X)
	case *ast.RangeStmt:
		if n.Tok == token.ASSIGN {
			s.write(n.Key)
			s.write(n.Value)
		}
	case *ast.UnaryExpr:
		if n.Op == token.AND {
			s.write(n.X) // whoever has the address may write
		}
	case *ast.CallExpr:
		s.call(n)
	}
	return true
}

// call looks at built-in functions that write, and at methods that get the address of their receiver.
func (s *search) call(n *ast.CallExpr) {
	switch f := n.Fun.(type) {
	case *ast.Ident:
		if _, ok := s.info.Uses[f].(*types.Builtin); ok && slices.Contains([]string{"delete", "clear", "copy"}, f.Name) {
			s.write(n.Args[0])
		}
	case *ast.SelectorExpr:
		selection := s.info.Selections[f]
		if selection == nil || selection.Kind() != types.MethodVal {
			return
		}
		_, wantsPointer := selection.Obj().Type().(*types.Signature).Recv().Type().(*types.Pointer)
		_, isPointer := s.info.Types[f.X].Type.(*types.Pointer)
		if wantsPointer && !isPointer {
			s.write(f.X)
		}
	}
}

func (s *search) write(e ast.Expr) {
	if v := s.global(e); v != nil && !slices.Contains(unseen, v.Type().String()) {
		s.note(v, fmt.Sprintf("%s writes it", s.fset.Position(e.Pos())))
	}
}

// global is the package-level variable that an expression is, or is a part of; nil if it is none.
func (s *search) global(e ast.Expr) *types.Var {
	for {
		switch x := e.(type) {
		case *ast.Ident:
			return s.packageLevel(x)
		case *ast.SelectorExpr:
			if v := s.packageLevel(x.Sel); v != nil {
				return v
			}
			e = x.X
		case *ast.IndexExpr:
			e = x.X
		case *ast.ParenExpr:
			e = x.X
		case *ast.StarExpr:
			e = x.X
		case *ast.SliceExpr:
			e = x.X
		default:
			return nil
		}
	}
}

func (s *search) packageLevel(name *ast.Ident) *types.Var {
	if v, ok := s.info.Uses[name].(*types.Var); ok && v.Pkg() != nil && v.Parent() == v.Pkg().Scope() {
		return v
	}
	return nil
}
