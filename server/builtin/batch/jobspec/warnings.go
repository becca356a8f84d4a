package jobspec

import (
	"fmt"

	batchv1 "k8s.io/api/batch/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/kx-apiserver/kx/server/builtin/core/podspec"
)

// Warnings returns the warnings about a valid spec at path.
func Warnings(spec *batchv1.JobSpec, path *field.Path) []string {
	var warnings []string
	if IsIndexed(spec) && ptr.Deref(spec.Completions, 0) > manyCompletions && ptr.Deref(spec.Parallelism, 0) > maxParallelismForMany {
		warnings = append(warnings,
			fmt.Sprintf("%s: In Indexed Jobs with a number of completions higher than 10^5 and a parallelism higher than 10^4, "+
				"Kubernetes might not be able to track completedIndexes when a big number of indexes fail", path))
	}
	return append(warnings, podspec.TemplateWarnings(&spec.Template, path.Child("template"))...)
}
