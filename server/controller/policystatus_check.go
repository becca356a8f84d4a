package controller

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

// mostPolicyKinds limits the kinds of a rule that are checked, as upstream.
const mostPolicyKinds = 10

// policyChecker finds type errors, as the library's checker does. That one builds an environment for each
// expression, and brings client-go's fakes into the binary.
type policyChecker struct {
	mapper func(context.Context) meta.RESTMapper
	schema func(schema.GroupVersionKind) (*spec.Schema, error)
	log    *slog.Logger
}

// policy returns the errors in the expressions of a policy, and the number of kinds that it checked.
func (c *policyChecker) policy(ctx context.Context,
	p *registrationv1.ValidatingAdmissionPolicy) (warnings []registrationv1.ExpressionWarning, kinds int, err error) {
	var environments []policyEnvironment
	kindsOfRules := kindsOfPolicy(p, c.mapper(ctx))
	params := c.params(p.Spec.ParamKind)
	for _, kind := range kindsOfRules {
		if err := ctx.Err(); err != nil {
			return nil, 0, err
		}
		object, known := c.declared(kind, "1")
		if !known {
			continue
		}
		one, err := newPolicyEnvironment(kind, object, params, p.Spec.Variables)
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

// kindsOfPolicy returns the kinds of the resources that a policy's rules name individually, sorted.
func kindsOfPolicy(p *registrationv1.ValidatingAdmissionPolicy, mapper meta.RESTMapper) []schema.GroupVersionKind {
	kinds := sets.New[schema.GroupVersionKind]()
	if p.Spec.MatchConstraints != nil {
		for i := range p.Spec.MatchConstraints.ResourceRules {
			if addKindsOfRule(kinds, &p.Spec.MatchConstraints.ResourceRules[i].Rule, mapper) == mostPolicyKinds {
				break // upstream looks at no further rule
			}
		}
	}
	return slices.SortedFunc(maps.Keys(kinds), func(a, b schema.GroupVersionKind) int {
		return slices.Compare([]string{a.Group, a.Version, a.Kind}, []string{b.Group, b.Version, b.Kind})
	})
}

// addKindsOfRule adds the kinds of a rule, and returns their number.
func addKindsOfRule(kinds sets.Set[schema.GroupVersionKind], rule *registrationv1.Rule, mapper meta.RESTMapper) (count int) {
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
					continue // it is not served
				}
				for _, kind := range found {
					kinds.Insert(kind)
					if count++; count == mostPolicyKinds {
						return count
					}
				}
			}
		}
	}
	return count
}

// params returns the type of a policy's params, nil without params.
func (c *policyChecker) params(k *registrationv1.ParamKind) *paramsDeclaration {
	if k == nil {
		return nil
	}
	params := &paramsDeclaration{}
	if gv, err := schema.ParseGroupVersion(k.APIVersion); err == nil {
		params.declared, _ = c.declared(gv.WithKind(k.Kind), "2")
	}
	return params
}

// paramsDeclaration is the type of an existing params variable. declared is nil if the type is unknown.
type paramsDeclaration struct{ declared *apiservercel.DeclType }

// declared returns the type of a kind, if its schema is known. suffix ends the type's name: it distinguishes
// params from objects, and either from the types of CEL.
func (c *policyChecker) declared(kind schema.GroupVersionKind, suffix string) (declared *apiservercel.DeclType, known bool) {
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

// policyEnvironment compiles expressions for objects of a kind.
type policyEnvironment struct {
	kind schema.GroupVersionKind
	env  *celgo.Env
}

func newPolicyEnvironment(kind schema.GroupVersionKind, object *apiservercel.DeclType, params *paramsDeclaration,
	variables []registrationv1.Variable) (policyEnvironment, error) {
	none := policyEnvironment{}
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
	composed.Compiler = variableTypes{env}
	for _, v := range variables {
		composed.CompileAndStoreVariable(policyVariable(v), cel.OptionalVariableDeclarations{}, environment.StoredExpressions)
	}
	return policyEnvironment{kind, env}, nil
}

// problem returns the error in an expression, "" if it has none.
func (e *policyEnvironment) problem(expression string) string {
	_, issues := e.env.Compile(expression)
	if issues == nil {
		return ""
	}
	return issues.String()
}

// variableTypes determines the type of a variable's value, and builds no program.
type variableTypes struct{ env *celgo.Env }

func (o variableTypes) CompileCELExpression(e cel.ExpressionAccessor, _ cel.OptionalVariableDeclarations,
	_ environment.Type) cel.CompilationResult {
	ast, issues := o.env.Compile(e.GetExpression())
	if issues != nil {
		return cel.CompilationResult{Error: &apiservercel.Error{Type: apiservercel.ErrorTypeInvalid, Detail: issues.String()}}
	}
	return cel.CompilationResult{OutputType: ast.OutputType()}
}

// policyVariable is a variable of a policy.
type policyVariable registrationv1.Variable

func (v policyVariable) GetName() string            { return v.Name }
func (v policyVariable) GetExpression() string      { return v.Expression }
func (v policyVariable) ReturnTypes() []*celgo.Type { return []*celgo.Type{celgo.AnyType} }
