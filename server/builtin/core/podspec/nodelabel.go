package podspec

import (
	"fmt"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

var deprecated = map[string]string{
	"beta.kubernetes.io/arch":                       `deprecated since v1.14; use "kubernetes.io/arch" instead`,
	"beta.kubernetes.io/os":                         `deprecated since v1.14; use "kubernetes.io/os" instead`,
	"beta.kubernetes.io/instance-type":              `deprecated since v1.17; use "node.kubernetes.io/instance-type" instead`,
	"failure-domain.beta.kubernetes.io/region":      `deprecated since v1.17; use "topology.kubernetes.io/region" instead`,
	"failure-domain.beta.kubernetes.io/zone":        `deprecated since v1.17; use "topology.kubernetes.io/zone" instead`,
	"app.kubernetes.io/created-by":                  `deprecated since v1.9`,
	"scheduler.alpha.kubernetes.io/preferAvoidPods": `deprecated since v1.22; use Taints and Tolerations instead`,
	"node-role.kubernetes.io/master":                `use "node-role.kubernetes.io/control-plane" instead`,
}

// DeprecatedNodeLabel returns the warning for a deprecated label.
func DeprecatedNodeLabel(key string) (string, bool) {
	message, ok := deprecated[key]
	return message, ok
}

// NodeLabelWarnings returns warnings for a node selector at path.
func NodeLabelWarnings(selector *metav1.LabelSelector, path *field.Path) []string {
	if selector == nil {
		return nil
	}
	var warnings []string
	for i, e := range selector.MatchExpressions {
		if message, ok := DeprecatedNodeLabel(e.Key); ok {
			warnings = append(warnings, fmt.Sprintf("%s: %s is %s", path.Child("matchExpressions").Index(i).Child("key"), e.Key, message))
		}
	}
	for _, key := range slices.Sorted(maps.Keys(selector.MatchLabels)) {
		if message, ok := DeprecatedNodeLabel(key); ok {
			warnings = append(warnings, fmt.Sprintf("%s: %s", path.Child("matchLabels").Child(key), message))
		}
	}
	return warnings
}
