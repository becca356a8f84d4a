package coordination

import (
	"github.com/blang/semver/v4"
	coordinationv1 "k8s.io/api/coordination/v1"
	coordinationv1alpha2 "k8s.io/api/coordination/v1alpha2"
	coordinationv1beta1 "k8s.io/api/coordination/v1beta1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kx-apiserver/kx/server/builtin"
)

// LeaseCandidate declares leasecandidates.coordination.k8s.io, in which processes of several versions apply for a
// lease.
var LeaseCandidate = builtin.Resource[*coordinationv1beta1.LeaseCandidate]{
	Names:             builtin.Names{Plural: "leasecandidates", Singular: "leasecandidate"},
	List:              &coordinationv1beta1.LeaseCandidateList{},
	Stored:            coordinationv1beta1.SchemeGroupVersion,
	Validate:          validateLeaseCandidate,
	ValidateUpdate:    validateLeaseCandidateUpdate,
	CreateOnUpdate:    true,
	ConditionalUpdate: true,
	Sample: `spec:
  leaseName: example
  binaryVersion: 1.37.0
  emulationVersion: 1.37.0
  strategy: OldestEmulationVersion`,
	Columns: []builtin.Column{
		builtin.NameColumn,
		// Kubernetes takes this description from an older version. It looks for the next two in the metadata, which
		// lacks them.
		{Name: "LeaseName", Type: "string", Description: coordinationv1alpha2.LeaseCandidateSpec{}.SwaggerDoc()["leaseName"]},
		{Name: "BinaryVersion", Type: "string"},
		{Name: "EmulationVersion", Type: "string"},
		builtin.AgeColumn,
	},
	Row: func(c *coordinationv1beta1.LeaseCandidate) metav1.TableRow {
		return builtin.Row(c.Name, c.Spec.LeaseName, c.Spec.BinaryVersion, c.Spec.EmulationVersion, builtin.Age(c.CreationTimestamp))
	},
}

var specPath = field.NewPath("spec")

// validateLeaseCandidate accepts finalizers without a domain, unlike the validation of other built-in objects.
// Kubernetes does the same.
func validateLeaseCandidate(c *coordinationv1beta1.LeaseCandidate) field.ErrorList {
	name := func(name string, _ bool) []string { return validation.IsConfigMapKey(name) }
	return append(apivalidation.ValidateObjectMeta(&c.ObjectMeta, true, name, field.NewPath("metadata")),
		validateLeaseCandidateSpec(&c.Spec)...)
}

func validateLeaseCandidateUpdate(c, old *coordinationv1beta1.LeaseCandidate) field.ErrorList {
	errs := append(apivalidation.ValidateObjectMetaUpdate(&c.ObjectMeta, &old.ObjectMeta, field.NewPath("metadata")),
		validateLeaseCandidateSpec(&c.Spec)...)
	return append(errs, apivalidation.ValidateImmutableField(c.Spec.LeaseName, old.Spec.LeaseName, specPath.Child("leaseName"))...)
}

func validateLeaseCandidateSpec(spec *coordinationv1beta1.LeaseCandidateSpec) (errs field.ErrorList) {
	if spec.LeaseName == "" {
		errs = append(errs, field.Required(specPath.Child("leaseName"), ""))
	}
	emulated, wrong := parse(spec.EmulationVersion, specPath.Child("emulationVersion"))
	errs = append(errs, wrong...)
	binaryPath := specPath.Child("binaryVersion")
	if spec.BinaryVersion == "" {
		errs = append(errs, field.Required(binaryPath, ""))
	}
	binary, wrong := parse(spec.BinaryVersion, binaryPath)
	errs = append(errs, wrong...)
	if spec.BinaryVersion != "" && spec.EmulationVersion != "" && binary.LT(emulated) {
		errs = append(errs, field.Invalid(binaryPath, spec.BinaryVersion, "must be greater than or equal to `emulationVersion`"))
	}
	strategy := specPath.Child("strategy")
	if spec.Strategy == "" {
		return append(errs, field.Required(strategy, ""))
	}
	if spec.Strategy == coordinationv1.OldestEmulationVersion && emulated.EQ(semver.Version{}) {
		errs = append(errs,
			field.Required(specPath.Child("emulationVersion"), "must be specified when `strategy` is 'OldestEmulationVersion'"))
	}
	return append(errs, validateStrategy(spec.Strategy, strategy)...)
}

// parse reads a version. It returns 0.0.0 for a missing or invalid one.
func parse(text string, path *field.Path) (semver.Version, field.ErrorList) {
	if text == "" {
		return semver.Version{}, nil
	}
	version, err := semver.Parse(text)
	if err != nil {
		return semver.Version{}, field.ErrorList{field.Invalid(path, text, "must be a valid semantic version")}
	}
	return version, nil
}
