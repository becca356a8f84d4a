package policy

import (
	"context"
	"fmt"
	"slices"
	"strings"

	registrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/warning"

	"github.com/kx-apiserver/kx/server/admission/match"
	"github.com/kx-apiserver/kx/server/admission/plugin"
)

// Trial evaluates policies that are not installed, on writes that are not performed.
type Trial struct {
	policies   *Policies
	mutating   []*policy[*mutator]
	validating []*policy[*validator]
}

// NewTrial creates a trial of policies and bindings, which must be valid. A policy without a binding is
// evaluated as if a binding with the action Deny bound it to everything. ofKind finds params.
func NewTrial(c Config, ofKind func(schema.GroupVersionKind) (Params, bool), objects []runtime.Object) *Trial {
	t := &Trial{policies: New(c)}
	t.policies.Initialize(ofKind)
	var mutating, validating []*binding
	for _, obj := range objects {
		switch obj := obj.(type) {
		case *registrationv1.MutatingAdmissionPolicy:
			t.mutating = append(t.mutating, new(t.policies.mutatingPolicy(obj)))
		case *registrationv1.ValidatingAdmissionPolicy:
			t.validating = append(t.validating, new(t.policies.validatingPolicy(obj)))
		case *registrationv1.MutatingAdmissionPolicyBinding:
			mutating = append(mutating, mutatingBinding(obj))
		case *registrationv1.ValidatingAdmissionPolicyBinding:
			validating = append(validating, validatingBinding(obj))
		}
	}
	bind(t.mutating, mutating)
	bind(t.validating, validating)
	return t
}

// bind adds the bindings to their policies, in the order in which a server evaluates them.
func bind[E any](policies []*policy[E], bindings []*binding) {
	slices.SortFunc(bindings, func(a, b *binding) int { return strings.Compare(a.name, b.name) })
	slices.SortFunc(policies, func(a, b *policy[E]) int { return strings.Compare(a.name, b.name) })
	for _, p := range policies {
		for _, b := range bindings {
			if b.policy == p.name {
				p.bindings = append(p.bindings, b)
			}
		}
		if len(p.bindings) == 0 {
			p.bindings = []*binding{{name: p.name, policy: p.name, actions: []registrationv1.ValidationAction{registrationv1.Deny}}}
		}
	}
}

// Outcome is the predicted result of a write.
type Outcome struct {
	// Asked counts the policies that match the write.
	Asked int
	// Failures lists the failed validations for which a binding has an action.
	Failures []Failure
	// Warnings lists all warnings for the client, not only those of failures.
	Warnings []string
	// Annotations holds the audit annotations.
	Annotations map[string]string
	// Refusal is the client's error.
	Refusal error
}

// Failure is a failed validation.
type Failure struct {
	Policy  string                            `json:"policy"`
	Binding string                            `json:"binding"`
	Field   string                            `json:"field"`
	Actions []registrationv1.ValidationAction `json:"actions"`
	Message string                            `json:"message"`
}

// Mutate applies the mutating policies that match a write to its object.
func (t *Trial) Mutate(ctx context.Context, a admission.Attributes, o admission.ObjectInterfaces) (out Outcome) {
	if match.Exempt(a) || configures(a) {
		return out
	}
	said := &warningList{}
	ctx = warning.WithWarningRecorder(ctx, said)
	asked, err := t.policies.mutateBy(ctx, plugin.Write{Attributes: a, Objects: o}, t.mutating)
	return Outcome{Asked: asked, Warnings: said.warnings, Refusal: err}
}

// Validate evaluates the validating policies for a write.
func (t *Trial) Validate(ctx context.Context, a admission.Attributes, o admission.ObjectInterfaces) (out Outcome) {
	if match.Exempt(a) || configures(a) {
		return out
	}
	said, noted := &warningList{}, &annotationList{Attributes: a, all: map[string]string{}}
	ctx = warning.WithWarningRecorder(ctx, said)
	tell := func(f *failureRecord) {
		out.Failures = append(out.Failures, Failure{
			Policy: f.Policy, Binding: f.Binding, Field: fmt.Sprintf("spec.validations[%d]", f.ExpressionIndex),
			Actions: f.ValidationActions, Message: f.Message,
		})
	}
	out.Asked, out.Refusal = t.policies.validateBy(ctx, plugin.Write{Attributes: noted, Objects: o}, t.validating, tell)
	out.Warnings, out.Annotations = said.warnings, noted.all
	return out
}

// Covers reports whether any policy of the trial has a rule for this operation.
func (t *Trial) Covers(operation admission.Operation) bool {
	return slices.ContainsFunc(t.mutating, func(p *policy[*mutator]) bool { return p.about.names(operation) }) ||
		slices.ContainsFunc(t.validating, func(p *policy[*validator]) bool { return p.about.names(operation) })
}

// names reports whether a rule names an operation.
func (s *selection) names(operation admission.Operation) bool {
	return slices.ContainsFunc(s.resources.ResourceRules, func(r registrationv1.NamedRuleWithOperations) bool {
		return slices.Contains(r.Operations, registrationv1.OperationAll) ||
			slices.Contains(r.Operations, registrationv1.OperationType(operation))
	})
}

// warningList collects warnings.
type warningList struct{ warnings []string }

func (s *warningList) AddWarning(_, text string) { s.warnings = append(s.warnings, text) }

// annotationList collects annotations instead of sending them to the audit log.
type annotationList struct {
	admission.Attributes
	all map[string]string
}

func (a *annotationList) AddAnnotation(key, value string) error {
	if _, taken := a.all[key]; taken {
		return fmt.Errorf("the annotation %q is taken", key)
	}
	a.all[key] = value
	return nil
}
