package capture

import (
	"net/url"
	"strings"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/tui/pane/list"
	"github.com/kx-apiserver/kx/tui/shell"
)

// sameAs is a kubectl command that sends the same request, or one as near as kubectl has it.
func sameAs(s *v1alpha1.JourneySpec) string {
	uri, err := url.Parse(s.URI)
	if err != nil {
		return ""
	}
	if s.Resource == "" || s.Subresource != "" && s.Subresource != "status" && s.Subresource != "scale" || unusual(uri.Query()) {
		return raw(s)
	}
	words := []string{"kubectl"}
	switch s.Verb {
	case "get", "list", "watch":
		words = append(words, "get")
	case "create", "update":
		words = append(words, map[string]string{"create": "create", "update": "replace"}[s.Verb], "-f", "FILE")
		return shell.Line(options(words, s, uri.Query())...)
	case "patch":
		if strings.HasPrefix(s.ContentType, "application/apply-patch") {
			return shell.Line(options(append(words, "apply", "--server-side", "-f", "FILE"), s, uri.Query())...)
		}
		words = append(words, "patch", "--type", patchType(s.ContentType), "-p", "PATCH")
	case "delete":
		words = append(words, "delete")
	case "deletecollection":
		words = append(words, "delete", "--all")
	default:
		return raw(s)
	}
	words = append(words, list.Resource(&v1alpha1.JourneySpec{Resource: s.Resource, Group: s.Group}))
	if s.Name != "" {
		words = append(words, s.Name)
	}
	if s.Verb == "watch" {
		words = append(words, "--watch")
	}
	return shell.Line(options(words, s, uri.Query())...)
}

// patchType is what kubectl calls a kind of patch.
func patchType(contentType string) string {
	for _, t := range []string{"json", "merge"} {
		if strings.HasPrefix(contentType, "application/"+t+"-patch+json") {
			return t
		}
	}
	return "strategic"
}

// options adds what the query and the namespace ask for.
func options(words []string, s *v1alpha1.JourneySpec, q url.Values) []string {
	if s.Subresource != "" {
		words = append(words, "--subresource", s.Subresource)
	}
	if s.Namespace != "" && s.Resource != "namespaces" {
		words = append(words, "-n", s.Namespace)
	} else if s.Name == "" && s.Resource != "namespaces" && s.Verb != "create" {
		words = append(words, "-A")
	}
	for _, o := range []struct{ query, option string }{{"labelSelector", "-l"}, {"fieldSelector", "--field-selector"}} {
		if v := q.Get(o.query); v != "" {
			words = append(words, o.option, v)
		}
	}
	if q.Get("dryRun") != "" {
		words = append(words, "--dry-run=server")
	}
	return words
}

// usual are query parameters that kubectl sends by itself, or that options says.
var usual = map[string]bool{
	"labelSelector": true, "fieldSelector": true, "dryRun": true, "limit": true, "fieldManager": true, "fieldValidation": true,
	"watch": true, "timeoutSeconds": true, "allowWatchBookmarks": true, "resourceVersion": true, "timeout": true,
}

func unusual(q url.Values) bool {
	for name := range q {
		if !usual[name] {
			return true
		}
	}
	return false
}

// raw is the request as kubectl can send any.
func raw(s *v1alpha1.JourneySpec) string {
	switch s.Method {
	case "GET":
		return shell.Line("kubectl", "get", "--raw", s.URI)
	case "POST":
		return shell.Line("kubectl", "create", "-f", "FILE", "--raw", s.URI)
	case "PUT":
		return shell.Line("kubectl", "replace", "-f", "FILE", "--raw", s.URI)
	case "DELETE":
		return shell.Line("kubectl", "delete", "--raw", s.URI)
	}
	return ""
}
