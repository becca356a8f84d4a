package policy

import (
	"context"
	"fmt"
	"time"

	celgo "github.com/google/cel-go/cel"
	"github.com/google/cel-go/common/ast"
	"github.com/google/cel-go/common/operators"
	"github.com/google/cel-go/common/types"
	"github.com/google/cel-go/common/types/ref"
	"github.com/google/cel-go/common/types/traits"
	"k8s.io/apiserver/pkg/admission/plugin/cel"
	celconfig "k8s.io/apiserver/pkg/apis/cel"
	apiservercel "k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/common"
	"k8s.io/apiserver/pkg/cel/environment"
	"k8s.io/apiserver/pkg/cel/library"
	patchtypes "k8s.io/apiserver/pkg/cel/mutation"
)

// These limit repeated evaluation: the cost for a step, the parts of an expression, those of a step, the text
// of a part, and the time.
const (
	mostRepeatedCost = 100_000
	mostParts        = 16
	mostPartLines    = 64
	mostPartText     = 200
	repeatWait       = time.Second
)

// partsExpression is an expression that is compiled to report the values of its parts. It is compiled when a journey
// first needs it.
type partsExpression struct {
	program celgo.Program
	parts   []part
}

// part is a part of an expression.
type part struct {
	id   int64
	text string
}

// repeat compiles an expression once more. It returns nil if that fails; then the expression itself fails, too.
func (c compiler) repeat(text string, vars cel.OptionalVariableDeclarations) *partsExpression {
	env, err := c.environment(vars)
	if err != nil {
		return nil
	}
	compiled, issues := env.Compile(text)
	if issues != nil {
		return nil
	}
	program, err := env.Program(compiled,
		celgo.EvalOptions(celgo.OptTrackState, celgo.OptTrackCost), celgo.CostLimit(mostRepeatedCost),
		celgo.CostTracking(&library.CostEstimator{}), celgo.InterruptCheckFrequency(celconfig.CheckFrequency))
	if err != nil {
		return nil
	}
	return &partsExpression{program, partsOf(compiled.NativeRep())}
}

// environment rebuilds the environment of the library's compiler, which does not export it.
func (c compiler) environment(vars cel.OptionalVariableDeclarations) (*celgo.Env, error) {
	env, err := c.Env(environment.StoredExpressions)
	if err != nil {
		return nil, err
	}
	request, namespace := cel.BuildRequestType(), cel.BuildNamespaceType()
	options, err := apiservercel.NewDeclTypeProvider(request, namespace).EnvOptions(env.CELTypeProvider())
	if err != nil {
		return nil, err
	}
	options = append(options, celgo.EnableMacroCallTracking(), // all(…) is shown as it was written
		celgo.Variable(cel.ObjectVarName, celgo.DynType), celgo.Variable(cel.OldObjectVarName, celgo.DynType),
		celgo.Variable(cel.NamespaceVarName, namespace.CelType()), celgo.Variable(cel.RequestVarName, request.CelType()))
	if vars.HasParams {
		options = append(options, celgo.Variable(cel.ParamsVarName, celgo.DynType))
	}
	if vars.HasAuthorizer {
		options = append(options, celgo.Variable(cel.AuthorizerVarName, library.AuthorizerType),
			celgo.Variable(cel.RequestResourceAuthorizerVarName, library.ResourceCheckType))
	}
	if env, err = env.Extend(options...); err != nil || !vars.HasPatchTypes {
		return env, err
	}
	return env.Extend(common.ResolverEnvOption(&patchtypes.DynamicTypeResolver{}), environment.UnversionedLib(library.JSONPatch))
}

// partsOf returns the parts of an expression whose values interest a reader: comparisons, calls, and fields at
// the end of their path.
func partsOf(whole *ast.AST) []part {
	v := &partVisitor{info: whole.SourceInfo(), seen: map[string]bool{}}
	v.addParts(whole.Expr())
	return v.parts
}

type partVisitor struct {
	info  *ast.SourceInfo
	parts []part
	seen  map[string]bool
}

// visit adds an expression, then the parts within it.
func (v *partVisitor) visit(e ast.Expr) {
	switch e.Kind() {
	case ast.SelectKind, ast.CallKind, ast.ComprehensionKind:
		if text, err := celgo.ExprToString(e, v.info); err == nil && !v.seen[text] && len(v.parts) < mostParts {
			v.seen[text] = true
			v.parts = append(v.parts, part{e.ID(), text})
		}
	}
	v.addParts(e)
}

// addParts adds the parts within an expression. The body of a loop is left out: it has a value for each item.
func (v *partVisitor) addParts(e ast.Expr) {
	switch e.Kind() {
	case ast.SelectKind:
		v.path(e.AsSelect().Operand())
	case ast.CallKind:
		call := e.AsCall()
		args := call.Args()
		if call.FunctionName() == operators.Index && len(args) == 2 {
			v.path(args[0])
			v.visit(args[1])
			return
		}
		if call.IsMemberFunction() {
			v.visit(call.Target())
		}
		for _, arg := range args {
			v.visit(arg)
		}
	case ast.ComprehensionKind:
		v.visit(e.AsComprehension().IterRange())
	case ast.ListKind:
		for _, one := range e.AsList().Elements() {
			v.visit(one)
		}
	case ast.MapKind:
		for _, entry := range e.AsMap().Entries() {
			v.visit(entry.AsMapEntry().Value())
		}
	case ast.StructKind:
		for _, f := range e.AsStruct().Fields() {
			v.visit(f.AsStructField().Value())
		}
	}
}

// path walks the path to a field. It skips the objects on the path and adds the expressions in its indexes.
func (v *partVisitor) path(e ast.Expr) {
	switch {
	case e.Kind() == ast.SelectKind, e.Kind() == ast.CallKind && e.AsCall().FunctionName() == operators.Index:
		v.addParts(e)
	case e.Kind() == ast.CallKind:
		v.visit(e)
	}
}

// evaluation is an evaluation of an expression, to be repeated for its parts.
type evaluation struct {
	outcome
	repeated func() *partsExpression
}

// showParts records the values of the parts of expressions in the step, after the request is over.
func (r *record) showParts(all []evaluation) {
	all = affordable(all, &r.repeatable)
	if len(all) == 0 {
		return
	}
	r.step.AfterResponse(func() {
		for i := range all {
			_ = r.repeat(&all[i])
		}
	})
}

// affordable returns the evaluations that fit into the remaining cost.
func affordable(all []evaluation, left *int64) (some []evaluation) {
	for _, one := range all {
		if one.input != nil && one.value != nil && one.cost <= *left {
			*left -= one.cost
			some = append(some, one)
		}
	}
	return some
}

// repeat evaluates an expression once more, and records its parts. It returns the outcome, nil if there is
// none.
func (r *record) repeat(e *evaluation) (again ref.Val) {
	defer func() { _ = recover() }() // an expression that makes the library panic shows no parts
	tracked := e.repeated()
	if tracked == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), repeatWait)
	defer cancel()
	v, details, err := tracked.program.ContextEval(ctx, e.input)
	if err != nil || details == nil || details.State() == nil {
		return nil
	}
	for _, p := range tracked.parts {
		value, known := details.State().Value(p.id)
		if !known || len(r.parts) == mostPartLines {
			continue
		}
		text := p.text
		if len(text) > mostPartText {
			text = text[:mostPartText] + "…"
		}
		text += " = " + r.part(value)
		if !r.parts[text] {
			r.parts[text] = true
			r.step.Text("part", text)
		}
	}
	return v
}

// part formats the value of a part.
func (r *record) part(v ref.Val) string {
	text := ""
	switch v := v.(type) {
	case types.Null:
		return "null"
	case types.Int, types.Uint, types.Double:
		text = fmt.Sprint(v.Value())
	case types.Duration, types.Timestamp:
		text = fmt.Sprint(v.ConvertToType(types.StringType).Value())
	case traits.Lister:
		return "list of " + fmt.Sprint(v.Size().Value())
	case traits.Mapper:
		return "map of " + fmt.Sprint(v.Size().Value())
	case types.String:
		text = quoteShort(string(v))
	case *types.Err:
		return "error: " + r.maskText(v.Error())
	default:
		return r.value(v)
	}
	return r.maskText(text)
}
