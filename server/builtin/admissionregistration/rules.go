package admissionregistration

import (
	"fmt"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

var (
	operations = []admissionregistrationv1.OperationType{
		admissionregistrationv1.OperationAll, admissionregistrationv1.Connect, admissionregistrationv1.Create,
		admissionregistrationv1.Delete, admissionregistrationv1.Update,
	}
	scopes = []admissionregistrationv1.ScopeType{
		admissionregistrationv1.AllScopes, admissionregistrationv1.ClusterScope, admissionregistrationv1.NamespacedScope,
	}
)

// setRuleDefaults sets the scope to all objects, with and without a namespace.
func setRuleDefaults(rule *admissionregistrationv1.Rule) {
	if rule.Scope == nil {
		rule.Scope = new(admissionregistrationv1.AllScopes)
	}
}

func validateNamedRule(rule *admissionregistrationv1.NamedRuleWithOperations, path *field.Path) (errs field.ErrorList) {
	names := sets.New[string]()
	for i, name := range rule.ResourceNames {
		at := path.Child("resourceNames").Index(i)
		for _, msg := range content.IsPathSegmentName(name) {
			errs = append(errs, field.Invalid(at, name, msg))
		}
		if names.Has(name) {
			errs = append(errs, field.Duplicate(at, name))
		}
		names.Insert(name)
	}
	return append(errs, validateRule(&rule.RuleWithOperations, path)...)
}

func validateRule(rule *admissionregistrationv1.RuleWithOperations, path *field.Path) (errs field.ErrorList) {
	at := path.Child("operations")
	if len(rule.Operations) == 0 {
		errs = append(errs, field.Required(at, ""))
	}
	if len(rule.Operations) > 1 && slices.Contains(rule.Operations, admissionregistrationv1.OperationAll) {
		errs = append(errs, field.Invalid(at, rule.Operations, "if '*' is present, must not specify other operations"))
	}
	for i, operation := range rule.Operations {
		if !slices.Contains(operations, operation) {
			errs = append(errs, field.NotSupported(at.Index(i), operation, operations))
		}
	}
	errs = append(errs, validateNames(rule.APIGroups, "API groups", path.Child("apiGroups"))...)
	errs = append(errs, validateNames(rule.APIVersions, "API versions", path.Child("apiVersions"))...)
	for i, version := range rule.APIVersions {
		if version == "" {
			errs = append(errs, field.Required(path.Child("apiVersions").Index(i), ""))
		}
	}
	errs = append(errs, validateResources(rule.Resources, path.Child("resources"))...)
	if rule.Scope != nil && !slices.Contains(scopes, *rule.Scope) {
		errs = append(errs, field.NotSupported(path.Child("scope"), *rule.Scope, scopes))
	}
	return errs
}

// validateNames requires names, or a single wildcard.
func validateNames(names []string, what string, path *field.Path) (errs field.ErrorList) {
	if len(names) == 0 {
		errs = append(errs, field.Required(path, ""))
	}
	if len(names) > 1 && slices.Contains(names, "*") {
		errs = append(errs, field.Invalid(path, names, "if '*' is present, must not specify other "+what))
	}
	return errs
}

// validateResources requires resources and subresources that no earlier wildcard covers.
func validateResources(resources []string, path *field.Path) (errs field.ErrorList) {
	if len(resources) == 0 {
		errs = append(errs, field.Required(path, ""))
	}
	allOf, allWith := sets.New[string](), sets.New[string]() // the resource of "x/*", the subresource of "*/x"
	// plain is set by the last name without a subresource: it is true unless that name is "*".
	var plain bool
	for i, name := range resources {
		if name == "" {
			errs = append(errs, field.Required(path.Index(i), ""))
			continue
		}
		resource, sub, found := strings.Cut(name, "/")
		if !found {
			plain = name != "*"
			continue
		}
		if allOf.Has(resource) {
			errs = append(errs,
				field.Invalid(path.Index(i), name, fmt.Sprintf("if '%s/*' is present, must not specify %s", resource, name)))
		}
		if allWith.Has(sub) {
			errs = append(errs, field.Invalid(path.Index(i), name, fmt.Sprintf("if '*/%s' is present, must not specify %s", sub, name)))
		}
		if sub == "*" {
			allOf.Insert(resource)
		}
		if resource == "*" {
			allWith.Insert(sub)
		}
	}
	if len(resources) > 1 && slices.Contains(resources, "*/*") {
		errs = append(errs, field.Invalid(path, resources, "if '*/*' is present, must not specify other resources"))
	}
	if plain && slices.Contains(resources, "*") {
		errs = append(errs, field.Invalid(path, resources, "if '*' is present, must not specify other resources without subresources"))
	}
	return errs
}
