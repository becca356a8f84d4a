package scheduling

import (
	"context"
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/server/builtin"
	"github.com/kx-apiserver/kx/server/builtin/core/podspec"
)

// PriorityClass declares priorityclasses.scheduling.k8s.io: named priorities of pods.
//
// The prefix "system-" is reserved for two classes of the system, which can't be deleted.
var PriorityClass = builtin.Resource[*schedulingv1.PriorityClass]{
	Names:         builtin.Names{Plural: "priorityclasses", Singular: "priorityclass", Short: []string{"pc"}},
	List:          &schedulingv1.PriorityClassList{},
	Stored:        schedulingv1.SchemeGroupVersion,
	ClusterScoped: true,
	Default: func(c *schedulingv1.PriorityClass) {
		podspec.SetDefault(&c.PreemptionPolicy, corev1.PreemptLowerPriority)
	},
	PrepareCreate:  func(_ context.Context, c *schedulingv1.PriorityClass) { c.Generation = 1 },
	Validate:       validatePriorityClass,
	ValidateUpdate: validateUpdate,
	Sample: `
value: 1000
description: More important than most.`,
	Columns: []builtin.Column{
		builtin.NameColumn,
		{Name: "Value", Type: "integer", Description: schedulingv1.PriorityClass{}.SwaggerDoc()["value"]},
		{Name: "Global-Default", Type: "boolean", Description: schedulingv1.PriorityClass{}.SwaggerDoc()["globalDefault"]},
		builtin.AgeColumn,
		{Name: "PreemptionPolicy", Type: "string", Description: schedulingv1.PriorityClass{}.SwaggerDoc()["preemptionPolicy"]},
	},
	Row: func(c *schedulingv1.PriorityClass) metav1.TableRow {
		return builtin.Row(c.Name, int64(c.Value), c.GlobalDefault, builtin.Age(c.CreationTimestamp),
			string(ptr.Deref(c.PreemptionPolicy, "")))
	},
	REST: builtin.Make(func(r *builtin.REST) rest.Storage { return &PriorityClassREST{r} }),
}

const (
	systemPrefix = "system-"
	maxValue     = 1_000_000_000
)

// systemValues maps the system's classes to their values.
var systemValues = map[string]int32{
	systemPrefix + "node-critical":    2*maxValue + 1000,
	systemPrefix + "cluster-critical": 2 * maxValue,
}

func validatePriorityClass(c *schedulingv1.PriorityClass) field.ErrorList {
	errs := builtin.ValidateObjectMeta(&c.ObjectMeta, false, apivalidation.NameIsDNSSubdomain)
	if strings.HasPrefix(c.Name, systemPrefix) {
		if err := checkSystem(c); err != nil {
			errs = append(errs, field.Forbidden(field.NewPath("metadata", "name"),
				fmt.Sprintf("priority class names with '%s' prefix are reserved for system use only. error: %v", systemPrefix, err)))
		}
	} else if c.Value > maxValue {
		errs = append(errs,
			field.Forbidden(field.NewPath("value"), fmt.Sprintf("maximum allowed value of a user defined priority is %d", maxValue)))
	}
	path := field.NewPath("preemptionPolicy")
	switch policy := ptr.Deref(c.PreemptionPolicy, corev1.PreemptNever); policy {
	case corev1.PreemptLowerPriority, corev1.PreemptNever:
	case "":
		errs = append(errs, field.Required(path, ""))
	default:
		errs = append(errs, field.NotSupported(path, policy, []corev1.PreemptionPolicy{corev1.PreemptLowerPriority, corev1.PreemptNever}))
	}
	return errs
}

func checkSystem(c *schedulingv1.PriorityClass) error {
	value, known := systemValues[c.Name]
	switch {
	case !known:
		return fmt.Errorf("%s is not a known system priority class", c.Name)
	case c.Value != value:
		return fmt.Errorf("value of %s PriorityClass must be %d", c.Name, value)
	case c.GlobalDefault:
		return fmt.Errorf("globalDefault of %s PriorityClass must be false", c.Name)
	}
	return nil
}

func validateUpdate(c, old *schedulingv1.PriorityClass) field.ErrorList {
	errs := builtin.ValidateObjectMetaUpdate(&c.ObjectMeta, &old.ObjectMeta)
	if c.Value != old.Value {
		errs = append(errs, field.Forbidden(field.NewPath("value"), "may not be changed in an update."))
	}
	return append(errs,
		apivalidation.ValidateImmutableField(c.PreemptionPolicy, old.PreemptionPolicy, field.NewPath("preemptionPolicy"))...)
}

// PriorityClassREST is the storage of priority classes.
type PriorityClassREST struct{ *builtin.REST }

// Delete refuses to delete the system's classes.
func (r *PriorityClassREST) Delete(ctx context.Context, name string, deleteValidation rest.ValidateObjectFunc,
	options *metav1.DeleteOptions) (runtime.Object, bool, error) {
	if _, ok := systemValues[name]; ok {
		return nil, false, apierrors.NewForbidden(schedulingv1.Resource("priorityclasses"), name,
			errors.New("this is a system priority class and cannot be deleted"))
	}
	return r.REST.Delete(ctx, name, deleteValidation, options)
}
