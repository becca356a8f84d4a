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

// Variables are what an expression may use beside the request and its objects.
type Variables = plugincel.OptionalVariableDeclarations

// Expression is an expression to compile.
type Expression struct {
	Text string
	// Types are those that its value may have.
	Types     []*cel.Type
	Variables Variables
	// Stored expressions are in the object already.
	Stored bool
}

// GetExpression and ReturnTypes are what the compiler asks.
func (e Expression) GetExpression() string    { return e.Text }
func (e Expression) ReturnTypes() []*cel.Type { return e.Types }

func (e Expression) environment() environment.Type {
	if e.Stored {
		return environment.StoredExpressions
	}
	return environment.NewExpressions
}

// variable is an expression whose value later ones use by its name.
type variable struct {
	Expression
	name string
}

func (v variable) GetName() string { return v.name }

// Texts are the expressions that an old object has.
func Texts[T any](of []T, text func(T) string) sets.Set[string] {
	texts := sets.New[string]()
	for _, one := range of {
		texts.Insert(text(one))
	}
	return texts
}

// Compiler compiles the expressions of one object.
type Compiler struct {
	plugincel.Compiler
}

// stateless compiles the expressions of all objects that declare no variables.
var stateless = sync.OnceValue(func() plugincel.Compiler { return plugincel.NewCompiler(baseEnvironment()) })

func baseEnvironment() *environment.EnvSet {
	return environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion())
}

// NewCompiler makes a compiler. A composing one remembers the variables of its object.
func NewCompiler(composing bool) Compiler {
	if !composing {
		return Compiler{stateless()}
	}
	c, err := plugincel.NewCompositedCompiler(baseEnvironment())
	utilruntime.Must(err) // the environment is the library's own
	return Compiler{c}
}

// Check compiles an expression and reports what is wrong with it.
func (c Compiler) Check(e Expression, path *field.Path) field.ErrorList {
	return mistakes(c.CompileCELExpression(e, e.Variables, e.environment()), e.Text, path)
}

// checkVariable compiles a variable for the expressions after it.
func (c Compiler) checkVariable(v variable, path *field.Path) field.ErrorList {
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

// reserved are the words that no name in an expression may be.
var reserved = []string{
	"true", "false", "null", "in", "as", "break", "const", "continue", "else", "for", "function", "if", "import", "let", "loop",
	"package", "namespace", "return", "var", "void", "while",
}

func isIdentifier(name string) bool {
	return identifier.MatchString(name) && !slices.Contains(reserved, name)
}
