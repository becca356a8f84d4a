package podspec

import (
	"fmt"
	"reflect"
	"strings"
	"unicode"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

func (v *validator) validateContainers(path *field.Path) field.ErrorList {
	if len(v.spec.Containers) == 0 {
		return field.ErrorList{field.Required(path, "")}
	}
	var errs field.ErrorList
	names := sets.New[string]()
	for i := range v.spec.Containers {
		c, at := &v.spec.Containers[i], path.Index(i)
		errs = append(errs, v.validateContainer(c, at)...)
		if names.Has(c.Name) {
			errs = append(errs, field.Duplicate(at.Child("name"), c.Name))
		}
		names.Insert(c.Name)
		errs = append(errs, v.validateLifecycleAndProbes(c, at)...)
		errs = append(errs, validateContainerRestart(c, false, at)...)
	}
	return append(errs, hostPortConflicts(v.spec.Containers, path)...)
}

func (v *validator) validateInitContainers(path *field.Path) field.ErrorList {
	var errs field.ErrorList
	names := sets.New[string]()
	for _, c := range v.spec.Containers {
		names.Insert(c.Name)
	}
	for i := range v.spec.InitContainers {
		c, at := &v.spec.InitContainers[i], path.Index(i)
		errs = append(errs, v.validateContainer(c, at)...)
		errs = append(errs, validateContainerRestart(c, true, at)...)
		if names.Has(c.Name) {
			errs = append(errs, field.Duplicate(at.Child("name"), c.Name))
		} else if c.Name != "" {
			names.Insert(c.Name)
		}
		// Init containers run one after the other, so only ports of the same container can conflict.
		errs = append(errs, hostPortConflicts([]corev1.Container{*c}, path)...)
		if IsSidecar(c) {
			errs = append(errs, v.validateLifecycleAndProbes(c, at)...)
			continue
		}
		for _, f := range []struct {
			name string
			set  bool
		}{
			{"lifecycle", c.Lifecycle != nil},
			{"livenessProbe", c.LivenessProbe != nil},
			{"readinessProbe", c.ReadinessProbe != nil},
			{"startupProbe", c.StartupProbe != nil},
		} {
			if f.set {
				errs = append(errs, field.Forbidden(at.Child(f.name), "may not be set for init containers without restartPolicy=Always"))
			}
		}
	}
	return errs
}

// ephemeralContainerFields lists the fields that an ephemeral container may set. Fields such as ports and probes are
// missing: nothing may depend on an ephemeral container.
var ephemeralContainerFields = sets.New("Name", "Image", "Command", "Args", "WorkingDir", "EnvFrom", "Env", "VolumeMounts",
	"VolumeDevices", "TerminationMessagePath", "TerminationMessagePolicy", "ImagePullPolicy", "SecurityContext", "Stdin",
	"StdinOnce", "TTY")

func (v *validator) validateEphemeralContainers(path *field.Path) field.ErrorList {
	var errs field.ErrorList
	others, names := sets.New[string](), sets.New[string]()
	for _, containers := range [][]corev1.Container{v.spec.Containers, v.spec.InitContainers} {
		for _, c := range containers {
			others.Insert(c.Name)
			names.Insert(c.Name)
		}
	}
	const message = "cannot be set for an Ephemeral Container"
	for i := range v.spec.EphemeralContainers {
		ec, at := &v.spec.EphemeralContainers[i], path.Index(i)
		c := (*corev1.Container)(&ec.EphemeralContainerCommon)
		errs = append(errs, v.validateContainer(c, at)...)
		errs = append(errs, validateImageSpace(c, at)...)
		if names.Has(ec.Name) {
			errs = append(errs, field.Duplicate(at.Child("name"), ec.Name))
		}
		names.Insert(ec.Name)
		if ec.TargetContainerName != "" && !others.Has(ec.TargetContainerName) {
			errs = append(errs, field.NotFound(at.Child("targetContainerName"), ec.TargetContainerName))
		}
		errs = append(errs, onlyFields(ec.EphemeralContainerCommon, ephemeralContainerFields, message, at)...)
		for j, m := range ec.VolumeMounts {
			mount := at.Child("volumeMounts").Index(j)
			if m.SubPath != "" {
				errs = append(errs, field.Forbidden(mount.Child("subPath"), message))
			}
			if m.SubPathExpr != "" {
				errs = append(errs, field.Forbidden(mount.Child("subPathExpr"), message))
			}
		}
	}
	return errs
}

// onlyFields forbids every set field of a struct that is not allowed. So it also forbids fields of later releases.
func onlyFields(object any, allowed sets.Set[string], message string, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	value := reflect.ValueOf(object)
	for i := range value.NumField() {
		name := value.Type().Field(i).Name
		// An empty resources object counts as not set.
		if allowed.Has(name) || reflect.DeepEqual(value.Field(i).Interface(), reflect.Zero(value.Field(i).Type()).Interface()) {
			continue
		}
		lower := string(unicode.ToLower(rune(name[0]))) + name[1:]
		errs = append(errs, field.Forbidden(path.Child(lower), message))
	}
	return errs
}

// validateContainer validates the fields that all kinds of containers have.
func (v *validator) validateContainer(c *corev1.Container, path *field.Path) field.ErrorList {
	errs := requiredLabel(c.Name, path.Child("name"))
	// An image of white space is accepted: templates hold such images until a tool fills them in.
	if c.Image == "" {
		errs = append(errs, field.Required(path.Child("image"), ""))
	}
	errs = append(errs, supported(path.Child("terminationMessagePolicy"), c.TerminationMessagePolicy,
		corev1.TerminationMessageReadFile, corev1.TerminationMessageFallbackToLogsOnError)...)
	errs = append(errs, validatePorts(c.Ports, path.Child("ports"))...)
	errs = append(errs, v.validateEnv(c.Env, path.Child("env"))...)
	errs = append(errs, v.validateEnvFrom(c.EnvFrom, path.Child("envFrom"))...)
	errs = append(errs, v.validateMounts(c, path.Child("volumeMounts"))...)
	errs = append(errs, v.validateDevices(c, path.Child("volumeDevices"))...)
	errs = append(errs, validatePullPolicy(c.ImagePullPolicy, path.Child("imagePullPolicy"))...)
	errs = append(errs, v.validateResources(&c.Resources, ValidateContainerResource, path.Child("resources"))...)
	errs = append(errs, v.validateResizePolicy(c.ResizePolicy, path.Child("resizePolicy"))...)
	return append(errs, v.validateSecurityContext(c.SecurityContext, path.Child("securityContext"))...)
}

func validatePullPolicy(policy corev1.PullPolicy, path *field.Path) field.ErrorList {
	return supported(path, policy, corev1.PullAlways, corev1.PullIfNotPresent, corev1.PullNever)
}

func requiredLabel(name string, path *field.Path) field.ErrorList {
	if name == "" {
		return field.ErrorList{field.Required(path, "")}
	}
	return invalid(path, name, validation.IsDNS1123Label(name))
}

// validateImageSpace applies to pods only: stored templates have such images.
func validateImageSpace(c *corev1.Container, path *field.Path) field.ErrorList {
	if strings.TrimSpace(c.Image) != c.Image {
		return field.ErrorList{field.Invalid(path.Child("image"), c.Image, "must not have leading or trailing whitespace")}
	}
	return nil
}

var portProtocols = []corev1.Protocol{corev1.ProtocolSCTP, corev1.ProtocolTCP, corev1.ProtocolUDP}

func validatePorts(ports []corev1.ContainerPort, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	names := sets.New[string]()
	for i, port := range ports {
		at := path.Index(i)
		if port.Name != "" {
			switch messages := validation.IsValidPortName(port.Name); {
			case len(messages) > 0:
				errs = append(errs, invalid(at.Child("name"), port.Name, messages)...)
			case names.Has(port.Name):
				errs = append(errs, field.Duplicate(at.Child("name"), port.Name))
			}
			names.Insert(port.Name)
		}
		if port.ContainerPort == 0 {
			errs = append(errs, field.Required(at.Child("containerPort"), ""))
		} else {
			errs = append(errs,
				invalid(at.Child("containerPort"), port.ContainerPort, validation.IsValidPortNum(int(port.ContainerPort)))...)
		}
		if port.HostPort != 0 {
			errs = append(errs, invalid(at.Child("hostPort"), port.HostPort, validation.IsValidPortNum(int(port.HostPort)))...)
		}
		errs = append(errs, supported(at.Child("protocol"), port.Protocol, portProtocols...)...)
	}
	return errs
}

func hostPortConflicts(containers []corev1.Container, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	taken := sets.New[string]()
	for i, c := range containers {
		for j, port := range c.Ports {
			if port.HostPort == 0 {
				continue
			}
			key := fmt.Sprintf("%s/%s/%d", port.Protocol, port.HostIP, port.HostPort)
			if taken.Has(key) {
				errs = append(errs, field.Duplicate(path.Index(i).Child("ports").Index(j).Child("hostPort"), key))
			}
			taken.Insert(key)
		}
	}
	return errs
}

// validateHostNetworkPorts requires that hostPort equals containerPort on the host's network. A template may leave
// hostPort out: defaulting sets it in the pod.
func (v *validator) validateHostNetworkPorts(path *field.Path) field.ErrorList {
	if !v.spec.HostNetwork {
		return nil
	}
	var errs field.ErrorList
	for i, c := range v.spec.Containers {
		for j, port := range c.Ports {
			if (v.Pod || port.HostPort != 0) && port.HostPort != port.ContainerPort {
				errs = append(errs, field.Invalid(path.Index(i).Child("ports").Index(j).Child("hostPort"), port.HostPort,
					"must match `containerPort` when `hostNetwork` is true"))
			}
		}
	}
	return errs
}

const maxRestartRules, maxRestartExitCodes = 20, 255

// validateContainerRestart validates a container's own restart policy and rules. It does not check the rules of an
// init container without a policy.
func validateContainerRestart(c *corev1.Container, init bool, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	switch {
	case c.RestartPolicy != nil:
		errs = append(errs, supportedOrEmpty(path.Child("restartPolicy"), *c.RestartPolicy,
			corev1.ContainerRestartPolicyAlways, corev1.ContainerRestartPolicyNever, corev1.ContainerRestartPolicyOnFailure)...)
	case init && len(c.RestartPolicyRules) > 0:
		return field.ErrorList{field.Required(path.Child("restartPolicy"), "must specify restartPolicy when restart rules are used")}
	case len(c.RestartPolicyRules) > 0:
		errs = append(errs, field.Required(path.Child("restartPolicy"), "must specify restartPolicy when restart rules are used"))
	}
	rules := path.Child("restartPolicyRules")
	if len(c.RestartPolicyRules) > maxRestartRules {
		errs = append(errs, field.TooMany(rules, len(c.RestartPolicyRules), maxRestartRules))
	}
	for i, rule := range c.RestartPolicyRules {
		at := rules.Index(i)
		errs = append(errs, supportedOrEmpty(at.Child("action"), rule.Action,
			corev1.ContainerRestartRuleActionRestart, corev1.ContainerRestartRuleActionRestartAllContainers)...)
		if rule.ExitCodes == nil {
			errs = append(errs, field.Required(at.Child("exitCodes"), "must be specified"))
			continue
		}
		codes := at.Child("exitCodes")
		errs = append(errs, supportedOrEmpty(codes.Child("operator"), rule.ExitCodes.Operator,
			corev1.ContainerRestartRuleOnExitCodesOpIn, corev1.ContainerRestartRuleOnExitCodesOpNotIn)...)
		if len(rule.ExitCodes.Values) > maxRestartExitCodes {
			errs = append(errs, field.TooMany(codes.Child("values"), len(rule.ExitCodes.Values), maxRestartExitCodes))
		}
	}
	return errs
}

func (v *validator) validateResizePolicy(policies []corev1.ContainerResizePolicy, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	seen := sets.New[corev1.ResourceName]()
	for i, p := range policies {
		if seen.Has(p.ResourceName) {
			errs = append(errs, field.Duplicate(path.Index(i), p.ResourceName))
		}
		seen.Insert(p.ResourceName)
		errs = append(errs, supported(path, p.ResourceName, corev1.ResourceCPU, corev1.ResourceMemory)...)
		errs = append(errs, supported(path, p.RestartPolicy, corev1.NotRequired, corev1.RestartContainer)...)
		if v.spec.RestartPolicy == corev1.RestartPolicyNever && p.RestartPolicy != corev1.NotRequired {
			errs = append(errs, field.Invalid(path, p.RestartPolicy, "must be 'NotRequired' when `restartPolicy` is 'Never'"))
		}
	}
	return errs
}
