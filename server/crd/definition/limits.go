package definition

import (
	"fmt"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// These parts of a definition cost far more than their size. When Kubernetes' library validates a definition,
// it compiles each rule, copies a global cache for each new pattern that it matches a default against, and
// compares each error in a default with all earlier ones.
const (
	maxRules         = 2_000
	maxPatterns      = 5_000
	maxDefaultValues = 1_000
)

// size counts the limited parts of a definition.
type size struct {
	rules, patterns, defaultValues int
}

func sizeOf(spec *apiextensions.CustomResourceDefinitionSpec) (n size) {
	patterns := map[string]bool{}
	eachSchema(spec, func(s *apiextensions.JSONSchemaProps) {
		n.rules += len(s.XValidations)
		if s.Pattern != "" {
			patterns[s.Pattern] = true
		}
		if s.Default != nil {
			n.defaultValues = max(n.defaultValues, countValues(*s.Default))
		}
	})
	n.patterns = len(patterns)
	return n
}

func countValues(value any) int {
	n := 1
	switch value := value.(type) {
	case map[string]any:
		for _, v := range value {
			n += countValues(v)
		}
	case []any:
		for _, v := range value {
			n += countValues(v)
		}
	}
	return n
}

// tooLarge reports each limit that a definition exceeds. An update may keep an excess that is already stored.
// old is nil at a create.
func tooLarge(spec, old *apiextensions.CustomResourceDefinitionSpec) (errs field.ErrorList) {
	n, was := sizeOf(spec), size{}
	if old != nil {
		was = sizeOf(old)
	}
	check := func(n, was, most int, what string) {
		if n > most && n > was {
			errs = append(errs, field.Forbidden(field.NewPath("spec", "versions"), fmt.Sprintf("%d %s: the limit is %d", n, what, most)))
		}
	}
	check(n.rules, was.rules, maxRules, "validation rules")
	check(n.patterns, was.patterns, maxPatterns, "different patterns")
	check(n.defaultValues, was.defaultValues, maxDefaultValues, "values in one default")
	return errs
}
