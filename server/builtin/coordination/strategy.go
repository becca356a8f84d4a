// Package coordination declares leases and their candidates. They share the rule for the strategy by which a holder
// is chosen.
package coordination

import (
	"slices"
	"strings"

	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// validateStrategy accepts Kubernetes' own strategies, and others with a qualified name. As in Kubernetes, the path
// names the field twice.
func validateStrategy(strategy coordinationv1.CoordinatedLeaseStrategy, path *field.Path) (errs field.ErrorList) {
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
