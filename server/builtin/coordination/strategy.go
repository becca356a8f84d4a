// Package coordination declares leases and their candidates, with what they share: the rule for how a holder is chosen.
package coordination

import (
	"slices"
	"strings"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// ValidateStrategy takes Kubernetes' own strategies, and others by a qualified name. Kubernetes names the field twice.
func ValidateStrategy(strategy coordinationv1.CoordinatedLeaseStrategy, path *field.Path) (errs field.ErrorList) {
	path = path.Child("strategy")
	known := []coordinationv1.CoordinatedLeaseStrategy{coordinationv1.OldestEmulationVersion}
	if !strings.Contains(string(strategy), "/") {
		if !slices.Contains(known, strategy) {
			errs = append(errs, field.NotSupported(path, strategy, known))
		}
		return errs
	}
	for _, msg := range validation.IsQualifiedName(string(strategy)) {
		errs = append(errs, field.Invalid(path, strategy, msg))
	}
	return errs
}
