package arrows

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// parametersMost bounds the parameters of a function: where there are more, some of them are a thing with a name.
const parametersMost = 6

// longSignatures are the functions that have more parameters all the same, with the reason.
var longSignatures = map[string]string{
	"store/backend/factory/dial.go traceCall":            grpcInterceptor,
	"store/transform/kms/envelope.go observe":            grpcInterceptor,
	"server/handler/response.go transformResponseObject": handlerRequest,
}

const (
	grpcInterceptor = "gRPC declares the signature"
	handlerRequest  = "the values of one request have no common name in server/handler yet"
)

// TestParameters finds functions, function types and methods of interfaces with too many parameters.
func TestParameters(t *testing.T) {
	found := map[string]bool{}
	productionFiles(t, func(path string) {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range longDeclarations(file) {
			name := filepath.ToSlash(strings.TrimPrefix(path, root+string(filepath.Separator))) + " " + d
			found[name] = true
			if longSignatures[name] == "" {
				t.Errorf("%s has more than %d parameters", name, parametersMost)
			}
		}
	})
	for name := range longSignatures {
		if !found[name] {
			t.Errorf("%s is on the list of long signatures, and has %d parameters at most: take it off the list", name, parametersMost)
		}
	}
}

// TestLongDeclarations shows that the check finds what it is there to find.
func TestLongDeclarations(t *testing.T) {
	const source = `package p
func six(a, b, c int, d, e, f string) {}
func seven(a, b, c int, d, e, f, g string) {}
func (t T) method(a, b, c, d, e, f int, g ...int) {}
type function func(int, int, int, int, int, int, int)
type contract interface { do(a, b, c, d, e, f, g int) }
func literal() { _ = func(a, b, c, d, e, f, g int) {} }
var variable = func(a, b, c, d, e, f, g int) {}
`
	file, err := parser.ParseFile(token.NewFileSet(), "p.go", source, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{"contract", "function", "literal", "method", "seven", "variable"}
	if got := slices.Sorted(slices.Values(longDeclarations(file))); !slices.Equal(got, want) {
		t.Errorf("got  %v\nwant %v", got, want)
	}
}

// longDeclarations names the declarations of a file that have a signature with too many parameters.
func longDeclarations(file *ast.File) []string {
	names := map[string]bool{}
	for _, d := range file.Decls {
		switch d := d.(type) {
		case *ast.FuncDecl:
			noteLong(names, d.Name.Name, d)
		case *ast.GenDecl:
			for _, s := range d.Specs {
				switch s := s.(type) {
				case *ast.TypeSpec:
					noteLong(names, s.Name.Name, s)
				case *ast.ValueSpec:
					noteLong(names, s.Names[0].Name, s)
				}
			}
		}
	}
	return slices.Collect(maps.Keys(names))
}

func noteLong(names map[string]bool, name string, n ast.Node) {
	ast.Inspect(n, func(n ast.Node) bool {
		if f, ok := n.(*ast.FuncType); ok && f.Params.NumFields() > parametersMost {
			names[name] = true
		}
		return true
	})
}
