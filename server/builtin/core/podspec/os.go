package podspec

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// validateOS checks the operating system of a pod, and forbids the fields of the other system.
func (v *validator) validateOS(path *field.Path) field.ErrorList {
	if v.spec.OS == nil {
		return nil
	}
	switch v.spec.OS.Name {
	case "":
		return field.ErrorList{field.Required(path.Child("os", "name"), "")}
	case corev1.Linux:
		return v.forbidWindowsOptions(path)
	case corev1.Windows:
		return v.forbidLinuxOptions(path)
	}
	return field.ErrorList{field.NotSupported(path.Child("os"), v.spec.OS.Name, []corev1.OSName{corev1.Linux, corev1.Windows})}
}

func (v *validator) forbidWindowsOptions(path *field.Path) field.ErrorList {
	const message = "windows options cannot be set for a linux pod"
	var errs field.ErrorList
	if c := v.spec.SecurityContext; c != nil && c.WindowsOptions != nil {
		errs = append(errs, field.Forbidden(path.Child("securityContext", "windowsOptions"), message))
	}
	VisitContainers(v.spec, path, func(c *corev1.Container, at *field.Path) {
		if c.SecurityContext != nil && c.SecurityContext.WindowsOptions != nil {
			errs = append(errs, field.Forbidden(at.Child("securityContext", "windowsOptions"), message))
		}
	})
	return errs
}

// isSet is a field's path, relative to its struct, and whether it is set.
type isSet struct {
	path string
	set  bool
}

func (v *validator) forbidLinuxOptions(path *field.Path) field.ErrorList {
	var errs field.ErrorList
	forbid := func(at *field.Path, fields []isSet) {
		for _, f := range fields {
			if f.set {
				parts := strings.Split(f.path, ".")
				errs = append(errs, field.Forbidden(at.Child(parts[0], parts[1:]...), "cannot be set for a windows pod"))
			}
		}
	}
	s := v.spec
	if c := s.SecurityContext; c != nil {
		forbid(path, []isSet{
			{"securityContext.appArmorProfile", c.AppArmorProfile != nil},
			{"securityContext.seLinuxOptions", c.SELinuxOptions != nil},
			{"hostUsers", s.HostUsers != nil},
			{"hostPID", s.HostPID},
			{"hostIPC", s.HostIPC},
			{"securityContext.seccompProfile", c.SeccompProfile != nil},
			{"securityContext.fsGroup", c.FSGroup != nil},
			{"securityContext.fsGroupChangePolicy", c.FSGroupChangePolicy != nil},
			{"securityContext.sysctls", len(c.Sysctls) > 0},
			{"shareProcessNamespace", s.ShareProcessNamespace != nil},
			{"securityContext.runAsUser", c.RunAsUser != nil},
			{"securityContext.runAsGroup", c.RunAsGroup != nil},
			{"securityContext.supplementalGroups", c.SupplementalGroups != nil},
			{"securityContext.supplementalGroupsPolicy", c.SupplementalGroupsPolicy != nil},
			{"securityContext.seLinuxChangePolicy", c.SELinuxChangePolicy != nil},
		})
	}
	forbid(path, []isSet{{"resources", s.Resources != nil}})
	VisitContainers(s, path, func(container *corev1.Container, at *field.Path) {
		c := container.SecurityContext
		if c == nil {
			return
		}
		forbid(at.Child("securityContext"), []isSet{
			{"appArmorProfile", c.AppArmorProfile != nil},
			{"seLinuxOptions", c.SELinuxOptions != nil},
			{"seccompProfile", c.SeccompProfile != nil},
			{"capabilities", c.Capabilities != nil},
			{"readOnlyRootFilesystem", c.ReadOnlyRootFilesystem != nil},
			{"privileged", c.Privileged != nil},
			{"allowPrivilegeEscalation", c.AllowPrivilegeEscalation != nil},
			{"procMount", c.ProcMount != nil},
			{"runAsUser", c.RunAsUser != nil},
			{"runAsGroup", c.RunAsGroup != nil},
		})
	})
	return errs
}

// validateHostUsers applies to a pod with its own user namespace: it may not use other namespaces of the host, or
// devices.
func (v *validator) validateHostUsers(path *field.Path) field.ErrorList {
	if v.hostUsers {
		return nil
	}
	const usersOfItsOwn = "when `hostUsers` is false"
	var errs field.ErrorList
	for _, f := range []isSet{{"hostNetwork", v.spec.HostNetwork}, {"HostPID", v.spec.HostPID}, {"HostIPC", v.spec.HostIPC}} {
		if f.set {
			errs = append(errs, field.Forbidden(path.Child(f.path), usersOfItsOwn))
		}
	}
	// The kernel can't map the owner of a device.
	VisitContainers(v.spec, path, func(c *corev1.Container, at *field.Path) {
		if len(c.VolumeDevices) > 0 {
			errs = append(errs, field.Forbidden(at.Child("volumeDevices"), usersOfItsOwn))
		}
	})
	return errs
}

// validateHostProcess requires that either all containers of a pod are processes of a Windows host, or none.
func (v *validator) validateHostProcess(path *field.Path) field.ErrorList {
	var errs field.ErrorList
	var pod *bool
	if c := v.spec.SecurityContext; c != nil && c.WindowsOptions != nil {
		pod = c.WindowsOptions.HostProcess
	}
	containers, hostProcesses := 0, 0
	VisitContainers(v.spec, path, func(c *corev1.Container, at *field.Path) {
		containers++
		own := pod
		if c.SecurityContext != nil && c.SecurityContext.WindowsOptions != nil && c.SecurityContext.WindowsOptions.HostProcess != nil {
			own = c.SecurityContext.WindowsOptions.HostProcess
			if pod != nil && *pod != *own {
				errs = append(errs, field.Invalid(at.Child("securityContext", "windowsOptions", "hostProcess"), *own,
					fmt.Sprintf("pod hostProcess value must be identical if both are specified, was %v", *pod)))
			}
		}
		if own != nil && *own {
			hostProcesses++
		}
	})
	if hostProcesses == 0 {
		return errs
	}
	if hostProcesses != containers {
		errs = append(errs,
			field.Invalid(path, "", "If pod contains any hostProcess containers then all containers must be HostProcess containers"))
	}
	if !v.spec.HostNetwork {
		errs = append(errs,
			field.Invalid(path.Child("hostNetwork"), false, "hostNetwork must be true if pod contains any hostProcess containers"))
	}
	return errs
}

const (
	maxCredentialSpecKiB = 64
	maxUserDomain        = 256
	maxUserName          = 104
)

var (
	controlCharacters = pattern(`[[:cntrl:]]+`)
	netBIOSName       = pattern(`^[^\\/:\*\?"<>|\.][^\\/:\*\?"<>|]{0,14}$`)
	windowsDNSName    = pattern(`^[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?(?:\.[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?)*$`)
	badUserCharacters = pattern(`["/\\:;|=,\+\*\?<>@\[\]]`)
	dotsAndSpaces     = pattern(`^[\. ]+$`)
)

func validateWindowsOptions(o *corev1.WindowsSecurityContextOptions, path *field.Path) field.ErrorList {
	if o == nil {
		return nil
	}
	var errs field.ErrorList
	if name := o.GMSACredentialSpecName; name != nil {
		errs = append(errs, invalid(path.Child("gmsaCredentialSpecName"), name, validation.IsDNS1123Subdomain(*name))...)
	}
	if spec := o.GMSACredentialSpec; spec != nil {
		at := path.Child("gmsaCredentialSpec")
		if *spec == "" {
			errs = append(errs, field.Invalid(at, spec, "gmsaCredentialSpec cannot be an empty string"))
		} else if len(*spec) > maxCredentialSpecKiB*1024 {
			errs = append(errs, field.Invalid(at, spec, fmt.Sprintf("gmsaCredentialSpec size must be under %d KiB", maxCredentialSpecKiB)))
		}
	}
	if o.RunAsUserName != nil {
		errs = append(errs, invalid(path.Child("runAsUserName"), o.RunAsUserName, windowsUserName(*o.RunAsUserName))...)
	}
	return errs
}

// windowsUserName returns the reasons why a user's name is invalid. A domain and a backslash may precede the name.
func windowsUserName(name string) []string {
	parts := strings.Split(name, `\`)
	switch {
	case name == "":
		return []string{"runAsUserName cannot be an empty string"}
	case controlCharacters().MatchString(name):
		return []string{"runAsUserName cannot contain control characters"}
	case len(parts) > 2:
		return []string{"runAsUserName cannot contain more than one backslash"}
	}
	domain, user := "", parts[len(parts)-1]
	if len(parts) == 2 {
		domain = parts[0]
	}
	var wrong []string
	if len(domain) >= maxUserDomain {
		wrong = append(wrong, fmt.Sprintf("runAsUserName's Domain length must be under %d characters", maxUserDomain))
	}
	if len(parts) == 2 && !netBIOSName().MatchString(domain) && !windowsDNSName().MatchString(domain) {
		wrong = append(wrong, "runAsUserName's Domain doesn't match the NetBios nor the DNS format")
	}
	if user == "" {
		wrong = append(wrong, "runAsUserName's User cannot be empty")
	} else if len(user) > maxUserName {
		wrong = append(wrong, fmt.Sprintf("runAsUserName's User length must not be longer than %d characters", maxUserName))
	}
	if dotsAndSpaces().MatchString(user) {
		wrong = append(wrong, "runAsUserName's User cannot contain only periods or spaces")
	}
	if badUserCharacters().MatchString(user) {
		wrong = append(wrong, `runAsUserName's User cannot contain the following characters: "/\:;|=,+*?<>@[]`)
	}
	return wrong
}
