package operation

import (
	"strings"
	"unicode"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// ID returns the name of an operation in generated clients: listAppsV1NamespacedDeployment.
func ID(verb string, gv schema.GroupVersion, rest string) string {
	if verb == "deletecollection" { // the one verb that is two words
		verb, rest = "delete", "collection"+rest
	}
	return verb + camelCase(groupName(gv), true) + camelCase(gv.Version, true) + camelCase(rest, true)
}

// Tag returns the tag that groups operations in clients: apps_v1.
func Tag(gv schema.GroupVersion) string {
	return strings.TrimSuffix(camelCase(groupName(gv), false)+"_"+camelCase(gv.Version, false), "_")
}

func groupName(gv schema.GroupVersion) string {
	if gv.Group == "" {
		return "core"
	}
	return strings.TrimSuffix(gv.Group, ".k8s.io")
}

// camelCase drops characters that an identifier can't have, and capitalizes the next word.
func camelCase(s string, upper bool) string {
	var b strings.Builder
	for i, r := range s {
		switch {
		case unicode.IsLetter(r) || r == '_' || i > 0 && unicode.IsDigit(r):
			if upper {
				r = unicode.ToUpper(r)
			}
			b.WriteRune(r)
			upper = false
		default:
			upper = true
		}
	}
	return b.String()
}

// Article returns "a " or "an ", or nothing before a plural.
func Article(noun string) string {
	switch {
	case strings.HasSuffix(noun, "s") && !strings.HasSuffix(noun, "ss"):
		return ""
	case strings.ContainsAny(noun[:min(1, len(noun))], "AEIOUaeiou"):
		return "an "
	default:
		return "a "
	}
}
