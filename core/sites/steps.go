// Package sites is the list of all steps as a reader of the code or of articles looks for them.
//
// What comes in is the source of the rooms that take steps, and a name: a step's ID, or a function of kx, of the
// Kubernetes API server, of etcd or of an article. What goes out are the steps with that name. The place of a step is
// read from the source, so it is known before the step was ever taken.
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
	"strings"

	"github.com/kx-apiserver/kx/core/filter"
	"github.com/kx-apiserver/kx/core/lang"
	"github.com/kx-apiserver/kx/core/steps"
	"github.com/kx-apiserver/kx/core/story"
)

// Step is one step: what it does, which function takes it, and which does the same upstream.
type Step struct {
	ID    string `json:"id"`
	Layer string `json:"layer"`
	Does  string `json:"does"`
	// Function is named with its package, from the module's root.
	Function string `json:"function"`
	File     string `json:"file"`
	Line     int    `json:"line"`
	// Upstream is the function of the Kubernetes API server with the same task, or the function of etcd that the step
	// calls.
	Upstream        string `json:"upstream,omitempty"`
	UpstreamFile    string `json:"upstreamFile,omitempty"`
	UpstreamRelease string `json:"upstreamRelease,omitempty"`
	// InArticles are other names by which articles know it.
	InArticles []string `json:"inArticles,omitempty"`
}

// All are all steps in the order of the trace's table, with their places in the source.
func All(source fs.FS, in lang.Language) ([]Step, error) {
	constants, err := readTable(source)
	if err != nil {
		return nil, err
	}
	places := map[steps.ID]place{}
	for _, room := range []string{"server", "store"} {
		if err := readRoom(source, room, constants, places); err != nil {
			return nil, err
		}
	}
	all := make([]Step, 0, len(constants))
	for _, id := range steps.All() {
		info, at := id.Info(), places[id]
		all = append(all, Step{
			ID: info.Name, Layer: info.Layer.String(), Does: story.Sentence(id, in),
			Function: at.function, File: at.file, Line: at.line,
			Upstream: info.Upstream.Symbol, UpstreamFile: info.Upstream.File, UpstreamRelease: info.Upstream.Release,
			InArticles: id.InArticles(),
		})
	}
	return all, nil
}

type place struct {
	function, file string
	line           int
}

// readTable finds the steps by the names of their constants, in the table of package steps.
func readTable(source fs.FS) (map[string]steps.ID, error) {
	const table = "core/steps/steps.go"
	text, err := fs.ReadFile(source, table)
	if err != nil {
		return nil, fmt.Errorf("read the table of steps: %w", err)
	}
	file, err := parser.ParseFile(token.NewFileSet(), table, text, parser.SkipObjectResolution)
	if err != nil {
		return nil, fmt.Errorf("read the table of steps: %w", err)
	}
	constants := map[string]steps.ID{}
	ast.Inspect(file, func(n ast.Node) bool {
		row, ok := n.(*ast.KeyValueExpr)
		if !ok {
			return true
		}
		if info, ok := row.Value.(*ast.CompositeLit); ok && len(info.Elts) > 0 {
			name, ok := info.Elts[0].(*ast.KeyValueExpr)
			if id, known := steps.Lookup(strings.Trim(exprText(name.Value), `"`)); ok && known {
				constants[exprText(row.Key)] = id
			}
		}
		return false
	})
	return constants, nil
}

// readRoom finds the places at which the code of a room takes steps.
func readRoom(source fs.FS, room string, constants map[string]steps.ID, places map[steps.ID]place) error {
	return fs.WalkDir(source, room, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(name, ".go") {
			return err
		}
		text, err := fs.ReadFile(source, name)
		if err != nil || !takes(text) {
			return err
		}
		set := token.NewFileSet()
		file, err := parser.ParseFile(set, name, text, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		for _, declared := range file.Decls {
			f, ok := declared.(*ast.FuncDecl)
			if !ok || f.Body == nil {
				continue
			}
			ast.Inspect(f.Body, func(n ast.Node) bool {
				if id, ok := stepOfCall(n, constants); ok {
					places[id] = place{path.Dir(name) + "." + functionName(f), name, set.Position(n.Pos()).Line}
				}
				return true
			})
		}
		return nil
	})
}

// takes says whether a file may have calls by which steps are taken. Others need not be parsed.
func takes(text []byte) bool {
	return slices.ContainsFunc([]string{"trace.Start", "trace.Note(", "trace.MarkTime("}, func(call string) bool {
		return bytes.Contains(text, []byte(call))
	})
}

// stepOfCall is the step that a call takes.
func stepOfCall(n ast.Node, constants map[string]steps.ID) (steps.ID, bool) {
	call, ok := n.(*ast.CallExpr)
	if !ok {
		return 0, false
	}
	which := 1
	switch exprText(call.Fun) {
	case "trace.Start", "trace.StartObject", "trace.Note":
	case "trace.MarkTime": // of a goroutine that requests share
		which = 0
	default:
		return 0, false
	}
	if which >= len(call.Args) {
		return 0, false
	}
	id, ok := constants[strings.TrimPrefix(exprText(call.Args[which]), "steps.")]
	return id, ok
}

// exprText is an expression that names something, as the source writes it. Others are empty, and of type parameters it
// says only that there are some.
func exprText(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.BasicLit:
		return e.Value
	case *ast.SelectorExpr:
		return exprText(e.X) + "." + e.Sel.Name
	case *ast.StarExpr:
		return "*" + exprText(e.X)
	case *ast.IndexExpr:
		return exprText(e.X) + "[...]"
	case *ast.IndexListExpr:
		return exprText(e.X) + "[...]"
	}
	return ""
}

// functionName is the name of a function with its receiver, as journeys write it.
func functionName(f *ast.FuncDecl) string {
	if f.Recv == nil {
		return f.Name.Name
	}
	receiver := exprText(f.Recv.List[0].Type)
	if strings.HasPrefix(receiver, "*") {
		receiver = "(" + receiver + ")"
	}
	return receiver + "." + f.Name.Name
}

// Find returns the steps with a name that contains the given one. If there are none, Find drops the part before a dot,
// as a package or a variable, and looks again: for GetResource instead of handlers.GetResource, for store.Get instead
// of r.store.Get.
func Find(all []Step, name string) []Step {
	name = plain(name)
	found := stepsWith(all, func(one string) bool { return strings.Contains(one, name) })
	for len(found) == 0 {
		_, rest, ok := strings.Cut(name, ".")
		if !ok {
			break
		}
		name = rest
		found = stepsWith(all, func(one string) bool { return one == name || strings.HasSuffix(one, "."+name) })
	}
	return found
}

func stepsWith(all []Step, fits func(string) bool) (found []Step) {
	for _, s := range all {
		if slices.ContainsFunc(s.names(), func(one string) bool { return fits(plain(one)) }) {
			found = append(found, s)
		}
	}
	return found
}

// Near are the names of steps and functions that are near to one that no step has.
func Near(all []Step, name string) []string {
	var names []string
	for _, s := range all {
		for _, one := range s.names()[1:] {
			names = append(names, steps.LastName(one))
		}
		names = append(names, s.ID)
	}
	slices.Sort(names)
	return filter.Near(name, slices.Compact(names))
}

// names returns all names of the step for a search: the first is its ID.
func (s *Step) names() []string {
	return append([]string{s.ID, path.Base(s.Function), s.Upstream}, s.InArticles...)
}

var syntax = strings.NewReplacer("()", "", "(*", "", ")", "", "[...]", "", "`", "")

// plain is a name without upper case and without what Go writes around types.
func plain(name string) string { return strings.ToLower(strings.TrimSpace(syntax.Replace(name))) }
