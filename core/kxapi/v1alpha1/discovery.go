package v1alpha1

import "strings"

// discoveryPaths begin the paths of discovery and health checks.
var discoveryPaths = []string{"/api", "/apis", "/openapi", "/version", "/healthz", "/livez", "/readyz"}

// IsDiscovery reports whether the request was discovery or a health check, and succeeded without being held or
// disturbed.
func (j *Journey) IsDiscovery() bool {
	q, st := &j.Spec, &j.Status
	if q.Resource != "" || q.Method != "GET" && q.Method != "HEAD" || st.Code >= 400 || st.Phase == JourneyHeld || len(st.Touched) > 0 {
		return false
	}
	path, _, _ := strings.Cut(q.URI, "?")
	for _, begin := range discoveryPaths {
		rest, ok := strings.CutPrefix(path, begin)
		if ok && (rest == "" || rest[0] == '/') {
			return true
		}
	}
	return false
}
