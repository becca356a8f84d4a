package admissionregistration

import (
	"fmt"
	"regexp"
	"slices"
	"sync"

	"github.com/google/cel-go/cel"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"
	plugincel "k8s.io/apiserver/pkg/admission/plugin/cel"
	apiservercel "k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/environment"
)

// variables declares the variables of an expression besides the request and its objects.
type variables = plugincel.OptionalVariableDeclarations

// expression is an expression to compile.
type expression struct {
	Text string
	// Types lists the allowed types of the value.
	Types     []*cel.Type
	Variables variables
	// Stored is set if the stored object has the expression already.
	Stored bool
}

// GetExpression and ReturnTypes implement the compiler's ExpressionAccessor.
func (e expression) GetExpression() string    { return e.Text }
func (e expression) ReturnTypes() []*cel.Type { return e.Types }

func (e expression) environment() environment.Type {
	if e.Stored {
		return environment.StoredExpressions
	}
	return environment.NewExpressions
}

// variable is a named expression. Later expressions use its value by the name.
type variable struct {
	expression
	name string
}

func (v variable) GetName() string { return v.name }

// texts collects the expressions of an old object.
func texts[T any](of []T, text func(T) string) sets.Set[string] {
	texts := sets.New[string]()
	for _, one := range of {
		texts.Insert(text(one))
	}
	return texts
}

// compiler compiles the expressions of one object.
type compiler struct {
	plugincel.Compiler
}

// stateless is the shared compiler for all objects that declare no variables.
var stateless = sync.OnceValue(func() plugincel.Compiler { return plugincel.NewCompiler(baseEnvironment()) })

func baseEnvironment() *environment.EnvSet {
	return environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion())
}

// newCompiler makes a compiler. A composing compiler holds the variables of its object.
func newCompiler(composing bool) compiler {
	if !composing {
		return compiler{stateless()}
	}
	c, err := plugincel.NewCompositedCompiler(baseEnvironment())
	utilruntime.Must(err) // the environment comes from the library
	return compiler{c}
}

// Check compiles an expression and returns its errors.
func (c compiler) Check(e expression, path *field.Path) field.ErrorList {
	return mistakes(c.CompileCELExpression(e, e.Variables, e.environment()), e.Text, path)
}

// checkVariable compiles a variable, and adds it for later expressions.
func (c compiler) checkVariable(v variable, path *field.Path) field.ErrorList {
	composing := c.Compiler.(*plugincel.CompositedCompiler)
	return mistakes(composing.CompileAndStoreVariable(v, v.Variables, v.environment()), v.Text, path)
}

func mistakes(result plugincel.CompilationResult, text string, path *field.Path) field.ErrorList {
	err := result.Error
	if err == nil {
		return nil
	}
	switch err.Type {
	case apiservercel.ErrorTypeRequired:
		return field.ErrorList{field.Required(path, err.Detail)}
	case apiservercel.ErrorTypeInvalid:
		return field.ErrorList{field.Invalid(path, text, err.Detail)}
	case apiservercel.ErrorTypeInternal:
		return field.ErrorList{field.InternalError(path, err)}
	}
	return field.ErrorList{field.InternalError(path, fmt.Errorf("unsupported error type: %w", err))}
}

var identifier = regexp.MustCompile("^[_a-zA-Z][_a-zA-Z0-9]*$")

// reserved lists the words that an expression cannot use as names.
var reserved = []string{
	"true", "false", "null", "in", "as", "break", "const", "continue", "else", "for", "function", "if", "import", "let", "loop",
	"package", "namespace", "return", "var", "void", "while",
}

func isIdentifier(name string) bool {
	return identifier.MatchString(name) && !slices.Contains(reserved, name)
}
