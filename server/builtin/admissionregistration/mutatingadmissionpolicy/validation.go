package mutatingadmissionpolicy

import (
	"strings"

	"github.com/google/cel-go/cel"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kx-apiserver/kx/server/builtin/admissionregistration"
)

var (
	patchTypes = []admissionregistrationv1.PatchType{admissionregistrationv1.PatchTypeApplyConfiguration, admissionregistrationv1.PatchTypeJSONPatch}
	// What the expressions of the two give.
	configuration = []*cel.Type{cel.ObjectType("Object")}
	operations    = []*cel.Type{cel.ListType(cel.ObjectType("JSONPatch"))}
)

// check checks what only mutating policies have.
type check struct {
	policy   *admissionregistrationv1.MutatingAdmissionPolicy
	compiler func() admissionregistration.Compiler
	// stored are the expressions of the old policy's configurations. Those of its patches are not looked up: a Kubernetes API
	// server takes them for new ones.
	stored sets.Set[string]
}

func validate(p, old *admissionregistrationv1.MutatingAdmissionPolicy) field.ErrorList {
	var was *admissionregistration.Policy
	var known sets.Set[string]
	if old != nil {
		was = new(parts(old))
		known = admissionregistration.Texts(old.Spec.Mutations, func(m admissionregistrationv1.Mutation) string {
			if m.ApplyConfiguration == nil {
				return ""
			}
			return m.ApplyConfiguration.Expression
		})
	}
	return parts(p).Validate(admissionregistration.Rules{
		Match:     admissionregistration.ValidateMutable,
		Composing: true,
		Rest: func(compiler func() admissionregistration.Compiler) field.ErrorList {
			return check{p, compiler, known}.rest(field.NewPath("spec"))
		},
	}, was)
}

func (c check) rest(path *field.Path) (errs field.ErrorList) {
	spec := &c.policy.Spec
	if len(spec.Mutations) == 0 {
		errs = append(errs, field.Required(path.Child("mutations"), "mutations must contain at least one item"))
	}
	for i := range spec.Mutations {
		errs = append(errs, c.mutation(&spec.Mutations[i], path.Child("mutations").Index(i))...)
	}
	return append(errs, admissionregistration.ValidateReinvocation(spec.ReinvocationPolicy, path.Child("reinvocationPolicy"))...)
}

// mutation wants the one way to change an object that its type names.
func (c check) mutation(m *admissionregistrationv1.Mutation, path *field.Path) (errs field.ErrorList) {
	patch, apply := path.Child("jsonPatch"), path.Child("applyConfiguration")
	switch m.PatchType {
	case "":
		errs = append(errs, field.Required(path.Child("patchType"), ""))
	case admissionregistrationv1.PatchTypeJSONPatch:
		if m.JSONPatch == nil {
			errs = append(errs, field.Required(patch, "must be specified when patchType is JSONPatch"))
		} else {
			errs = append(errs, c.expression(m.JSONPatch.Expression, operations, patch.Child("expression"))...)
		}
		if m.ApplyConfiguration != nil {
			errs = append(errs, field.Invalid(apply, "{applyConfiguration}", "must not be specified when patchType is JSONPatch"))
		}
	case admissionregistrationv1.PatchTypeApplyConfiguration:
		if m.ApplyConfiguration == nil {
			errs = append(errs, field.Required(apply, "must be specified when patchType is ApplyConfiguration"))
		} else {
			errs = append(errs, c.expression(m.ApplyConfiguration.Expression, configuration, apply.Child("expression"))...)
		}
		if m.JSONPatch != nil {
			errs = append(errs, field.Invalid(patch, "{jsonPatch}", "must not be specified when patchType is ApplyConfiguration"))
		}
	default:
		errs = append(errs, field.NotSupported(path.Child("patchType"), m.PatchType, patchTypes))
	}
	return errs
}

func (c check) expression(text string, types []*cel.Type, path *field.Path) field.ErrorList {
	trimmed := strings.TrimSpace(text)
	if trimmed == "" {
		return field.ErrorList{field.Required(path, "")}
	}
	return c.compiler().Check(admissionregistration.Expression{
		Text: trimmed, Types: types, Stored: c.stored.Has(text),
		Variables: admissionregistration.Variables{HasParams: c.policy.Spec.ParamKind != nil, HasAuthorizer: true, HasPatchTypes: true},
	}, path)
}
