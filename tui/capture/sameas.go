package capture

import (
	"net/url"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/kx-apiserver/kx/core/escape"
	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/tui/pane/list"
	"github.com/kx-apiserver/kx/tui/send/again"
	"github.com/kx-apiserver/kx/tui/shell"
)

// file stands for the user's file with the body; the screen need not know its name.
const file = "FILE"

// sameAs returns a kubectl command that sends the same request, or the nearest one that kubectl has.
func sameAs(s *v1alpha1.JourneySpec) string {
	return command(s, file, []string{"--type", patchType(s.ContentType), "--patch-file", file})
}

// runnable returns the command with the body in it, if that is known, and a note about differences.
func runnable(j *v1alpha1.Journey) (text, note string) {
	replayed, note := again.Replay(j, false)
	switch {
	case replayed.Body == nil && note == "":
		return sameAs(&j.Spec), ""
	case replayed.Body == nil:
		return sameAs(&j.Spec), note + ": put it into " + file
	case j.Spec.Method == "PATCH":
		s := j.Spec
		s.ContentType = replayed.ContentType // replay turns an apply into another kind of patch
		return command(&s, file, []string{"--type", patchType(s.ContentType), "-p", string(escape.JSON(replayed.Body))}), note
	}
	text = command(&j.Spec, "-", nil)
	if text == "" {
		return text, note
	}
	return shell.Heredoc(text, string(escape.YAML(replayed.Body, yaml.JSONToYAML))), note
}

// command returns the command with the body in a file, or with a patch as its own options.
func command(s *v1alpha1.JourneySpec, file string, patch []string) string {
	uri, err := url.Parse(s.URI)
	if err != nil {
		return ""
	}
	if s.Resource == "" || s.Subresource != "" && s.Subresource != "status" && s.Subresource != "scale" || unusual(uri.Query()) {
		return raw(s, file)
	}
	if shell.Option(s.Resource) || shell.Option(s.Name) { // kubectl would send it elsewhere, or with other credentials
		return raw(s, file)
	}
	words := []string{"kubectl"}
	switch s.Verb {
	case "get", "list", "watch":
		words = append(words, "get")
	case "create", "update":
		words = append(words, map[string]string{"create": "create", "update": "replace"}[s.Verb], "-f", file)
		return shell.Line(options(words, s, uri.Query())...)
	case "patch":
		if strings.HasPrefix(s.ContentType, "application/apply-patch") {
			return shell.Line(options(append(words, "apply", "--server-side", "-f", file), s, uri.Query())...)
		}
		words = append(append(words, "patch"), patch...)
	case "delete":
		words = append(words, "delete")
	case "deletecollection":
		words = append(words, "delete", "--all")
	default:
		return raw(s, file)
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

// patchType returns kubectl's name for a kind of patch.
func patchType(contentType string) string {
	for _, t := range []string{"json", "merge"} {
		if strings.HasPrefix(contentType, "application/"+t+"-patch+json") {
			return t
		}
	}
	return "strategic"
}

// options adds the options for the query and the namespace.
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

// usual lists the query parameters that kubectl sends by itself, or that options covers.
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

// raw returns the request as a kubectl command with --raw, which can send any request.
func raw(s *v1alpha1.JourneySpec, file string) string {
	switch s.Method {
	case "GET":
		return shell.Line("kubectl", "get", "--raw", s.URI)
	case "POST":
		return shell.Line("kubectl", "create", "-f", file, "--raw", s.URI)
	case "PUT":
		return shell.Line("kubectl", "replace", "-f", file, "--raw", s.URI)
	case "DELETE":
		return shell.Line("kubectl", "delete", "--raw", s.URI)
	}
	return ""
}
