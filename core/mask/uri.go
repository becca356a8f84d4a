package mask

import (
	"net/url"
	"strings"

	"k8s.io/apimachinery/pkg/fields"
)

// masked replaces a parameter or a value.
const masked = "masked"

// parameters of the Kubernetes API and of kx.dev keep their values. fieldSelector has rules of its own. The command of
// an exec is not among them: people put passwords there.
var parameters = setOf("allowWatchBookmarks", "container", "continue", "follow", "insecureSkipTLSVerifyBackend", "limitBytes",
	"ports", "previous", "sinceSeconds", "sinceTime", "stderr", "stdin", "stdout", "stream", "tailLines", "timestamps", "tty",
	"dryRun", "exact", "fieldManager", "fieldValidation", "filter", "force",
	"gracePeriodSeconds", "hash", "ignoreStoreReadErrorWithClusterBreakingPotential", "includeObject", "includeUninitialized",
	"labelSelector", "limit", "name", "namespace", "orphanDependents", "pretty", "propagationPolicy", "resourceVersion",
	"resourceVersionMatch", "sendInitialEvents", "shardSelector", "timeout", "timeoutSeconds", "verbose", "watch")

// selectable are the fields of built-in resources whose values a selector may show.
var selectable = setOf("involvedObject.apiVersion", "involvedObject.fieldPath", "involvedObject.kind", "involvedObject.name",
	"involvedObject.namespace", "involvedObject.resourceVersion", "involvedObject.uid", "metadata.name", "metadata.namespace",
	"reason", "reportingComponent", "source", "spec.hostNetwork", "spec.nodeName", "spec.restartPolicy", "spec.schedulerName",
	"spec.serviceAccountName", "spec.unschedulable", "status.nominatedNodeName", "status.phase", "status.podIP", "status.replicas",
	"status.successful", "type")

func setOf(names ...string) map[string]bool {
	set := make(map[string]bool, len(names))
	for _, name := range names {
		set[name] = true
	}
	return set
}

// URI masks the parameters of a request's URI that the API does not know.
func URI(uri string) string {
	path, query, ok := strings.Cut(uri, "?")
	if !ok || query == "" {
		return uri
	}
	if q := Query(query); q != query {
		return path + "?" + q
	}
	return uri
}

// Query masks the parameters of a query that the API does not know.
func Query(query string) string {
	for pair := range strings.SplitSeq(query, "&") {
		if parameter(pair) == pair {
			continue
		}
		pairs := strings.Split(query, "&")
		for i := range pairs {
			pairs[i] = parameter(pairs[i])
		}
		return strings.Join(pairs, "&")
	}
	return query
}

// parameter masks one parameter.
func parameter(pair string) string {
	name, value, _ := strings.Cut(pair, "=")
	switch {
	case pair == "":
		return pair
	case strings.Contains(pair, ";"): // some take it for what separates parameters
		return masked
	case parameters[name]:
		return pair
	case name != "fieldSelector":
		return masked
	}
	text, err := url.QueryUnescape(value)
	if err != nil {
		return name + "=" + masked
	}
	selector, err := fields.ParseSelector(text)
	if err != nil {
		return name + "=" + masked
	}
	if kept := Selector(selector); kept != selector.String() {
		return name + "=" + url.QueryEscape(kept)
	}
	return pair
}

// Selector writes a field selector and masks values of fields that are not selectable.
func Selector(s fields.Selector) string {
	if s == nil || s.Empty() {
		return ""
	}
	kept, err := s.Transform(func(field, value string) (string, string, error) {
		if value != "" && !selectable[field] {
			value = masked
		}
		return field, value, nil
	})
	if err != nil {
		return masked
	}
	return kept.String()
}
