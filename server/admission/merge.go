package admission

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
)

// mergeTolerations joins two lists and leaves out tolerations that another one covers. Of equal ones the first
// stays.
func mergeTolerations(first, second []corev1.Toleration) (merged []corev1.Toleration) {
	all := slices.Concat(first, second)
	for i, t := range all {
		covers := func(other corev1.Toleration) bool { return covers(other, t) }
		wider := func(other corev1.Toleration) bool { return covers(other) && !same(other, t) }
		if !slices.ContainsFunc(merged, covers) && !slices.ContainsFunc(all[i+1:], wider) {
			merged = append(merged, t)
		}
	}
	return merged
}

// covers reports whether wide tolerates everything that t tolerates.
func covers(wide, t corev1.Toleration) bool {
	if same(wide, t) {
		return true
	}
	anyKey := wide.Key == "" && wide.Operator == corev1.TolerationOpExists
	if wide.Key != t.Key && !anyKey || wide.Effect != "" && wide.Effect != t.Effect {
		return false
	}
	if wide.Effect == corev1.TaintEffectNoExecute && wide.TolerationSeconds != nil &&
		(t.TolerationSeconds == nil || *t.TolerationSeconds > *wide.TolerationSeconds) {
		return false
	}
	switch wide.Operator {
	case corev1.TolerationOpExists:
		return true
	case corev1.TolerationOpEqual, "":
		return t.Operator == corev1.TolerationOpEqual && t.Value == wide.Value
	}
	return false
}

// same reports whether two tolerations are equal. Reflection would take most of the time: all pairs are compared.
func same(a, b corev1.Toleration) bool {
	seconds := ptr.Equal(a.TolerationSeconds, b.TolerationSeconds)
	a.TolerationSeconds, b.TolerationSeconds = nil, nil
	return seconds && a == b
}
