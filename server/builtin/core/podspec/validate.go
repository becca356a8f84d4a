package podspec

import (
	"math"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kx-apiserver/kx/server/builtin"
)

// Options describes the owner of a spec.
type Options struct {
	// Pod is set for the spec of a pod. It is not set for a template.
	Pod bool
	// Tolerated holds the mistakes of the stored object, which an update may keep.
	Tolerated Mistakes
}

// validator is one validation of one spec. Its maps are filled on the way, from volumes before containers.
type validator struct {
	Options
	spec      *corev1.PodSpec
	meta      *metav1.ObjectMeta
	volumes   map[string]corev1.VolumeSource
	claims    sets.Set[string]
	hostUsers bool
	// claimNames returns the detail of an error about a claim that the pod lacks. All such errors share the text: it
	// can be long, and there can be many.
	claimNames func() string
}

// ValidatePodTemplateSpec validates a template.
func ValidatePodTemplateSpec(template *corev1.PodTemplateSpec, path *field.Path, opts Options) field.ErrorList {
	errs := metav1validation.ValidateLabels(template.Labels, path.Child("labels"))
	annotations := path.Child("annotations")
	errs = append(errs, apivalidation.ValidateAnnotations(template.Annotations, annotations)...)
	errs = append(errs, ValidateAnnotations(template.Annotations, &template.Spec, annotations, opts)...)
	spec := path.Child("spec")
	errs = append(errs, ValidatePodSpec(&template.Spec, nil, spec, opts)...)
	errs = append(errs, ValidateProfilesMatch(&template.ObjectMeta, &template.Spec, spec)...)
	if len(template.Spec.EphemeralContainers) > 0 {
		errs = append(errs, field.Forbidden(spec.Child("ephemeralContainers"), "ephemeral containers not allowed in pod template"))
	}
	return errs
}

// ValidatePodSpec validates the spec of a pod or of a template. meta is the pod's metadata, or nil for a template.
func ValidatePodSpec(spec *corev1.PodSpec, meta *metav1.ObjectMeta, path *field.Path, opts Options) field.ErrorList {
	v := &validator{Options: opts, spec: spec, meta: meta, volumes: map[string]corev1.VolumeSource{},
		claims: sets.New[string](), hostUsers: spec.HostUsers == nil || *spec.HostUsers}
	var errs field.ErrorList
	if spec.TerminationGracePeriodSeconds == nil {
		errs = append(errs, field.Required(path.Child("terminationGracePeriodSeconds"), ""))
	}
	for _, claim := range spec.ResourceClaims {
		if claim.Name != "" {
			v.claims.Insert(claim.Name)
		}
	}
	v.claimNames = sync.OnceValue(func() string {
		if len(v.claims) == 0 {
			return "must be one of the names in pod.spec.resourceClaims which is empty"
		}
		return "must be one of the names in pod.spec.resourceClaims: " + strings.Join(sets.List(v.claims), ", ")
	})
	for _, part := range []struct {
		name     string
		validate func(*field.Path) field.ErrorList
	}{
		{"volumes", v.validateVolumes},
		{"resourceClaims", v.validateResourceClaims},
		{"containers", v.validateContainers},
		{"initContainers", v.validateInitContainers},
		{"ephemeralContainers", v.validateEphemeralContainers},
		{"resources", v.validatePodResources},
		{"containers", v.validateHostNetworkPorts},
		{"restartPolicy", v.validateRestartPolicy},
		{"dnsPolicy", v.validateDNSPolicy},
		{"nodeSelector", func(p *field.Path) field.ErrorList { return metav1validation.ValidateLabels(spec.NodeSelector, p) }},
		{"securityContext", v.validatePodSecurityContext},
		{"shareProcessNamespace", v.validateShareProcessNamespace},
		{"affinity", v.validateAffinity},
		{"dnsConfig", v.validateDNSConfig},
		{"readinessGates", v.validateReadinessGates},
		{"schedulingGates", v.validateSchedulingGates},
		{"topologySpreadConstraints", v.validateTopologySpread},
	} {
		errs = append(errs, part.validate(path.Child(part.name))...)
	}
	errs = append(errs, v.validateHostProcess(path)...)
	errs = append(errs, v.validateHostUsers(path)...)
	errs = append(errs, v.validateNames(path)...)
	if d := spec.ActiveDeadlineSeconds; d != nil && (*d < 1 || *d > math.MaxInt32) {
		errs = append(errs, field.Invalid(path.Child("activeDeadlineSeconds"), *d, validation.InclusiveRangeError(1, math.MaxInt32)))
	}
	errs = append(errs, ValidateTolerations(spec.Tolerations, path.Child("tolerations"))...)
	errs = append(errs, validateHostAliases(spec.HostAliases, path.Child("hostAliases"))...)
	if p := spec.PreemptionPolicy; p != nil {
		errs = append(errs, supported(path.Child("preemptionPolicy"), *p, corev1.PreemptLowerPriority, corev1.PreemptNever)...)
	}
	if spec.Overhead != nil {
		errs = append(errs,
			v.validateResources(&corev1.ResourceRequirements{Limits: spec.Overhead}, ValidateContainerResource,
				path.Child("overhead"))...)
	}
	errs = append(errs, v.validateOS(path)...)
	return append(errs, v.validateEnvFileVolumes(path)...)
}

// validateNames validates the fields that hold names of other objects.
func (v *validator) validateNames(path *field.Path) field.ErrorList {
	s := v.spec
	subdomain := func(name string) []string { return apivalidation.NameIsDNSSubdomain(name, false) }
	runtimeClass := ""
	if s.RuntimeClassName != nil {
		runtimeClass = *s.RuntimeClassName
	}
	var errs field.ErrorList
	for _, n := range []struct {
		field, value string
		set          bool
		check        func(string) []string
	}{
		{"serviceAccountName", s.ServiceAccountName, s.ServiceAccountName != "", subdomain},
		{"nodeName", s.NodeName, s.NodeName != "", subdomain},
		{"hostname", s.Hostname, s.Hostname != "", validation.IsDNS1123Label},
		{"subdomain", s.Subdomain, s.Subdomain != "", validation.IsDNS1123Label},
		{"priorityClassName", s.PriorityClassName, s.PriorityClassName != "", subdomain},
		{"runtimeClassName", runtimeClass, s.RuntimeClassName != nil, subdomain},
	} {
		if n.set {
			errs = append(errs, invalid(path.Child(n.field), n.value, n.check(n.value))...)
		}
	}
	return append(errs, v.validateHostnameOverride(path.Child("hostnameOverride"))...)
}

// maxHostname is the longest host name that a Linux kernel accepts.
const maxHostname = 64

func (v *validator) validateHostnameOverride(path *field.Path) field.ErrorList {
	name := v.spec.HostnameOverride
	if name == nil {
		return nil
	}
	var errs field.ErrorList
	if fqdn := v.spec.SetHostnameAsFQDN; fqdn != nil && *fqdn {
		errs = append(errs, field.Forbidden(path, "may not be specified when setHostnameAsFQDN is true"))
	}
	if v.spec.HostNetwork {
		errs = append(errs, field.Forbidden(path, "may not be specified when hostNetwork is true"))
	}
	if len(*name) > maxHostname {
		errs = append(errs, field.TooLong(path, *name, maxHostname))
	}
	return append(errs, invalid(path, *name, validation.IsDNS1123Subdomain(*name))...)
}

func (v *validator) validateRestartPolicy(path *field.Path) field.ErrorList {
	return supported(path, v.spec.RestartPolicy,
		corev1.RestartPolicyAlways, corev1.RestartPolicyOnFailure, corev1.RestartPolicyNever)
}

func (v *validator) validateResourceClaims(path *field.Path) field.ErrorList {
	var errs field.ErrorList
	seen := sets.New[string]()
	for i, claim := range v.spec.ResourceClaims {
		p := path.Index(i)
		switch {
		case claim.Name == "":
			errs = append(errs, field.Required(p.Child("name"), ""))
		case seen.Has(claim.Name):
			errs = append(errs, field.Duplicate(p.Child("name"), claim.Name))
		default:
			errs = append(errs, invalid(p.Child("name"), claim.Name, validation.IsDNS1123Label(claim.Name))...)
			seen.Insert(claim.Name)
		}
		direct, template := claim.ResourceClaimName, claim.ResourceClaimTemplateName
		if direct != nil && template != nil {
			errs = append(errs,
				field.Invalid(p, builtin.Quote(claim),
					"at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified"))
		}
		if direct == nil && template == nil {
			errs = append(errs,
				field.Invalid(p, builtin.Quote(claim), "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`"))
		}
		if direct != nil {
			errs = append(errs, invalid(p.Child("resourceClaimName"), *direct, apivalidation.NameIsDNSSubdomain(*direct, false))...)
		}
		if template != nil {
			errs = append(errs,
				invalid(p.Child("resourceClaimTemplateName"), *template, apivalidation.NameIsDNSSubdomain(*template, false))...)
		}
	}
	return errs
}

// invalid returns an error about value for each message.
func invalid(path *field.Path, value any, messages []string) field.ErrorList {
	var errs field.ErrorList
	for _, m := range messages {
		errs = append(errs, field.Invalid(path, value, m))
	}
	return errs
}

// supported requires one of a few values.
func supported[T ~string](path *field.Path, value T, values ...T) field.ErrorList {
	if value == "" {
		return field.ErrorList{field.Required(path, "")}
	}
	return supportedOrEmpty(path, value, values...)
}

// supportedOrEmpty requires one of a few values. An empty value is reported like any other that is not among them.
func supportedOrEmpty[T ~string](path *field.Path, value T, values ...T) field.ErrorList {
	for _, v := range values {
		if v == value {
			return nil
		}
	}
	return field.ErrorList{field.NotSupported(path, value, values)}
}

// required requires that each named string is set.
func required(path *field.Path, namesAndValues ...string) field.ErrorList {
	var errs field.ErrorList
	for i := 0; i < len(namesAndValues); i += 2 {
		if namesAndValues[i+1] == "" {
			errs = append(errs, field.Required(path.Child(namesAndValues[i]), ""))
		}
	}
	return errs
}
