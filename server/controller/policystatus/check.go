package policystatus

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"

	celgo "github.com/google/cel-go/cel"
	registrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/apiserver/pkg/admission/plugin/cel"
	apiservercel "k8s.io/apiserver/pkg/cel"
	"k8s.io/apiserver/pkg/cel/common"
	"k8s.io/apiserver/pkg/cel/environment"
	"k8s.io/apiserver/pkg/cel/library"
	"k8s.io/apiserver/pkg/cel/openapi"
	"k8s.io/apiserver/pkg/cel/openapi/resolver"
	"k8s.io/kube-openapi/pkg/validation/spec"
)

// mostKinds is how many kinds of a rule are looked at, as upstream.
const mostKinds = 10

// checker finds errors of type, as the library's checker does. That one makes an environment for each expression, and brings
// client-go's fakes into the binary.
type checker struct {
	mapper func(context.Context) meta.RESTMapper
	schema func(schema.GroupVersionKind) (*spec.Schema, error)
	log    *slog.Logger
}

// policy returns what is wrong with the expressions of a policy, and for how many kinds that was looked at.
func (c *checker) policy(ctx context.Context, p *registrationv1.ValidatingAdmissionPolicy) (warnings []registrationv1.ExpressionWarning, kinds int, err error) {
	var environments []environmentOf
	kindsOfRules := kindsOf(p, c.mapper(ctx))
	params := c.params(p.Spec.ParamKind)
	for _, kind := range kindsOfRules {
		if err := ctx.Err(); err != nil {
			return nil, 0, err
		}
		object, known := c.declared(kind, "1")
		if !known {
			continue
		}
		one, err := newEnvironment(kind, object, params, p.Spec.Variables)
		if err != nil {
			return nil, 0, err
		}
		environments = append(environments, one)
	}
	look := func(at *field.Path, expression string) {
		var found strings.Builder
		for i := range environments {
			if problem := environments[i].problem(expression); problem != "" {
				if found.Len() > 0 {
					found.WriteByte('\n')
				}
				fmt.Fprintf(&found, "%v: %s\n", environments[i].kind, problem)
			}
		}
		if found.Len() > 0 {
			warnings = append(warnings, registrationv1.ExpressionWarning{FieldRef: at.String(), Warning: found.String()})
		}
	}
	for i, v := range p.Spec.Validations {
		at := field.NewPath("spec", "validations").Index(i)
		look(at.Child("expression"), v.Expression)
		if v.MessageExpression != "" {
			look(at.Child("messageExpression"), v.MessageExpression)
		}
	}
	return warnings, len(environments), nil
}

// kindsOf are the kinds of the resources that a policy's rules name one by one, in their order.
func kindsOf(p *registrationv1.ValidatingAdmissionPolicy, mapper meta.RESTMapper) []schema.GroupVersionKind {
	kinds := sets.New[schema.GroupVersionKind]()
	if p.Spec.MatchConstraints != nil {
		for i := range p.Spec.MatchConstraints.ResourceRules {
			if addKinds(kinds, &p.Spec.MatchConstraints.ResourceRules[i].Rule, mapper) == mostKinds {
				break // upstream looks at no further rule
			}
		}
	}
	return slices.SortedFunc(maps.Keys(kinds), func(a, b schema.GroupVersionKind) int {
		return slices.Compare([]string{a.Group, a.Version, a.Kind}, []string{b.Group, b.Version, b.Kind})
	})
}

// addKinds adds the kinds of a rule, and returns how many it found.
func addKinds(kinds sets.Set[schema.GroupVersionKind], rule *registrationv1.Rule, mapper meta.RESTMapper) (count int) {
	wild := func(s string) bool { return strings.Contains(s, "*") }
	if slices.ContainsFunc(rule.APIGroups, wild) || slices.ContainsFunc(rule.APIVersions, wild) {
		return 0
	}
	sorted := func(list []string) []string { return slices.Sorted(slices.Values(list)) }
	for _, group := range sorted(rule.APIGroups) {
		for _, version := range sorted(rule.APIVersions) {
			for _, resource := range sorted(rule.Resources) {
				if strings.ContainsAny(resource, "*/") {
					continue
				}
				found, err := mapper.KindsFor(schema.GroupVersionResource{Group: group, Version: version, Resource: resource})
				if err != nil {
					continue // nobody serves it
				}
				for _, kind := range found {
					kinds.Insert(kind)
					if count++; count == mostKinds {
						return count
					}
				}
			}
		}
	}
	return count
}

// params is the type of a policy's params, nil without params.
func (c *checker) params(k *registrationv1.ParamKind) *declaration {
	if k == nil {
		return nil
	}
	params := &declaration{}
	if gv, err := schema.ParseGroupVersion(k.APIVersion); err == nil {
		params.declared, _ = c.declared(gv.WithKind(k.Kind), "2")
	}
	return params
}

// declaration is of a variable that is there, whose type may be unknown.
type declaration struct{ declared *apiservercel.DeclType }

// declared is the type of a kind, if something is known of the kind. Its name ends with something that tells params from objects, and either
// from the types of the language.
func (c *checker) declared(kind schema.GroupVersionKind, suffix string) (declared *apiservercel.DeclType, known bool) {
	s, err := c.schema(kind)
	if err != nil {
		if !errors.Is(err, resolver.ErrSchemaNotFound) {
			c.log.Warn("expressions of policies are not checked for a kind: what describes it cannot be read", "kind", kind, "error", err)
		}
		return nil, false
	}
	if declared = common.SchemaDeclType(&openapi.Schema{Schema: s}, true); declared != nil {
		declared = declared.MaybeAssignTypeName(kind.Kind + suffix)
	}
	return declared, true
}

// environmentOf compiles expressions for objects of a kind.
type environmentOf struct {
	kind schema.GroupVersionKind
	env  *celgo.Env
}

func newEnvironment(kind schema.GroupVersionKind, object *apiservercel.DeclType, params *declaration, variables []registrationv1.Variable) (environmentOf, error) {
	none := environmentOf{}
	request, namespace := cel.BuildRequestType(), cel.BuildNamespaceType()
	declared := []*apiservercel.DeclType{request, namespace}
	options := []celgo.EnvOption{
		celgo.Variable(cel.RequestVarName, request.CelType()), celgo.Variable(cel.NamespaceVarName, namespace.CelType()),
		celgo.Variable("authorizer", library.AuthorizerType),
	}
	add := func(t *apiservercel.DeclType, names ...string) {
		is := celgo.DynType
		if t != nil {
			declared, is = append(declared, t), t.CelType()
		}
		for _, name := range names {
			options = append(options, celgo.Variable(name, is))
		}
	}
	add(object, cel.ObjectVarName, cel.OldObjectVarName)
	if params != nil {
		add(params.declared, cel.ParamsVarName)
	}
	all, err := environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()).Extend(environment.VersionedOptions{
		IntroducedVersion: version.MajorMinor(1, 0), EnvOptions: options, DeclTypes: declared,
	})
	if err != nil {
		return none, fmt.Errorf("types of %s: %w", kind, err)
	}
	composed, err := cel.NewCompositedCompilerForTypeChecking(all)
	if err != nil {
		return none, fmt.Errorf("types of %s: %w", kind, err)
	}
	env, err := composed.Env(environment.StoredExpressions)
	if err != nil {
		return none, fmt.Errorf("types of %s: %w", kind, err)
	}
	composed.Compiler = outputs{env}
	for _, v := range variables {
		composed.CompileAndStoreVariable(variable(v), cel.OptionalVariableDeclarations{}, environment.StoredExpressions)
	}
	return environmentOf{kind, env}, nil
}

// problem says what is wrong with an expression, "" if nothing is.
func (e *environmentOf) problem(expression string) string {
	_, issues := e.env.Compile(expression)
	if issues == nil {
		return ""
	}
	return issues.String()
}

// outputs finds the type of a variable's value, and makes no program.
type outputs struct{ env *celgo.Env }

func (o outputs) CompileCELExpression(e cel.ExpressionAccessor, _ cel.OptionalVariableDeclarations, _ environment.Type) cel.CompilationResult {
	ast, issues := o.env.Compile(e.GetExpression())
	if issues != nil {
		return cel.CompilationResult{Error: &apiservercel.Error{Type: apiservercel.ErrorTypeInvalid, Detail: issues.String()}}
	}
	return cel.CompilationResult{OutputType: ast.OutputType()}
}

// variable is one of a policy.
type variable registrationv1.Variable

func (v variable) GetName() string            { return v.Name }
func (v variable) GetExpression() string      { return v.Expression }
func (v variable) ReturnTypes() []*celgo.Type { return []*celgo.Type{celgo.AnyType} }
