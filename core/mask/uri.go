package mask

import (
	"net/url"
	"strings"

	"k8s.io/apimachinery/pkg/fields"
)

// masked stands for a parameter or a value that is not kept.
const masked = "masked"

// parameters are those of the Kubernetes API and of kx.dev whose values are kept. fieldSelector has rules of its own.
var parameters = setOf("allowWatchBookmarks", "continue", "dryRun", "exact", "fieldManager", "fieldValidation", "filter", "force",
	"gracePeriodSeconds", "hash", "ignoreStoreReadErrorWithClusterBreakingPotential", "includeObject", "includeUninitialized",
	"labelSelector", "limit", "name", "namespace", "orphanDependents", "pretty", "propagationPolicy", "resourceVersion",
	"resourceVersionMatch", "sendInitialEvents", "shardSelector", "timeout", "timeoutSeconds", "verbose", "watch")

// selectable are the fields whose values a selector shows: those that the built-in resources can be selected by.
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

// URI is a request's path and query without the parameters that the API does not know.
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

// Query is a query, as it is in a URI, without the parameters that the API does not know.
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

// parameter is what is kept of one parameter.
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

// Selector is a field selector as text, without the values of fields that may hold anything.
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
