package admissionregistration

import (
	"fmt"
	"slices"
	"strings"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// ManifestSuffix is the suffix of the names of configurations that a server reads from files.
const ManifestSuffix = ".static.k8s.io"

var reservedName = fmt.Sprintf(
	"names ending with %q are reserved for static manifest-based configurations and cannot be managed via the API", ManifestSuffix)

// validateSuffix refuses new objects with the names of configurations in files.
func validateSuffix(name string) field.ErrorList {
	if !strings.HasSuffix(name, ManifestSuffix) {
		return nil
	}
	return field.ErrorList{field.Invalid(field.NewPath("metadata", "name"), name, reservedName)}
}

// ValidateManifest adapts the errors of a new object to one from a file, whose name must have the suffix.
func ValidateManifest(name string, errs field.ErrorList) field.ErrorList {
	if !strings.HasSuffix(name, ManifestSuffix) {
		return append(errs,
			field.Invalid(field.NewPath("metadata", "name"), name, fmt.Sprintf("must have a name ending with %q", ManifestSuffix)))
	}
	return slices.DeleteFunc(errs, func(err *field.Error) bool { return err.Detail == reservedName })
}

// oldNameWarnings returns nameWarnings for an updated object.
func oldNameWarnings[T object](obj, old T) []string {
	var none T
	if old == none {
		return nil
	}
	return nameWarnings(obj.GetName())
}

// nameWarnings warns of the suffix in the name of an old object. New objects with the suffix are refused.
func nameWarnings(name string) []string {
	if !strings.HasSuffix(name, ManifestSuffix) {
		return nil
	}
	return []string{"metadata.name: " + reservedName}
}

// untouchable lists the resources for which the server calls no webhook: if their reviews failed, the cluster could
// not be repaired.
var untouchable = []schema.GroupResource{
	{Group: authenticationv1.GroupName, Resource: "selfsubjectreviews"},
	{Group: authenticationv1.GroupName, Resource: "tokenreviews"},
	{Group: authorizationv1.GroupName, Resource: "localsubjectaccessreviews"},
	{Group: authorizationv1.GroupName, Resource: "selfsubjectaccessreviews"},
	{Group: authorizationv1.GroupName, Resource: "selfsubjectrulesreviews"},
	{Group: authorizationv1.GroupName, Resource: "subjectaccessreviews"},
}

// warnings reports rules without effect, and for an update a name that new configurations cannot have.
func (c Configuration) warnings(update bool) (warnings []string) {
	if update {
		warnings = nameWarnings(c.Meta.Name)
	}
	for i, hook := range c.Webhooks {
		for j, rule := range hook.Rules {
			if slices.Contains(rule.APIGroups, "*") || slices.Contains(rule.Resources, "*") {
				continue
			}
			path := field.NewPath("webhooks").Index(i).Child("rules").Index(j)
			for _, r := range untouchableOf(rule.APIGroups, rule.Resources) {
				warnings = append(warnings,
					fmt.Sprintf("%s: %s is excluded from admission webhooks; this rule will have no effect", path, r))
			}
		}
	}
	return warnings
}

// untouchableOf returns the untouchable resources of a rule without duplicates, in the rule's order. Only groups and
// names of untouchable resources are combined: all combinations of a large rule could be billions.
func untouchableOf(groups, resources []string) (found []schema.GroupResource) {
	groups = among(groups, func(r schema.GroupResource) string { return r.Group })
	resources = among(resources, func(r schema.GroupResource) string { return r.Resource })
	for _, group := range groups {
		for _, resource := range resources {
			if r := (schema.GroupResource{Group: group, Resource: resource}); slices.Contains(untouchable, r) {
				found = append(found, r)
			}
		}
	}
	return found
}

// among returns each word once that equals a part of an untouchable resource.
func among(words []string, part func(schema.GroupResource) string) (found []string) {
	for _, word := range words {
		known := slices.ContainsFunc(untouchable, func(r schema.GroupResource) bool { return part(r) == word })
		if known && !slices.Contains(found, word) {
			found = append(found, word)
		}
	}
	return found
}
