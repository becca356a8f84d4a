package admissionregistration

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kx-apiserver/kx/server/builtin"
)

const unset = "<unset>"

var configurationColumns = []builtin.Column{
	builtin.NameColumn,
	{Name: "Webhooks", Type: "integer", Description: "Webhooks indicates the number of webhooks registered in this configuration"},
	builtin.AgeColumn,
}

// row makes the cells of a configuration.
func (c Configuration) row() metav1.TableRow {
	return builtin.Row(c.Meta.Name, int64(len(c.Webhooks)), builtin.Age(c.Meta.CreationTimestamp))
}

// policyColumns returns the columns of a policy: name, number of rules, kind of the parameters, and age.
func policyColumns(rules, description string) []builtin.Column {
	return []builtin.Column{
		builtin.NameColumn,
		{Name: rules, Type: "integer", Description: description},
		{Name: "ParamKind", Type: "string", Description: "ParamKind specifies the kind of resources used to parameterize this policy"},
		builtin.AgeColumn,
	}
}

// row makes the cells of a policy. rules is the number of its rules.
func (p policy) row(rules int) metav1.TableRow {
	kind := unset
	if p.ParamKind != nil {
		kind = p.ParamKind.APIVersion + "/" + p.ParamKind.Kind
	}
	return builtin.Row(p.Meta.Name, int64(rules), kind, builtin.Age(p.Meta.CreationTimestamp))
}

// bindingColumns returns the columns of a binding.
func bindingColumns() []builtin.Column {
	return []builtin.Column{
		builtin.NameColumn,
		{Name: "PolicyName", Type: "string", Description: "PolicyName indicates the policy definition which the policy binding binded to"},
		{Name: "ParamRef", Type: "string", Description: "ParamRef indicates the param resource which sets the configuration param"},
		builtin.AgeColumn,
	}
}

// row makes the cells of a binding.
func (b binding) row() metav1.TableRow {
	params := unset
	switch ref := b.ParamRef; {
	case ref == nil:
	case ref.Name != "" && ref.Namespace != "":
		params = ref.Namespace + "/" + ref.Name
	case ref.Name != "":
		params = "*/" + ref.Name // in a namespace, or in none
	case ref.Selector != nil:
		params = ref.Selector.String()
	}
	return builtin.Row(b.Meta.Name, b.PolicyName, params, builtin.Age(b.Meta.CreationTimestamp))
}
