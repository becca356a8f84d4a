package source

import (
	"cmp"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
)

// upstreamSymbol is the function of the Kubernetes API server, or of etcd, that corresponds to one of kx, in the form
// that steps have: its name, its file and its release.
type upstreamSymbol struct {
	// Name is like Store.Get, File like staging/src/k8s.io/apiserver/pkg/…, Release like v1.37.
	Name, File, Release string
}

// upstreamCode is a file of a module, with the symbol's line.
type upstreamCode struct {
	// File begins with the module and its version, such as k8s.io/apiserver@v0.37.2/pkg/….
	File, Text string
	// Line is the line of the declaration; 1 if it was not found.
	Line int
	// Release is the tag of the repository for this version of the module.
	Release string
}

const staging = "staging/src/"

// etcd reports whether a symbol belongs to etcd, whose releases are those of version 3.
func (s upstreamSymbol) etcd() bool { return strings.HasPrefix(s.Release, "v3.") }

// tag returns the release's tag in the repository; for a minor release, its first patch.
func (s upstreamSymbol) tag() string {
	if strings.Count(s.Release, ".") == 1 {
		return s.Release + ".0"
	}
	return s.Release
}

// link returns the URL of the symbol's file, at a line unless that is 0.
func (s upstreamSymbol) link(line int) string {
	if s.File == "" || s.Release == "" {
		return ""
	}
	repository := "kubernetes/kubernetes"
	if s.etcd() {
		repository = "etcd-io/etcd"
	}
	link := "https://github.com/" + repository + "/blob/" + s.tag() + "/" + s.File
	if line > 0 {
		link += "#L" + strconv.Itoa(line)
	}
	return link
}

// module returns the module that publishes the symbol's file, and the file's path in it.
func (s upstreamSymbol) module() (module, file string) {
	switch rest, ok := strings.CutPrefix(s.File, staging); {
	case ok: // k8s.io/apiserver/pkg/…
		parts := strings.SplitN(rest, "/", 3)
		if len(parts) < 3 {
			return "", ""
		}
		return parts[0] + "/" + parts[1], parts[2]
	case s.etcd():
		if rest, ok := strings.CutPrefix(s.File, "client/v3/"); ok {
			return "go.etcd.io/etcd/client/v3", rest
		}
		return "", ""
	}
	return "k8s.io/kubernetes", s.File
}

// modules describes the modules of this machine.
type modules struct {
	// Root is Go's module cache.
	Root string
	// Versions holds the versions that this program was built with, by module.
	Versions map[string]string
}

// localModules returns the modules of this machine, at the versions that this program was built with.
func localModules() modules {
	m := modules{Root: os.Getenv("GOMODCACHE"), Versions: map[string]string{}}
	if m.Root == "" {
		home, _ := os.UserHomeDir()
		paths := filepath.SplitList(cmp.Or(os.Getenv("GOPATH"), filepath.Join(home, "go")))
		m.Root = filepath.Join(paths[0], "pkg", "mod")
	}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, d := range info.Deps {
			m.Versions[d.Path] = d.Version
		}
	}
	return m
}

// Find reads the file of a symbol in Go's module cache, and looks for its declaration. It downloads nothing.
func (m modules) Find(s upstreamSymbol) (*upstreamCode, error) {
	module, file := s.module()
	if module == "" || !filepath.IsLocal(filepath.FromSlash(file)) {
		return nil, fmt.Errorf("no module publishes %s", s.File)
	}
	c := &upstreamCode{Release: s.tag(), Line: 1}
	version := m.Versions[module]
	switch {
	case version == "" && module == "k8s.io/kubernetes":
		version = s.tag()
	case version == "" && strings.HasPrefix(module, "k8s.io/"):
		version = "v0" + strings.TrimPrefix(s.tag(), "v1")
	case version == "":
		version = s.tag()
	case strings.HasPrefix(version, "v0."):
		c.Release = "v1" + strings.TrimPrefix(version, "v0")
	default:
		c.Release = version
	}
	c.File = module + "@" + version + "/" + file
	if !filepath.IsLocal(filepath.FromSlash(c.File)) { // a capture may name any release
		return nil, fmt.Errorf("no module publishes %s at %s", s.File, s.Release)
	}
	data, err := os.ReadFile(filepath.Join(m.Root, filepath.FromSlash(c.File)))
	if err != nil {
		return nil, fmt.Errorf("%s %s is not on this machine: go mod download %s@%s gets it", module, version, module, version)
	}
	c.Text = string(data)
	if line := declarationLine(path.Base(file), c.Text, s.Name); line > 0 {
		c.Line = line
	}
	return c, nil
}

// declarationLine returns the line of a declaration of a function, a method, or an interface's method; 0 if there is
// none.
func declarationLine(name, text, symbol string) int {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, name, text, parser.SkipObjectResolution)
	if file == nil || err != nil {
		return 0
	}
	owner, method, isMethod := strings.Cut(symbol, ".")
	at := token.NoPos
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncDecl:
			if !isMethod && n.Recv == nil && n.Name.Name == owner || isMethod && n.Name.Name == method && receiver(n) == owner {
				at = n.Pos()
			}
			return false
		case *ast.TypeSpec:
			if n.Name.Name == owner && !isMethod {
				at = n.Pos()
			}
			if !isMethod || n.Name.Name != owner {
				break
			}
			for _, f := range members(n.Type) {
				if len(f.Names) == 1 && f.Names[0].Name == method {
					at = f.Names[0].Pos()
				}
			}
		}
		return at == token.NoPos
	})
	if at == token.NoPos {
		return 0
	}
	return fset.Position(at).Line
}

// members returns the methods of an interface, or the fields of a struct, which may be functions.
func members(typ ast.Expr) []*ast.Field {
	switch t := typ.(type) {
	case *ast.InterfaceType:
		return t.Methods.List
	case *ast.StructType:
		return t.Fields.List
	}
	return nil
}

// receiver returns the name of a method's receiver type; "" for a function.
func receiver(f *ast.FuncDecl) string {
	if f.Recv == nil || len(f.Recv.List) == 0 {
		return ""
	}
	typ := f.Recv.List[0].Type
	for {
		switch t := typ.(type) {
		case *ast.StarExpr:
			typ = t.X
		case *ast.IndexExpr:
			typ = t.X
		case *ast.IndexListExpr:
			typ = t.X
		case *ast.Ident:
			return t.Name
		default:
			return ""
		}
	}
}
