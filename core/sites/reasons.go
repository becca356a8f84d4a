package sites

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/kx-apiserver/kx/core/trace"
)

// Saying is a place at which code gives a reason for a step.
type Saying struct {
	// Function is named with its package, from the module's root.
	Function, File string
	Line           int
}

// Sayings lists the places at which the code gives reasons, by the reasons' names.
type Sayings map[string][]Saying

// ReadSayings finds the places in the source of the rooms that take steps.
func ReadSayings(source fs.FS) (Sayings, error) {
	r := sayings{set: token.NewFileSet(), declared: map[string]map[string]string{}, found: Sayings{}}
	for _, room := range []string{"core", "server", "store"} {
		if err := r.walk(source, room); err != nil {
			return nil, fmt.Errorf("find the reasons in the source of %s: %w", room, err)
		}
	}
	for i := range r.files {
		if err := r.say(&r.files[i]); err != nil {
			return nil, fmt.Errorf("find the reasons in %s: %w", r.files[i].name, err)
		}
	}
	return r.found, nil
}

// sayings reads the files once, with the declarations of reasons. The code that gives them can be told apart from other
// code when all are known.
type sayings struct {
	set   *token.FileSet
	files []file
	// declared names the reasons by the directories and the names of their variables.
	declared map[string]map[string]string
	found    Sayings
}

// file is a file that may give reasons. Most give none, and need not be parsed.
type file struct {
	name   string
	text   []byte
	parsed *ast.File
}

func (r *sayings) walk(source fs.FS, room string) error {
	return fs.WalkDir(source, room, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(name, ".go") {
			return err
		}
		f := file{name: name}
		if f.text, err = fs.ReadFile(source, name); err != nil {
			return err
		}
		if bytes.Contains(f.text, []byte("Because(")) {
			if err := r.declare(&f); err != nil {
				return err
			}
		}
		if room != "core" { // it gives none
			r.files = append(r.files, f)
		}
		return nil
	})
}

func (r *sayings) parse(f *file) (err error) {
	if f.parsed == nil {
		f.parsed, err = parser.ParseFile(r.set, f.name, f.text, parser.SkipObjectResolution)
	}
	return err
}

// declare finds the reasons that a file declares.
func (r *sayings) declare(f *file) error {
	if err := r.parse(f); err != nil {
		return err
	}
	for _, declaration := range f.parsed.Decls {
		group, ok := declaration.(*ast.GenDecl)
		if !ok || group.Tok != token.VAR {
			continue
		}
		for _, spec := range group.Specs {
			v := spec.(*ast.ValueSpec)
			for i, value := range v.Values {
				if reason, ok := declaredReason(value); ok {
					dir := path.Dir(f.name)
					if r.declared[dir] == nil {
						r.declared[dir] = map[string]string{}
					}
					r.declared[dir][v.Names[i].Name] = reason
				}
			}
		}
	}
	return nil
}

// declaredReason returns the name of the reason that an expression declares.
func declaredReason(value ast.Expr) (reason string, ok bool) {
	call, ok := value.(*ast.CallExpr)
	if !ok || len(call.Args) == 0 || !slices.Contains([]string{"Because", "trace.Because"}, exprText(call.Fun)) {
		return "", false
	}
	literal, ok := call.Args[0].(*ast.BasicLit)
	if !ok {
		return "", false
	}
	reason, err := strconv.Unquote(literal.Value)
	return reason, err == nil
}

// say finds the places of a file, in its functions and in the variables of the package.
func (r *sayings) say(f *file) error {
	dir := path.Dir(f.name)
	if !r.mayGive(dir, f.text) {
		return nil
	}
	if err := r.parse(f); err != nil {
		return err
	}
	imports := directories(f.parsed)
	for _, declaration := range f.parsed.Decls {
		switch d := declaration.(type) {
		case *ast.FuncDecl:
			if name := functionName(d); name != "Reasons" { // it lists the reasons of a package, and gives none
				r.add(dir, name, d, imports)
			}
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				if v, ok := spec.(*ast.ValueSpec); ok {
					r.add(dir, v.Names[0].Name, v, imports)
				}
			}
		}
	}
	return nil
}

// mayGive reports whether a file has the name of a reason's variable.
func (r *sayings) mayGive(dir string, text []byte) bool {
	for of, variables := range r.declared {
		for name := range variables {
			if (of == dir || ast.IsExported(name)) && bytes.Contains(text, []byte(name)) {
				return true
			}
		}
	}
	return false
}

// directories returns the directories of the packages that a file imports, by their names.
func directories(f *ast.File) map[string]string {
	imports := map[string]string{}
	for _, i := range f.Imports {
		at := strings.TrimPrefix(strings.Trim(i.Path.Value, `"`), trace.Module)
		name := path.Base(at)
		if i.Name != nil {
			name = i.Name.Name
		}
		imports[name] = at
	}
	return imports
}

// add adds the places of a declaration.
func (r *sayings) add(dir, function string, declaration ast.Node, imports map[string]string) {
	others := otherNames(declaration)
	found := func(of string, name *ast.Ident) {
		if reason := r.declared[of][name.Name]; reason != "" {
			at := r.set.Position(name.Pos())
			r.found[reason] = append(r.found[reason], Saying{Function: dir + "." + function, File: at.Filename, Line: at.Line})
		}
	}
	ast.Inspect(declaration, func(n ast.Node) bool {
		if others[n] {
			return false
		}
		switch n := n.(type) {
		case *ast.SelectorExpr:
			if of, ok := n.X.(*ast.Ident); ok && imports[of.Name] != "" {
				found(imports[of.Name], n.Sel)
			}
		case *ast.Ident:
			found(dir, n)
		}
		return true
	})
}

// otherNames returns the names in a declaration that give no reason: those of fields and methods, both sides of
// comparisons, and all that the declaration gives to something else.
func otherNames(declaration ast.Node) map[ast.Node]bool {
	others := map[ast.Node]bool{}
	add := func(all ...ast.Expr) {
		for _, n := range all {
			switch n.(type) {
			case *ast.Ident, *ast.SelectorExpr:
				others[n] = true
			}
		}
	}
	local := map[string]bool{}
	declare := func(all ...ast.Expr) {
		for _, n := range all {
			if n, ok := n.(*ast.Ident); ok {
				local[n.Name] = true
			}
		}
	}
	ast.Inspect(declaration, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			add(n.Name)
		case *ast.SelectorExpr:
			add(n.Sel)
		case *ast.KeyValueExpr:
			add(n.Key)
		case *ast.BinaryExpr:
			if n.Op == token.EQL || n.Op == token.NEQ {
				add(n.X, n.Y)
			}
		case *ast.CaseClause:
			add(n.List...)
		case *ast.AssignStmt:
			if n.Tok == token.DEFINE {
				declare(n.Lhs...)
			}
		case *ast.RangeStmt:
			if n.Tok == token.DEFINE {
				declare(n.Key, n.Value)
			}
		case *ast.ValueSpec:
			for _, name := range n.Names {
				declare(name)
			}
		case *ast.Field:
			for _, name := range n.Names {
				declare(name)
			}
		}
		return true
	})
	ast.Inspect(declaration, func(n ast.Node) bool {
		if n, ok := n.(*ast.Ident); ok && local[n.Name] {
			add(n)
		}
		return true
	})
	return others
}

// Find returns the place at which a step gave a reason. Most reasons are given at one place. If there are several, it
// is the one in the function that took the step, in its file or in its package. ok is false if that does not tell them
// apart.
func (s Sayings) Find(reason, function, file string) (at Saying, ok bool) {
	all := s[reason]
	if len(all) == 1 {
		return all[0], true
	}
	for _, near := range []func(Saying) bool{
		func(at Saying) bool { return at.Function == function || strings.HasPrefix(function, at.Function+".") },
		func(at Saying) bool { return at.File == file },
		func(at Saying) bool { return path.Dir(at.File) == path.Dir(file) },
	} {
		var those []Saying
		for _, at := range all {
			if at.Function != "" && near(at) {
				those = append(those, at)
			}
		}
		if len(those) == 1 {
			return those[0], true
		}
	}
	return Saying{}, false
}
