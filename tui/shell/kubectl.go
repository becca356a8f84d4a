package shell

import (
	"slices"
	"strings"
	"unicode/utf8"

	"sigs.k8s.io/yaml"

	"github.com/kx-apiserver/kx/core/request"
)

// flags maps, for each verb, query parameters to kubectl's flags. kubectl has no flag for any other parameter.
var flags = map[request.Verb]map[string]string{
	request.Get:    {},
	request.List:   {"labelSelector": "-l", "fieldSelector": "--field-selector"},
	request.Watch:  {"labelSelector": "-l", "fieldSelector": "--field-selector"},
	request.Create: {"dryRun": "--dry-run", "fieldManager": "--field-manager", "fieldValidation": "--validate"},
	request.Update: {"dryRun": "--dry-run", "fieldManager": "--field-manager", "fieldValidation": "--validate"},
	request.Patch:  {"dryRun": "--dry-run", "fieldManager": "--field-manager"},
	request.Delete: {"dryRun": "--dry-run", "propagationPolicy": "--cascade", "gracePeriodSeconds": "--grace-period"},
}

// applyFlags is the same for kubectl apply --server-side.
var applyFlags = map[string]string{"dryRun": "--dry-run", "fieldManager": "--field-manager",
	"fieldValidation": "--validate", "force": "--force-conflicts"}

// kubectl returns kubectl's own command for a request, or one with --raw.
func kubectl(r *request.Request, h *request.HTTP, w Target) Way {
	way := Way{Program: "kubectl"}
	if !utf8.Valid(h.Body) {
		way.Note = "the body is no text"
		return way
	}
	words, ok := kubectlCommand(r, w)
	body := []byte(r.Body)
	switch {
	case !ok:
		if words, ok = raw(h, w); !ok {
			way.Note = "it has no command for this"
			return way
		}
		if json, err := yaml.YAMLToJSON(body); err == nil && len(body) > 0 {
			body = json // --raw declares any body as JSON
		}
	case slices.Contains(words, "-p"):
		body = nil // it is in the words
	}
	way.Text = withBody(words, body)
	for _, name := range headerNames(r.Header) {
		if name != "Content-Type" {
			way.Note = "without the headers, which it can't send"
		}
	}
	return way
}

func headerNames(header map[string][]string) []string {
	all := make([]string, 0, len(header))
	for name := range header {
		all = append(all, name)
	}
	slices.Sort(all)
	return all
}

// kubectlCommand returns kubectl's own command for the request.
func kubectlCommand(r *request.Request, w Target) (words []string, ok bool) {
	known, hasOwn := flags[r.Verb]
	apply := r.Patch == request.ApplyPatch
	if apply {
		known = applyFlags
	}
	if !hasOwn || !subresourceFlag(r) || Option(kubectlResource(r.Resource)) || Option(r.Name) {
		return nil, false
	}
	words = append([]string{"kubectl"}, reach(w)...)
	switch {
	case r.Verb == request.Create:
		words = append(words, "create", "-f", "-")
	case r.Verb == request.Update:
		words = append(words, "replace", "-f", "-")
	case apply:
		words = append(words, "apply", "--server-side", "-f", "-")
	case r.Verb == request.Patch:
		words = append(words, "patch", kubectlResource(r.Resource), r.Name, "--type", string(r.Patch),
			"-p", strings.TrimSuffix(r.Body, "\n"))
	case r.Verb == request.Delete:
		words = append(words, "delete", kubectlResource(r.Resource), r.Name, "--wait=false")
	default:
		words = append(words, "get", kubectlResource(r.Resource))
		if r.Name != "" {
			words = append(words, r.Name, "-o", "yaml")
		}
		if r.Verb == request.Watch {
			words = append(words, "--watch")
		}
	}
	if r.Subresource != "" {
		words = append(words, "--subresource", r.Subresource)
	}
	if r.Namespace != "" {
		words = append(words, "-n", r.Namespace)
	} else if r.Verb == request.List || r.Verb == request.Watch {
		words = append(words, "-A")
	}
	return options(words, r, known)
}

// subresourceFlag reports whether kubectl's command for the verb supports --subresource with the request's
// subresource. It can't replace a Scale, since it looks for a resource of that kind.
func subresourceFlag(r *request.Request) bool {
	switch r.Subresource {
	case "":
		return true
	case "status":
		return r.Verb == request.Get || r.Verb == request.Update || r.Verb == request.Patch && r.Patch != request.ApplyPatch
	case "scale":
		return r.Verb == request.Get || r.Verb == request.Patch && r.Patch != request.ApplyPatch
	}
	return false
}

// options adds the flags for the query.
func options(words []string, r *request.Request, known map[string]string) ([]string, bool) {
	names := headerNames(r.Query)
	for _, name := range names {
		flag, ok := known[name]
		if !ok || len(r.Query[name]) != 1 {
			return nil, false
		}
		value := r.Query.Get(name)
		switch name {
		case "dryRun":
			value = "server"
		case "propagationPolicy", "fieldValidation":
			value = strings.ToLower(value)
		}
		if strings.HasPrefix(flag, "--") {
			words = append(words, flag+"="+value)
		} else {
			words = append(words, flag, value)
		}
	}
	return words, true
}

// kubectlResource returns a resource in kubectl's form: plural.version.group.
func kubectlResource(name string) string {
	parts := strings.Split(name, "/")
	switch len(parts) {
	case 2:
		return parts[1]
	case 3:
		return parts[2] + "." + parts[1] + "." + parts[0]
	}
	return name
}

// raw returns a kubectl command with --raw, which can send any request.
func raw(h *request.HTTP, w Target) (words []string, ok bool) {
	words = append([]string{"kubectl"}, reach(w)...)
	switch h.Method {
	case "GET":
		return append(words, "get", "--raw", h.URI()), true
	case "POST":
		return append(words, "create", "--raw", h.URI(), "-f", "-"), true
	case "PUT":
		return append(words, "replace", "--raw", h.URI(), "-f", "-"), true
	case "DELETE":
		return append(words, "delete", "--raw", h.URI()), true
	}
	return nil, false
}
