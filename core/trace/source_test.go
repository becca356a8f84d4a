package trace_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/kx-apiserver/kx/core/steps"
)

// The tests of this file hold the code of the whole module to what doc.go says of steps.

const (
	moduleRoot = "../.."
	tracePath  = "github.com/kx-apiserver/kx/core/trace"
)

// source is a parsed file, and the name by which it knows package trace: "" if it does not.
type source struct {
	fset  *token.FileSet
	file  *ast.File
	trace string
}

func parse(t *testing.T, fset *token.FileSet, name string, text any) source {
	t.Helper()
	file, err := parser.ParseFile(fset, name, text, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	s := source{fset: fset, file: file}
	for _, spec := range file.Imports {
		if path, err := strconv.Unquote(spec.Path.Value); err == nil && path == tracePath {
			s.trace = "trace"
			if spec.Name != nil {
				s.trace = spec.Name.Name
			}
		}
	}
	return s
}

// moduleSources are the files of this module that know package trace, without tests and what is not compiled.
func moduleSources(t *testing.T) []source {
	t.Helper()
	fset := token.NewFileSet()
	var sources []source
	for _, path := range sourceFiles(t) {
		if s := parse(t, fset, path, nil); s.trace != "" {
			sources = append(sources, s)
		}
	}
	return sources
}

// sourceFiles are the paths of the Go files of this module, without tests and what is not compiled.
func sourceFiles(t *testing.T) (paths []string) {
	t.Helper()
	err := filepath.WalkDir(moduleRoot, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			_, err := os.Stat(filepath.Join(path, "go.mod"))
			hidden := path != moduleRoot && strings.ContainsAny(d.Name()[:1], "._")
			if path != moduleRoot && (err == nil || hidden || d.Name() == "testdata") {
				return filepath.SkipDir
			}
			return nil
		}
		if strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go") {
			paths = append(paths, path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return paths
}

// registered are the names of the constants in steps.go, in order.
func registered(t *testing.T) []string {
	t.Helper()
	var names []string
	for _, decl := range parse(t, token.NewFileSet(), "../steps/steps.go", nil).file.Decls {
		d, ok := decl.(*ast.GenDecl)
		if !ok || d.Tok != token.CONST {
			continue
		}
		if typ, ok := d.Specs[0].(*ast.ValueSpec).Type.(*ast.Ident); !ok || typ.Name != "ID" {
			continue
		}
		for _, spec := range d.Specs[1 : len(d.Specs)-1] { // without _ and Count
			names = append(names, spec.(*ast.ValueSpec).Names[0].Name)
		}
	}
	if len(names) != len(steps.All()) {
		t.Fatalf("steps.go has %d constants for %d steps: this test reads it wrongly", len(names), len(steps.All()))
	}
	return names
}

// started is one call of trace.Start, trace.StartObject or, for a mark, trace.MarkTime, or for work without a request trace.Note.
type started struct {
	call *ast.CallExpr
	id   string // the constant, or "" if it is none
	mark bool
}

func (s source) starts(n ast.Node) []started {
	var found []started
	ast.Inspect(n, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok && s.isStart(call) {
			st := started{call: call, mark: len(call.Args) == 1}
			if id, ok := call.Args[min(1, len(call.Args)-1)].(*ast.SelectorExpr); ok && types.ExprString(id.X) == "steps" {
				st.id = id.Sel.Name
			}
			found = append(found, st)
		}
		return true
	})
	return found
}

func (s source) isStart(call *ast.CallExpr) bool {
	if s.trace == "" {
		return false
	}
	fun := types.ExprString(call.Fun)
	return len(call.Args) == 3 && (fun == s.trace+".Start" || fun == s.trace+".Note") || len(call.Args) == 4 && fun == s.trace+".StartObject" ||
		len(call.Args) == 1 && fun == s.trace+".MarkTime"
}

func TestEachStepIsTakenAtOnePlace(t *testing.T) {
	taken := map[string][]string{}
	for _, s := range moduleSources(t) {
		for _, st := range s.starts(s.file) {
			at := s.fset.Position(st.call.Pos()).String()
			if st.id == "" {
				t.Errorf("%s: the step is not a constant of package steps", at)
			}
			taken[st.id] = append(taken[st.id], at)
		}
	}
	for _, name := range registered(t) {
		if len(taken[name]) != 1 {
			t.Errorf("%s is taken at %d places: %s", name, len(taken[name]), strings.Join(taken[name], ", "))
		}
	}
}

func TestStepsEndWhereTheyStartAndUnderNoLock(t *testing.T) {
	n := 0
	for _, s := range moduleSources(t) {
		n += len(s.starts(s.file))
		for _, complaint := range s.check() {
			t.Error(complaint)
		}
	}
	if n < len(steps.All()) {
		t.Errorf("found %d steps of %d", n, len(steps.All()))
	}
}

// check says which steps of the file lie under a lock, and which do not end in the function that starts them.
func (s source) check() (complaints []string) {
	ast.Inspect(s.file, func(n ast.Node) bool {
		var body *ast.BlockStmt
		switch f := n.(type) {
		case *ast.FuncDecl:
			body = f.Body
		case *ast.FuncLit:
			body = f.Body
		}
		if body != nil {
			complaints = append(complaints, s.underLock(body)...)
			complaints = append(complaints, s.unended(body)...)
		}
		return true
	})
	return slices.Compact(complaints)
}

func (s source) complain(pos token.Pos, format string, args ...any) string {
	return fmt.Sprintf("%s: %s", s.fset.Position(pos), fmt.Sprintf(format, args...))
}

// held is a stretch of a function in which a lock is held.
type held struct {
	lock     string // such as c.mu, or c.mu for reading
	from, to token.Pos
}

// underLock compares places in the text: a lock is held from its Lock until the last Unlock before it is locked again,
// or to the end of the function if that Unlock is deferred or elsewhere.
func (s source) underLock(body *ast.BlockStmt) (complaints []string) {
	for _, h := range holds(body) {
		for _, st := range s.starts(body) {
			if h.from < st.call.Pos() && st.call.Pos() < h.to {
				complaints = append(complaints, s.complain(st.call.Pos(), "the step lies between the Lock of %s and its Unlock", h.lock))
			}
		}
	}
	return complaints
}

func holds(body *ast.BlockStmt) []held {
	var all []held
	open := map[string]int{} // lock to its latest stretch
	inOwn(body, func(n ast.Node) {
		var call *ast.CallExpr
		deferred := false
		switch n := n.(type) {
		case *ast.CallExpr:
			call = n
		case *ast.DeferStmt:
			call, deferred = n.Call, true
		default:
			return
		}
		fun, ok := call.Fun.(*ast.SelectorExpr)
		if !ok || len(call.Args) > 0 {
			return
		}
		lock := types.ExprString(fun.X)
		switch fun.Sel.Name {
		case "Lock", "RLock":
			open[lock] = len(all)
			all = append(all, held{lock, call.Pos(), body.End()})
		case "Unlock", "RUnlock":
			if i, ok := open[lock]; ok && deferred {
				delete(open, lock) // whatever comes, it is held to the end
				all[i].to = body.End()
			} else if ok {
				all[i].to = call.Pos()
			}
		}
	})
	return all
}

// inOwn visits the nodes of a function without those of the functions in it. A deferred call is visited as its
// statement alone.
func inOwn(body *ast.BlockStmt, visit func(ast.Node)) {
	ast.Inspect(body, func(n ast.Node) bool {
		if n == nil {
			return false
		}
		if _, ok := n.(*ast.FuncLit); ok {
			return false
		}
		visit(n)
		_, deferred := n.(*ast.DeferStmt)
		return !deferred
	})
}

// unended follows each step that the function itself starts along its statements: it must be ended when they return.
func (s source) unended(body *ast.BlockStmt) (complaints []string) {
	inOwn(body, func(n ast.Node) {
		assign, ok := n.(*ast.AssignStmt)
		if !ok || len(assign.Rhs) != 1 {
			return
		}
		step := types.ExprString(assign.Lhs[len(assign.Lhs)-1])
		if call, ok := assign.Rhs[0].(*ast.CallExpr); ok && s.isStart(call) && len(call.Args) > 1 && step != "_" {
			f := follower{source: s, start: assign, step: step}
			if f.block(body.List, before) == running {
				f.complaints = append(f.complaints, s.complain(assign.Pos(), "the step is not ended at the end of the function"))
			}
			complaints = append(complaints, f.complaints...)
		}
	})
	for _, st := range s.starts(body) {
		if !st.mark && !assigned(body, st.call) {
			complaints = append(complaints, s.complain(st.call.Pos(), "the step is not kept, so it can't end"))
		}
	}
	return complaints
}

func assigned(body *ast.BlockStmt, call *ast.CallExpr) (ok bool) {
	ast.Inspect(body, func(n ast.Node) bool {
		if a, isAssign := n.(*ast.AssignStmt); isAssign && len(a.Rhs) == 1 && a.Rhs[0] == call {
			ok = types.ExprString(a.Lhs[len(a.Lhs)-1]) != "_"
		}
		return !ok
	})
	return ok
}

// TestCheck tries the check itself.
func TestCheck(t *testing.T) {
	const start = `ctx, step := trace.Start(ctx, steps.EtcdGet, "")` + "\n"
	const lock, end = "the step lies between the Lock of x.mu and its Unlock", "the step is not ended at the end of the function"
	for name, tt := range map[string]struct{ body, want string }{
		"deferred":                     {start + `defer step.End(&err)`, ""},
		"in a deferred function":       {start + `defer func() { step.End(&err) }()`, ""},
		"explicit":                     {start + `if bad { step.End(&err); return }; step.End(nil); return`, ""},
		"on all ways":                  {start + `if bad { step.End(&err) } else { step.End(nil) }`, ""},
		"in all cases":                 {start + `switch { case bad: step.End(&err); return; default: step.End(nil) }`, ""},
		"before the start":             {`if bad { return };` + start + `defer step.End(&err)`, ""},
		"never":                        {start, end},
		"a note":                       {`note := trace.Note(n, steps.EtcdGet, ""); defer note.End(&err)`, ""},
		"a note, never":                {`note := trace.Note(n, steps.EtcdGet, "")`, end},
		"a note, dropped":              {`trace.Note(n, steps.EtcdGet, "")`, "the step is not kept, so it can't end"},
		"not on all ways":              {start + `if bad { step.End(&err) }`, end},
		"not in all cases":             {start + `switch { case bad: step.End(&err) }`, end},
		"not at a return":              {start + `if bad { return }; step.End(nil)`, "the step of line 6 is not ended at this return"},
		"not before the defer":         {start + `if bad { return }; defer step.End(nil)`, "the step of line 6 is not ended at this return"},
		"not in a select":              {start + `select { case <-c: step.End(nil); case <-d: }`, end},
		"elsewhere":                    {`go func() {` + start + `}(); step.End(nil)`, end},
		"another":                      {start + `other.End(nil)`, end},
		"not kept":                     {`trace.Start(ctx, steps.EtcdGet, "")`, "the step is not kept, so it can't end"},
		"dropped":                      {`ctx, _ = trace.Start(ctx, steps.EtcdGet, "")`, "the step is not kept, so it can't end"},
		"after the lock":               {`x.mu.Lock(); x.mu.Unlock();` + start + `step.End(nil)`, ""},
		"between locks":                {`x.mu.Lock(); x.mu.Unlock();` + start + `step.End(nil); x.mu.Lock(); x.mu.Unlock()`, ""},
		"before the lock":              {start + `step.End(nil); x.mu.Lock(); defer x.mu.Unlock()`, ""},
		"locked":                       {`x.mu.Lock();` + start + `step.End(nil); x.mu.Unlock()`, lock},
		"read-locked":                  {`x.mu.RLock();` + start + `step.End(nil); x.mu.RUnlock()`, lock},
		"locked to the end":            {`x.mu.Lock(); defer x.mu.Unlock();` + start + `step.End(nil)`, lock},
		"locked for the caller":        {`x.mu.Lock();` + start + `step.End(nil)`, lock},
		"locked unless bad":            {`x.mu.Lock(); if bad { x.mu.Unlock(); return };` + start + `step.End(nil); x.mu.Unlock()`, lock},
		"locked again":                 {`x.mu.Lock(); x.mu.Unlock(); x.mu.Lock();` + start + `step.End(nil); x.mu.Unlock()`, lock},
		"locked around a function":     {`x.mu.Lock(); func() {` + start + `step.End(nil) }(); x.mu.Unlock()`, lock},
		"locked, with another lock":    {`x.mu.Lock(); y.mu.Lock(); y.mu.Unlock();` + start + `step.End(nil); x.mu.Unlock()`, lock},
		"locked, unlocked in function": {`x.mu.Lock();` + start + `step.End(nil); defer func() { x.mu.Unlock() }()`, lock},
	} {
		text := "package p\n\nimport \"" + tracePath + "\"\n\nfunc f() {\n" + tt.body + "\n}\n"
		got := parse(t, token.NewFileSet(), name, text).check()
		if tt.want == "" && len(got) > 0 || tt.want != "" && (len(got) == 0 || !strings.HasSuffix(got[0], ": "+tt.want)) {
			t.Errorf("%s: got %q, want %q", name, got, tt.want)
		}
	}
}

// TestStepsFailAndEditWhereTheySay: a step that can be made to fail asks for its error, and ends with one that it can be
// told; a step whose object can be edited shows it. Nothing else does either.
func TestStepsFailAndEditWhereTheySay(t *testing.T) {
	infos := map[string]steps.Info{}
	for i, name := range registered(t) {
		infos[name] = steps.All()[i].Info()
	}
	for _, s := range moduleSources(t) {
		ast.Inspect(s.file, func(n ast.Node) bool {
			f, ok := n.(*ast.FuncDecl)
			if !ok || f.Body == nil {
				return true
			}
			for _, st := range s.starts(f.Body) {
				info, at := infos[st.id], s.fset.Position(st.call.Pos())
				if asks, told := calls(f.Body, "step.Err()"), calls(f.Body, "step.End(&err)"); info.Fails != asks || info.Fails && !told {
					t.Errorf("%s: %s: Fails is %v, asks step.Err(): %v, step.End(&err): %v", at, info.Name, info.Fails, asks, told)
				}
				if shows := len(st.call.Args) == 4; info.Edits != shows {
					t.Errorf("%s: %s: Edits is %v, StartObject: %v", at, info.Name, info.Edits, shows)
				}
			}
			return true
		})
	}
}

// calls says whether a call is written like this somewhere in n.
func calls(n ast.Node, text string) (yes bool) {
	ast.Inspect(n, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok && types.ExprString(call) == text {
			yes = true
		}
		return !yes
	})
	return yes
}
