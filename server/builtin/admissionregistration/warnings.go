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

// ManifestSuffix ends the names of configurations that a server reads from files.
const ManifestSuffix = ".static.k8s.io"

var reservedName = fmt.Sprintf(
	"names ending with %q are reserved for static manifest-based configurations and cannot be managed via the API", ManifestSuffix)

// ValidateSuffix keeps new objects from names of configurations in files.
func ValidateSuffix(name string) field.ErrorList {
	if !strings.HasSuffix(name, ManifestSuffix) {
		return nil
	}
	return field.ErrorList{field.Invalid(field.NewPath("metadata", "name"), name, reservedName)}
}

// ValidateManifest makes the errors of a new object those of one in a file, whose name must be such a one.
func ValidateManifest(name string, errs field.ErrorList) field.ErrorList {
	if !strings.HasSuffix(name, ManifestSuffix) {
		return append(errs,
			field.Invalid(field.NewPath("metadata", "name"), name, fmt.Sprintf("must have a name ending with %q", ManifestSuffix)))
	}
	return slices.DeleteFunc(errs, func(err *field.Error) bool { return err.Detail == reservedName })
}

// OldNameWarnings are nameWarnings of an updated object.
func OldNameWarnings[T object](obj, old T) []string {
	var none T
	if old == none {
		return nil
	}
	return nameWarnings(obj.GetName())
}

// nameWarnings are about an old object whose name is one of a configuration in a file. New ones are refused.
func nameWarnings(name string) []string {
	if !strings.HasSuffix(name, ManifestSuffix) {
		return nil
	}
	return []string{"metadata.name: " + reservedName}
}

// untouchable are resources for which no webhook is called: a cluster whose reviews fail can't be repaired.
var untouchable = []schema.GroupResource{
	{Group: authenticationv1.GroupName, Resource: "selfsubjectreviews"},
	{Group: authenticationv1.GroupName, Resource: "tokenreviews"},
	{Group: authorizationv1.GroupName, Resource: "localsubjectaccessreviews"},
	{Group: authorizationv1.GroupName, Resource: "selfsubjectaccessreviews"},
	{Group: authorizationv1.GroupName, Resource: "selfsubjectrulesreviews"},
	{Group: authorizationv1.GroupName, Resource: "subjectaccessreviews"},
}

// Warnings names rules without effect. An updated configuration may also have a name that a new one can't.
func (c Configuration) Warnings(update bool) (warnings []string) {
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

// untouchableOf returns each once, in the order of the rule.
func untouchableOf(groups, resources []string) (found []schema.GroupResource) {
	for _, group := range groups {
		for _, resource := range resources {
			r := schema.GroupResource{Group: group, Resource: resource}
			if slices.Contains(untouchable, r) && !slices.Contains(found, r) {
				found = append(found, r)
			}
		}
	}
	return found
}
