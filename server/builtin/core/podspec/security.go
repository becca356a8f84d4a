package podspec

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kx-apiserver/kx/server/builtin"
)

func (v *validator) validatePodSecurityContext(path *field.Path) field.ErrorList {
	c := v.spec.SecurityContext
	if c == nil {
		return nil
	}
	errs := validateID(c.FSGroup, validation.IsValidGroupID, path.Child("fsGroup"))
	errs = append(errs, validateID(c.RunAsUser, validation.IsValidUserID, path.Child("runAsUser"))...)
	errs = append(errs, validateID(c.RunAsGroup, validation.IsValidGroupID, path.Child("runAsGroup"))...)
	for i := range c.SupplementalGroups {
		errs = append(errs, validateID(&c.SupplementalGroups[i], validation.IsValidGroupID, path.Child("supplementalGroups").Index(i))...)
	}
	errs = append(errs, v.validateSysctls(c.Sysctls, path.Child("sysctls"))...)
	if c.FSGroupChangePolicy != nil {
		errs = append(errs, supportedOrEmpty(path.Child("fsGroupChangePolicy"), *c.FSGroupChangePolicy,
			corev1.FSGroupChangeAlways, corev1.FSGroupChangeOnRootMismatch)...)
	}
	errs = append(errs, validateSeccomp(c.SeccompProfile, path.Child("seccompProfile"))...)
	errs = append(errs, validateWindowsOptions(c.WindowsOptions, path.Child("windowsOptions"))...)
	errs = append(errs, validateAppArmor(c.AppArmorProfile, path.Child("appArmorProfile"))...)
	if c.SupplementalGroupsPolicy != nil {
		errs = append(errs, supportedOrEmpty(path.Child("supplementalGroupsPolicy"), *c.SupplementalGroupsPolicy,
			corev1.SupplementalGroupsPolicyMerge, corev1.SupplementalGroupsPolicyStrict)...)
	}
	if c.SELinuxChangePolicy != nil {
		errs = append(errs, supportedOrEmpty(path.Child("seLinuxChangePolicy"), *c.SELinuxChangePolicy,
			corev1.SELinuxChangePolicyMountOption, corev1.SELinuxChangePolicyRecursive)...)
	}
	return errs
}

func (v *validator) validateShareProcessNamespace(path *field.Path) field.ErrorList {
	if share := v.spec.ShareProcessNamespace; share != nil && *share && v.spec.HostPID {
		return field.ErrorList{field.Invalid(path, *share, "ShareProcessNamespace and HostPID cannot both be enabled")}
	}
	return nil
}

func validateID(id *int64, check func(int64) []string, path *field.Path) field.ErrorList {
	if id == nil {
		return nil
	}
	return invalid(path, *id, check(*id))
}

func (v *validator) validateSecurityContext(c *corev1.SecurityContext, path *field.Path) field.ErrorList {
	if c == nil {
		return nil
	}
	errs := validateID(c.RunAsUser, validation.IsValidUserID, path.Child("runAsUser"))
	errs = append(errs, validateID(c.RunAsGroup, validation.IsValidGroupID, path.Child("runAsGroup"))...)
	if c.ProcMount != nil {
		errs = append(errs, supportedOrEmpty(path.Child("procMount"), *c.ProcMount, corev1.DefaultProcMount, corev1.UnmaskedProcMount)...)
		if v.hostUsers && *c.ProcMount == corev1.UnmaskedProcMount {
			errs = append(errs, field.Invalid(path.Child("procMount"), c.ProcMount, "`hostUsers` must be false to use `Unmasked`"))
		}
	}
	errs = append(errs, validateSeccomp(c.SeccompProfile, path.Child("seccompProfile"))...)
	if c.AllowPrivilegeEscalation != nil && !*c.AllowPrivilegeEscalation {
		if c.Privileged != nil && *c.Privileged {
			errs = append(errs,
				field.Invalid(path, builtin.Quote(c), "cannot set `allowPrivilegeEscalation` to false and `privileged` to true"))
		}
		if c.Capabilities != nil && slices.Contains(c.Capabilities.Add, "CAP_SYS_ADMIN") {
			errs = append(errs,
				field.Invalid(path, builtin.Quote(c),
					"cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` CAP_SYS_ADMIN"))
		}
	}
	errs = append(errs, validateWindowsOptions(c.WindowsOptions, path.Child("windowsOptions"))...)
	return append(errs, validateAppArmor(c.AppArmorProfile, path.Child("appArmorProfile"))...)
}

func validateSeccomp(p *corev1.SeccompProfile, path *field.Path) field.ErrorList {
	if p == nil {
		return nil
	}
	var errs field.ErrorList
	if p.Type == "" {
		errs = append(errs, field.Required(path.Child("type"), "type is required when seccompProfile is set"))
	} else {
		errs = supportedOrEmpty(path.Child("type"), p.Type,
			corev1.SeccompProfileTypeLocalhost, corev1.SeccompProfileTypeRuntimeDefault, corev1.SeccompProfileTypeUnconfined)
	}
	at := path.Child("localhostProfile")
	switch local := p.Type == corev1.SeccompProfileTypeLocalhost; {
	case local && p.LocalhostProfile == nil:
		errs = append(errs, field.Required(at, "must be set when seccomp type is Localhost"))
	case local:
		errs = append(errs, descendingPath(*p.LocalhostProfile, at)...)
	case p.LocalhostProfile != nil:
		errs = append(errs, field.Invalid(at, builtin.Quote(p), "can only be set when seccomp type is Localhost"))
	}
	return errs
}

// maxProfilePath is the longest path that Linux accepts.
const maxProfilePath = 4095

func validateAppArmor(p *corev1.AppArmorProfile, path *field.Path) field.ErrorList {
	if p == nil {
		return nil
	}
	at := path.Child("localhostProfile")
	const missing = "must be set when AppArmor type is Localhost"
	var errs field.ErrorList
	switch p.Type {
	case corev1.AppArmorProfileTypeLocalhost:
		if p.LocalhostProfile == nil {
			return append(errs, field.Required(at, missing))
		}
		switch trimmed := strings.TrimSpace(*p.LocalhostProfile); {
		case trimmed != *p.LocalhostProfile:
			errs = append(errs, field.Invalid(at, *p.LocalhostProfile, "must not be padded with whitespace"))
		case trimmed == "":
			errs = append(errs, field.Required(at, missing))
		}
		if len(*p.LocalhostProfile) > maxProfilePath {
			errs = append(errs, field.TooLong(at, *p.LocalhostProfile, maxProfilePath))
		}
	case corev1.AppArmorProfileTypeRuntimeDefault, corev1.AppArmorProfileTypeUnconfined:
		if p.LocalhostProfile != nil {
			errs = append(errs, field.Invalid(at, p.LocalhostProfile, "can only be set when AppArmor type is Localhost"))
		}
	case "":
		errs = append(errs, field.Required(path.Child("type"), "type is required when appArmorProfile is set"))
	default:
		errs = append(errs, supportedOrEmpty(path.Child("type"), p.Type,
			corev1.AppArmorProfileTypeLocalhost, corev1.AppArmorProfileTypeRuntimeDefault, corev1.AppArmorProfileTypeUnconfined)...)
	}
	return errs
}

const maxSysctlName = 253

var sysctlName = pattern(`^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$`)

func (v *validator) validateSysctls(sysctls []corev1.Sysctl, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	seen := sets.New[string]()
	for i, s := range sysctls {
		at := path.Index(i).Child("name")
		switch {
		case s.Name == "":
			errs = append(errs, field.Required(at, ""))
		case len(s.Name) > maxSysctlName || !sysctlName().MatchString(s.Name):
			errs = append(errs,
				field.Invalid(at, s.Name, fmt.Sprintf("must have at most %d characters and match regex %s", maxSysctlName, sysctlName())))
		case seen.Has(s.Name):
			errs = append(errs, field.Duplicate(at, s.Name))
		}
		if message := hostSysctl(v.spec, s.Name); message != "" && !v.Tolerated.HostSysctls {
			errs = append(errs, field.Invalid(at, s.Name, message))
		}
		seen.Insert(s.Name)
	}
	return errs
}

// hostSysctl explains why a sysctl would change the host. It returns "" if it would not.
func hostSysctl(spec *corev1.PodSpec, name string) string {
	name = dottedSysctl(name)
	switch {
	case spec.HostNetwork && strings.HasPrefix(name, "net."):
		return "may not be specified when 'hostNetwork' is true"
	case spec.HostIPC && (name == "kernel.sem" || strings.HasPrefix(name, "kernel.shm") ||
		strings.HasPrefix(name, "kernel.msg") || strings.HasPrefix(name, "fs.mqueue.")):
		return "may not be specified when 'hostIPC' is true"
	}
	return ""
}

// dottedSysctl returns a sysctl's name with dots between its parts. A name may have slashes as separators instead;
// its dots then belong to the parts.
func dottedSysctl(name string) string {
	i := strings.IndexAny(name, "./")
	if i < 0 || name[i] == '.' {
		return name
	}
	return strings.NewReplacer("/", ".", ".", "/").Replace(name)
}
