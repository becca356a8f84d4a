package check

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	registrationv1 "k8s.io/api/admissionregistration/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiserver/pkg/audit"
	"sigs.k8s.io/yaml"

	"github.com/kx-apiserver/kx/server/coverage"
)

// counted is the audit ID of requests whose evaluations count: those for documents and rows, not those of the check
// itself.
const counted = "kx-check"

// tally counts evaluations by expression.
type tally struct {
	lock   sync.Mutex
	counts map[coverage.Expression]*Counts
}

// observe implements [coverage.Observer].
func (t *tally) observe(ctx context.Context, e coverage.Expression, o coverage.Outcome) {
	if id, ok := audit.AuditIDFrom(ctx); !ok || id != counted {
		return
	}
	t.lock.Lock()
	defer t.lock.Unlock()
	of := t.counts[e]
	if of == nil {
		of = &Counts{}
		t.counts[e] = of
	}
	switch o {
	case coverage.True:
		of.True++
	case coverage.False:
		of.False++
	case coverage.Error:
		of.Errors++
	case coverage.Value:
		of.Values++
	}
}

// cover returns the expressions of the set with what they came to.
func (c *checker) cover() []Expression {
	known := map[coverage.Expression]Expression{}
	for i := c.base; i < len(c.documents); i++ {
		if d := c.documents[i]; d.root != nil && c.results[i].stored {
			for _, e := range d.expressions() {
				known[coverage.Expression{Kind: d.Kind, Name: d.Name, Path: e.Path}] = e // of several states the last is in force
			}
		}
	}
	c.tally.lock.Lock()
	defer c.tally.lock.Unlock()
	all := make([]Expression, 0, len(known))
	for name, e := range known {
		if counts := c.tally.counts[name]; counts != nil {
			e.Counts = *counts
		}
		all = append(all, e)
	}
	slices.SortFunc(all, func(a, b Expression) int {
		return cmp.Or(cmp.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column),
			cmp.Compare(a.Path, b.Path))
	})
	return all
}

// expressions returns the expressions of a definition or a policy.
func (d *document) expressions() (all []Expression) {
	add := func(path, text string, decides bool) {
		all = append(all, Expression{Position: d.field(path, nil), Object: d.Object, Path: path, Text: text, Decides: decides})
	}
	switch {
	case isDefinition(d):
		crd := &apiextensionsv1.CustomResourceDefinition{}
		if yaml.Unmarshal(d.text, crd) != nil {
			return nil
		}
		for i := range crd.Spec.Versions {
			if schema := crd.Spec.Versions[i].Schema; schema != nil {
				ruleFields(fmt.Sprintf("spec.versions[%d].schema.openAPIV3Schema", i), schema.OpenAPIV3Schema, add)
			}
		}
	case d.group() == groupPolicies && d.Kind == "ValidatingAdmissionPolicy":
		policy := &registrationv1.ValidatingAdmissionPolicy{}
		if yaml.Unmarshal(d.text, policy) != nil {
			return nil
		}
		conditions(policy.Spec.MatchConditions, policy.Spec.Variables, add)
		for i, v := range policy.Spec.Validations {
			add(fmt.Sprintf("spec.validations[%d].expression", i), v.Expression, true)
		}
	case d.group() == groupPolicies && d.Kind == "MutatingAdmissionPolicy":
		policy := &registrationv1.MutatingAdmissionPolicy{}
		if yaml.Unmarshal(d.text, policy) != nil {
			return nil
		}
		conditions(policy.Spec.MatchConditions, policy.Spec.Variables, add)
		for i, m := range policy.Spec.Mutations {
			if m.ApplyConfiguration != nil {
				add(fmt.Sprintf("spec.mutations[%d].applyConfiguration.expression", i), m.ApplyConfiguration.Expression, false)
			}
			if m.JSONPatch != nil {
				add(fmt.Sprintf("spec.mutations[%d].jsonPatch.expression", i), m.JSONPatch.Expression, false)
			}
		}
	}
	return all
}

func conditions(
	conditions []registrationv1.MatchCondition, variables []registrationv1.Variable, add func(path, text string, decides bool),
) {
	for i, m := range conditions {
		add(fmt.Sprintf("spec.matchConditions[%d].expression", i), m.Expression, true)
	}
	for i, v := range variables {
		add(fmt.Sprintf("spec.variables[%d].expression", i), v.Expression, false)
	}
}

// ruleFields calls add for the rules of a schema, with the paths by which the server names them.
func ruleFields(path string, s *apiextensionsv1.JSONSchemaProps, add func(path, text string, decides bool)) {
	if s == nil {
		return
	}
	for i, rule := range s.XValidations {
		add(fmt.Sprintf("%s.x-kubernetes-validations[%d].rule", path, i), rule.Rule, true)
	}
	for i := range s.AllOf {
		ruleFields(fmt.Sprintf("%s.allOf[%d]", path, i), &s.AllOf[i], add)
	}
	for name := range s.Properties {
		property := s.Properties[name]
		ruleFields(fmt.Sprintf("%s.properties[%s]", path, name), &property, add)
	}
	if s.AdditionalProperties != nil {
		ruleFields(path+".additionalProperties", s.AdditionalProperties.Schema, add)
	}
	if s.Items != nil {
		ruleFields(path+".items", s.Items.Schema, add)
	}
}

// Missing says what an expression never came to, and "" if it came to all that it could.
func (e *Expression) Missing() string {
	switch evaluated := e.True + e.False + e.Values; {
	case evaluated+e.Errors == 0:
		return "never evaluated"
	case evaluated == 0:
		return "only failed to evaluate"
	case e.Decides && e.True == 0:
		return "never true"
	case e.Decides && e.False == 0:
		return "never false"
	}
	return ""
}

// String names an expression, with what it came to.
func (e *Expression) String() string {
	text := fmt.Sprintf("%s: %s", e.Object, oneLine(e.Text))
	var came []string
	for _, of := range []struct {
		what  string
		count int
	}{{"true", e.True}, {"false", e.False}, {"a value", e.Values}, {"an error", e.Errors}} {
		if of.count > 0 {
			came = append(came, fmt.Sprintf("%s %d times", of.what, of.count))
		}
	}
	if len(came) > 0 {
		text += " (" + strings.Join(came, ", ") + ")"
	}
	return text
}
