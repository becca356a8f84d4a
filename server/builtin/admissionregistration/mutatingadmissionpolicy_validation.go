package admissionregistration

import (
	"strings"

	"github.com/google/cel-go/cel"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

var (
	patchTypes = []admissionregistrationv1.PatchType{admissionregistrationv1.PatchTypeApplyConfiguration,
		admissionregistrationv1.PatchTypeJSONPatch}
	// The types of values of both kinds of mutations.
	configuration                     = []*cel.Type{cel.ObjectType("Object")}
	mutatingAdmissionPolicyOperations = []*cel.Type{cel.ListType(cel.ObjectType("JSONPatch"))}
)

// checkMutatingAdmissionPolicy checks the fields that only mutating policies have.
type checkMutatingAdmissionPolicy struct {
	policy   *admissionregistrationv1.MutatingAdmissionPolicy
	compiler func() compiler
	// stored holds the expressions of the old policy's apply configurations. It lacks those of its JSON patches: a
	// Kubernetes API server treats them as new.
	stored sets.Set[string]
}

func validateMutatingAdmissionPolicy(p, old *admissionregistrationv1.MutatingAdmissionPolicy) field.ErrorList {
	var was *policy
	var known sets.Set[string]
	if old != nil {
		was = new(mutatingAdmissionPolicyParts(old))
		known = texts(old.Spec.Mutations, func(m admissionregistrationv1.Mutation) string {
			if m.ApplyConfiguration == nil {
				return ""
			}
			return m.ApplyConfiguration.Expression
		})
	}
	return mutatingAdmissionPolicyParts(p).Validate(Rules{
		Match:     validateMutable,
		Composing: true,
		Rest: func(compiler func() compiler) field.ErrorList {
			return checkMutatingAdmissionPolicy{p, compiler, known}.rest(field.NewPath("spec"))
		},
	}, was)
}

func (c checkMutatingAdmissionPolicy) rest(path *field.Path) (errs field.ErrorList) {
	spec := &c.policy.Spec
	if len(spec.Mutations) == 0 {
		errs = append(errs, field.Required(path.Child("mutations"), "mutations must contain at least one item"))
	}
	for i := range spec.Mutations {
		errs = append(errs, c.mutation(&spec.Mutations[i], path.Child("mutations").Index(i))...)
	}
	return append(errs, validateReinvocation(spec.ReinvocationPolicy, path.Child("reinvocationPolicy"))...)
}

// mutation requires the field that belongs to the mutation's type, and forbids the other.
func (c checkMutatingAdmissionPolicy) mutation(m *admissionregistrationv1.Mutation, path *field.Path) (errs field.ErrorList) {
	patch, apply := path.Child("jsonPatch"), path.Child("applyConfiguration")
	switch m.PatchType {
	case "":
		errs = append(errs, field.Required(path.Child("patchType"), ""))
	case admissionregistrationv1.PatchTypeJSONPatch:
		if m.JSONPatch == nil {
			errs = append(errs, field.Required(patch, "must be specified when patchType is JSONPatch"))
		} else {
			errs = append(errs, c.expression(m.JSONPatch.Expression, mutatingAdmissionPolicyOperations, patch.Child("expression"))...)
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

func (c checkMutatingAdmissionPolicy) expression(text string, types []*cel.Type, path *field.Path) field.ErrorList {
	trimmed := strings.TrimSpace(text)
	if trimmed == "" {
		return field.ErrorList{field.Required(path, "")}
	}
	return c.compiler().Check(expression{
		Text: trimmed, Types: types, Stored: c.stored.Has(text),
		Variables: variables{HasParams: c.policy.Spec.ParamKind != nil, HasAuthorizer: true, HasPatchTypes: true},
	}, path)
}
