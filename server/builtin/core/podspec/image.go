package podspec

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// The grammar of an image reference: [domain/]path[:tag][@digest].
const (
	domainPart = `(?:[a-zA-Z0-9]|[a-zA-Z0-9][a-zA-Z0-9-]*[a-zA-Z0-9])`
	domainName = `(?:` + domainPart + `(?:\.` + domainPart + `)*|\[[a-fA-F0-9:]+\])(?::[0-9]+)?`
	pathPart   = `[a-z0-9]+(?:(?:\.|_|__|-+)[a-z0-9]+)*`
	imageName  = `(?:` + domainName + `/)?` + pathPart + `(?:/` + pathPart + `)*`
	imageTag   = `[\w][\w.-]{0,127}`
	digest     = `[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,}`
)

var (
	imageReference = pattern(`^(` + imageName + `)(?::(` + imageTag + `))?(?:@(` + digest + `))?$`)
	imageID        = pattern(`^[a-f0-9]{64}$`)
)

const maxImageNameLength = 255

// inFull returns an image's name with registry and folder. It adds the default ones if they are missing.
func inFull(name string) string {
	domain, _, isPath := strings.Cut(name, "/")
	switch {
	case !isPath:
		return "docker.io/library/" + name
	case !strings.ContainsAny(domain, ".:") && domain != "localhost" && strings.ToLower(domain) == domain:
		return "docker.io/" + name
	}
	return name
}

// pullPolicyFor returns Always for an image whose tag is latest or missing. A reference with a digest and no tag
// always means the same image, so it is pulled only once. An invalid reference means no image.
func pullPolicyFor(image string) corev1.PullPolicy {
	if imageID().MatchString(image) {
		return corev1.PullIfNotPresent
	}
	m := imageReference().FindStringSubmatch(image)
	if m == nil || len(inFull(m[1])) > maxImageNameLength || strings.HasPrefix(m[1], "/") {
		return corev1.PullIfNotPresent
	}
	tag, digest := m[2], m[3]
	if tag == "latest" || tag == "" && digest == "" {
		return corev1.PullAlways
	}
	return corev1.PullIfNotPresent
}
