package podspec

import (
	"fmt"
	"reflect"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// PodWarnings returns the warnings for the author of a valid pod.
func PodWarnings(pod *corev1.Pod) []string { return warnings(nil, &pod.Spec, &pod.ObjectMeta) }

// TemplateWarnings returns the warnings for the author of a valid template at path.
func TemplateWarnings(template *corev1.PodTemplateSpec, path *field.Path) []string {
	return warnings(path, &template.Spec, &template.ObjectMeta)
}

// deadAnnotations lists annotations that only older releases read.
var deadAnnotations = []struct{ key, message string }{
	{"scheduler.alpha.kubernetes.io/critical-pod", `non-functional in v1.16+; use the "priorityClassName" field instead`},
	{"security.alpha.kubernetes.io/sysctls", `non-functional in v1.11+; use the "sysctls" field instead`},
	{"security.alpha.kubernetes.io/unsafe-sysctls", `non-functional in v1.11+; use the "sysctls" field instead`},
}

// deadVolumes lists the kinds of volumes that kubelets no longer mount, at least by default.
var deadVolumes = []struct {
	name, message string
	is            func(*corev1.VolumeSource) bool
}{
	{"photonPersistentDisk", "deprecated in v1.11, non-functional in v1.16+",
		func(v *corev1.VolumeSource) bool { return v.PhotonPersistentDisk != nil }},
	{"gitRepo", "deprecated in v1.11, and disabled by default in v1.33+", func(v *corev1.VolumeSource) bool { return v.GitRepo != nil }},
	{"scaleIO", "deprecated in v1.16, non-functional in v1.22+", func(v *corev1.VolumeSource) bool { return v.ScaleIO != nil }},
	{"flocker", "deprecated in v1.22, non-functional in v1.25+", func(v *corev1.VolumeSource) bool { return v.Flocker != nil }},
	{"storageOS", "deprecated in v1.22, non-functional in v1.25+", func(v *corev1.VolumeSource) bool { return v.StorageOS != nil }},
	{"quobyte", "deprecated in v1.22, non-functional in v1.25+", func(v *corev1.VolumeSource) bool { return v.Quobyte != nil }},
	{"glusterfs", "deprecated in v1.25, non-functional in v1.26+", func(v *corev1.VolumeSource) bool { return v.Glusterfs != nil }},
	{"cephfs", "deprecated in v1.28, non-functional in v1.31+", func(v *corev1.VolumeSource) bool { return v.CephFS != nil }},
	{"rbd", "deprecated in v1.28, non-functional in v1.31+", func(v *corev1.VolumeSource) bool { return v.RBD != nil }},
}

const matchesNothing = "a null labelSelector results in matching no pod"

func warnings(path *field.Path, spec *corev1.PodSpec, meta *metav1.ObjectMeta) []string {
	w := &warner{path: path, spec: spec, meta: meta}
	w.oldNodeLabels()
	for i, c := range spec.TopologySpreadConstraints {
		at := w.at("topologySpreadConstraints").Index(i)
		if message, old := DeprecatedNodeLabel(c.TopologyKey); old {
			w.add(at.Child("topologyKey"), c.TopologyKey+" is "+message)
		}
		if c.LabelSelector == nil {
			w.add(at.Child("labelSelector"), matchesNothing)
		}
	}
	for _, a := range deadAnnotations {
		if _, ok := meta.Annotations[a.key]; ok {
			w.add(w.annotation(a.key), a.message)
		}
	}
	w.volumes()
	w.overlaps()
	w.duplicates()
	for _, name := range []corev1.ResourceName{corev1.ResourceMemory, corev1.ResourceEphemeralStorage} {
		w.fraction(spec.Overhead, name, w.at("overhead"))
	}
	w.profiles()
	VisitContainers(spec, path.Child("spec"), func(c *corev1.Container, at *field.Path) {
		for _, name := range []corev1.ResourceName{corev1.ResourceMemory, corev1.ResourceEphemeralStorage} {
			w.fraction(c.Resources.Limits, name, at.Child("resources", "limits"))
			w.fraction(c.Resources.Requests, name, at.Child("resources", "requests"))
		}
		w.hiddenEnv(c.Env, at.Child("env"))
	})
	w.ports()
	w.portNames()
	if grace := spec.TerminationGracePeriodSeconds; grace != nil && *grace < 0 {
		w.add(w.at("terminationGracePeriodSeconds"), "must be >= 0; negative values are invalid and will be treated as 1")
	}
	w.podAffinity()
	w.addresses()
	return w.found
}

// warner collects the warnings about one spec.
type warner struct {
	path  *field.Path
	spec  *corev1.PodSpec
	meta  *metav1.ObjectMeta
	found []string
	// pairs counts the compared pairs of paths and of ports, and pairsFound the warnings about them.
	pairs, pairsFound int
}

// A spec of a megabyte has 30,000 paths or ports, and 500 million pairs of them. These limits are far above real specs,
// and a response has no room for more warnings.
const (
	maxPairs      = 1_000_000
	maxPairsFound = 300
)

// comparesOn reports whether another pair is compared.
func (w *warner) comparesOn() bool {
	w.pairs++
	return w.pairs <= maxPairs && w.pairsFound < maxPairsFound
}

// addPair adds a warning about a pair.
func (w *warner) addPair(message string) {
	w.pairsFound++
	w.found = append(w.found, message)
}

func (w *warner) add(at *field.Path, message string) {
	w.found = append(w.found, fmt.Sprintf("%s: %s", at, message))
}

func (w *warner) at(name string) *field.Path { return w.path.Child("spec", name) }

func (w *warner) annotation(key string) *field.Path {
	return w.path.Child("metadata", "annotations").Key(key)
}

// volumes warns of volumes that are never mounted, and of the sizes of claims that pods bring along.
func (w *warner) volumes() {
	for i := range w.spec.Volumes {
		v, at := &w.spec.Volumes[i].VolumeSource, w.at("volumes").Index(i)
		for _, dead := range deadVolumes {
			if dead.is(v) {
				w.add(at.Child(dead.name), dead.message)
			}
		}
		if v.Ephemeral != nil && v.Ephemeral.VolumeClaimTemplate != nil {
			claim := at.Child("ephemeral", "volumeClaimTemplate", "spec")
			w.found = append(w.found, ClaimWarnings(&v.Ephemeral.VolumeClaimTemplate.Spec, claim)...)
		}
	}
}

// oldNodeLabels warns of deprecated labels, and of values that no label can have. Validation refuses such values only
// in required terms.
func (w *warner) oldNodeLabels() {
	for _, key := range sets.List(sets.KeySet(w.spec.NodeSelector)) {
		if message, old := DeprecatedNodeLabel(key); old {
			w.add(w.at("nodeSelector").Key(key), message)
		}
	}
	if w.spec.Affinity == nil || w.spec.Affinity.NodeAffinity == nil {
		return
	}
	term := func(term corev1.NodeSelectorTerm, at *field.Path) {
		for i, e := range term.MatchExpressions {
			if message, old := DeprecatedNodeLabel(e.Key); old {
				w.add(at.Child("matchExpressions").Index(i).Child("key"), e.Key+" is "+message)
			}
		}
	}
	at := w.at("affinity").Child("nodeAffinity")
	if s := w.spec.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution; s != nil {
		for i := range s.NodeSelectorTerms {
			term(s.NodeSelectorTerms[i], at.Child(requiredTerms, "nodeSelectorTerms").Index(i))
		}
	}
	for i, t := range w.spec.Affinity.NodeAffinity.PreferredDuringSchedulingIgnoredDuringExecution {
		preference := at.Child(preferredTerms).Index(i).Child("preference")
		term(t.Preference, preference)
		for j, e := range t.Preference.MatchExpressions {
			values := preference.Child("matchExpressions").Index(j).Child("values")
			for k, value := range e.Values {
				for _, wrong := range validation.IsValidLabelValue(value) {
					w.add(values.Index(k), fmt.Sprintf("%s is invalid, %s", value, wrong))
				}
			}
		}
	}
}

// podAffinity warns of terms that match no pod, and so have no effect.
func (w *warner) podAffinity() {
	if w.spec.Affinity == nil {
		return
	}
	terms := func(required []corev1.PodAffinityTerm, preferred []corev1.WeightedPodAffinityTerm, at *field.Path) {
		for i, t := range required {
			if t.LabelSelector == nil {
				w.add(at.Child(requiredTerms).Index(i).Child("labelSelector"), matchesNothing)
			}
		}
		for i, t := range preferred {
			if t.PodAffinityTerm.LabelSelector == nil {
				w.add(at.Child(preferredTerms).Index(i).Child("podAffinityTerm", "labelSelector"), matchesNothing)
			}
		}
	}
	at := w.at("affinity")
	if a := w.spec.Affinity.PodAffinity; a != nil {
		terms(a.RequiredDuringSchedulingIgnoredDuringExecution, a.PreferredDuringSchedulingIgnoredDuringExecution, at.Child("podAffinity"))
	}
	if a := w.spec.Affinity.PodAntiAffinity; a != nil {
		terms(a.RequiredDuringSchedulingIgnoredDuringExecution, a.PreferredDuringSchedulingIgnoredDuringExecution,
			at.Child("podAntiAffinity"))
	}
}

func (w *warner) duplicates() {
	ips := sets.New[string]()
	for i, alias := range w.spec.HostAliases {
		if ips.Has(alias.IP) {
			w.add(w.at("hostAliases").Index(i).Child("ip"), fmt.Sprintf("duplicate ip %q", alias.IP))
		}
		ips.Insert(alias.IP)
	}
	names := sets.New[string]()
	for i, secret := range w.spec.ImagePullSecrets {
		if names.Has(secret.Name) {
			w.add(w.at("imagePullSecrets").Index(i).Child("name"), fmt.Sprintf("duplicate name %q", secret.Name))
		}
		names.Insert(secret.Name)
	}
	for i, secret := range w.spec.ImagePullSecrets {
		if secret.Name == "" {
			w.add(w.at("imagePullSecrets").Index(i).Child("name"), fmt.Sprintf("invalid empty name %q", secret.Name))
		}
	}
}

func (w *warner) fraction(list corev1.ResourceList, name corev1.ResourceName, at *field.Path) {
	if quantity, ok := list[name]; ok && quantity.MilliValue()%1000 != 0 {
		w.add(at.Key(string(name)), fmt.Sprintf("fractional byte value %q is invalid, must be an integer", quantity.String()))
	}
}

// profiles warns of annotations for profiles whose field is not set.
func (w *warner) profiles() {
	const useSeccomp = `non-functional in v1.27+; use the "seccompProfile" field instead`
	pod := w.spec.SecurityContext
	if _, ok := w.meta.Annotations[corev1.SeccompPodAnnotationKey]; ok && (pod == nil || pod.SeccompProfile == nil) {
		w.add(w.annotation(corev1.SeccompPodAnnotationKey), useSeccomp)
	}
	VisitContainers(w.spec, nil, func(c *corev1.Container, _ *field.Path) {
		own := c.SecurityContext
		key := corev1.SeccompContainerAnnotationKeyPrefix + c.Name
		if _, ok := w.meta.Annotations[key]; ok && (own == nil || own.SeccompProfile == nil) {
			w.add(w.annotation(key), useSeccomp)
		}
		// Before this check, a pod's fields have been filled from its annotations. That step warns itself.
		if w.path == nil || own != nil && own.AppArmorProfile != nil {
			return
		}
		annotation, ok := w.meta.Annotations[appArmorPrefix+c.Name]
		if ok && !(pod != nil && pod.AppArmorProfile != nil && reflect.DeepEqual(pod.AppArmorProfile, AppArmorProfile(annotation))) {
			w.add(w.annotation(appArmorPrefix+c.Name), `deprecated since v1.30; use the "appArmorProfile" field instead`)
		}
	})
}

// hiddenEnv warns of a variable that is defined twice, unless the second value uses the first.
func (w *warner) hiddenEnv(vars []corev1.EnvVar, at *field.Path) {
	seen := sets.New[string]()
	for i, ev := range vars {
		reference := fmt.Sprintf("$(%s)", ev.Name)
		if seen.Has(ev.Name) && (ev.ValueFrom != nil || ev.Value == reference || !strings.Contains(ev.Value, reference)) {
			w.add(at.Index(i), fmt.Sprintf("hides previous definition of %q, which may be dropped when using apply", ev.Name))
		}
		seen.Insert(ev.Name)
	}
}

// ports warns of ports of one pod that are or could be the same.
func (w *warner) ports() {
	w.pairs, w.pairsFound = 0, 0 // many paths take none of the ports' share
	type known struct {
		at   *field.Path
		port corev1.ContainerPort
	}
	all := map[string][]known{}
	VisitContainers(w.spec, w.path.Child("spec"), func(c *corev1.Container, at *field.Path) {
		for i, port := range c.Ports {
			here := at.Child("ports").Index(i)
			if port.HostIP != "" && port.HostPort == 0 {
				w.add(here, fmt.Sprintf("hostIP set without hostPort: %+v", port))
			}
			key := fmt.Sprintf("%d/%s", port.ContainerPort, port.Protocol)
			for _, other := range all[key] {
				if !w.comparesOn() {
					break
				}
				switch {
				case port.HostIP == other.port.HostIP && port.HostPort == other.port.HostPort:
					w.addPair(fmt.Sprintf("%s: duplicate port definition with %s", here, other.at))
				case port.HostPort == 0 || other.port.HostPort == 0:
					w.addPair(fmt.Sprintf("%s: overlapping port definition with %s", here, other.at))
				case port.HostPort == other.port.HostPort && (port.HostIP == "") != (other.port.HostIP == ""):
					w.addPair(fmt.Sprintf("%s: dangerously ambiguous port definition with %s", here, other.at))
				}
			}
			all[key] = append(all[key], known{here, port})
		}
	})
}

// portNames warns of ports of one pod with equal names.
func (w *warner) portNames() {
	first := map[string]*field.Path{}
	VisitContainers(w.spec, w.path.Child("spec"), func(c *corev1.Container, at *field.Path) {
		for i, port := range c.Ports {
			here := at.Child("ports").Index(i)
			other, taken := first[port.Name]
			switch {
			case port.Name == "":
			case taken:
				w.add(here, fmt.Sprintf("duplicate port name %q with %s, services and probes that select ports by name will use %s",
					port.Name, other, other))
			default:
				first[port.Name] = here
			}
		}
	})
}

// addresses warns of addresses in unusual forms.
func (w *warner) addresses() {
	if dns := w.spec.DNSConfig; dns != nil {
		for i, server := range dns.Nameservers {
			w.found = append(w.found, validation.GetWarningsForIP(w.at("dnsConfig").Child("nameservers").Index(i), server)...)
		}
	}
	for i, alias := range w.spec.HostAliases {
		w.found = append(w.found, validation.GetWarningsForIP(w.at("hostAliases").Index(i).Child("ip"), alias.IP)...)
	}
}
