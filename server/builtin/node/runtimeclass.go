package node

import (
	"context"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	nodev1 "k8s.io/api/node/v1"
	"k8s.io/apimachinery/pkg/api/operation"
	apivalidate "k8s.io/apimachinery/pkg/api/validate"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kx-apiserver/kx/server/builtin"
	"github.com/kx-apiserver/kx/server/builtin/core/podspec"
)

// RuntimeClass declares runtimeclasses.node.k8s.io. A pod names one to choose the runtime for its containers.
var RuntimeClass = builtin.Resource[*nodev1.RuntimeClass]{
	Names:             builtin.Names{Plural: "runtimeclasses", Singular: "runtimeclass"},
	List:              &nodev1.RuntimeClassList{},
	Stored:            nodev1.SchemeGroupVersion,
	ClusterScoped:     true,
	Validate:          validateRuntimeClass,
	ValidateUpdate:    validateUpdate,
	Warnings:          func(c, _ *nodev1.RuntimeClass) []string { return warnings(c) },
	CreateOnUpdate:    true,
	ConditionalUpdate: true,
	Sample:            "handler: runc",
	Columns: []builtin.Column{
		builtin.NameColumn,
		// Kubernetes looks for the description in the metadata, which lacks it.
		{Name: "Handler", Type: "string"},
		builtin.AgeColumn,
	},
	Row: func(c *nodev1.RuntimeClass) metav1.TableRow {
		return builtin.Row(c.Name, c.Handler, builtin.Age(c.CreationTimestamp))
	},
}

var (
	metadataPath   = field.NewPath("metadata")
	handlerPath    = field.NewPath("handler")
	schedulingPath = field.NewPath("scheduling")
)

func warnings(c *nodev1.RuntimeClass) (warnings []string) {
	if c.Scheduling == nil {
		return nil
	}
	for _, key := range slices.Sorted(maps.Keys(c.Scheduling.NodeSelector)) {
		if message, old := podspec.DeprecatedNodeLabel(key); old {
			warnings = append(warnings, schedulingPath.Child("nodeSelector").String()+": "+message)
		}
	}
	return warnings
}

func validateRuntimeClass(c *nodev1.RuntimeClass) field.ErrorList {
	errs := validateFields(c)
	if c.Handler == "" {
		return append(errs, field.Required(handlerPath, "").MarkCoveredByDeclarative())
	}
	named := apivalidate.ShortName(context.Background(), operation.Operation{}, handlerPath, &c.Handler, nil)
	return append(errs, named.MarkCoveredByDeclarative()...)
}

// validateUpdate reports both the form of a changed handler and its immutability. The error about the form is not the
// declared rule's: its message differs from that for a new object.
func validateUpdate(c, old *nodev1.RuntimeClass) field.ErrorList {
	errs := append(validateFields(c), apivalidation.ValidateObjectMetaUpdate(&c.ObjectMeta, &old.ObjectMeta, metadataPath)...)
	if c.Handler == old.Handler {
		return errs
	}
	if c.Handler != "" {
		errs = append(errs, builtin.Invalids(handlerPath, c.Handler, apivalidation.NameIsDNSLabel(c.Handler, false))...)
	}
	errs = append(errs, builtin.Immutable(handlerPath))
	if c.Handler == "" {
		errs = append(errs, field.Required(handlerPath, "").MarkCoveredByDeclarative())
	}
	return errs
}

// validateFields checks everything but the handler. It accepts finalizers with any name.
func validateFields(c *nodev1.RuntimeClass) field.ErrorList {
	errs := apivalidation.ValidateObjectMeta(&c.ObjectMeta, false, apivalidation.NameIsDNSSubdomain, metadataPath)
	if c.Overhead != nil {
		errs = append(errs, podspec.ValidateOverhead(c.Overhead.PodFixed, field.NewPath("overhead"))...)
	}
	if s := c.Scheduling; s != nil {
		if s.NodeSelector != nil {
			errs = append(errs, metav1validation.ValidateLabels(s.NodeSelector, schedulingPath.Child("nodeSelector"))...)
		}
		errs = append(errs, validateTolerations(s.Tolerations, schedulingPath.Child("tolerations"))...)
	}
	return errs
}

// validateTolerations refuses duplicate tolerations.
func validateTolerations(tolerations []corev1.Toleration, path *field.Path) field.ErrorList {
	errs := podspec.ValidateTolerations(tolerations, path)
	seen := sets.New[corev1.Toleration]()
	for i, t := range tolerations {
		key := t
		key.TolerationSeconds = nil
		if seen.Has(key) {
			errs = append(errs, field.Duplicate(path.Index(i), builtin.Quote(t)))
		}
		seen.Insert(key)
	}
	return errs
}
