package request

import (
	"encoding/json"
	"fmt"
	"net/url"
	"strings"

	"sigs.k8s.io/yaml"
)

// HTTP is a request in the form that is sent.
type HTTP struct {
	Method string
	Path   string // escaped, without query
	Query  url.Values
	Header map[string][]string
	Body   []byte
}

// URI is the path and the query.
func (h *HTTP) URI() string {
	if len(h.Query) == 0 {
		return h.Path
	}
	return h.Path + "?" + h.Query.Encode()
}

// ContentType is the media type of the body.
func (h *HTTP) ContentType() string {
	if v := h.Header["Content-Type"]; len(v) > 0 {
		return v[0]
	}
	return ""
}

// Build returns the HTTP request. rs may be nil if the request names its resource with the version.
func (r *Request) Build(rs *Resources) (HTTP, error) {
	if err := r.Check(); err != nil {
		return HTTP{}, err
	}
	h := HTTP{Header: cloneValues(r.Header), Query: url.Values(cloneValues(r.Query))}
	if h.Query == nil {
		h.Query = url.Values{}
	}
	if r.Raw() {
		path, query, _ := strings.Cut(r.Path, "?")
		h.Method, h.Path = r.Method, path
		more, err := url.ParseQuery(query)
		if err != nil {
			return HTTP{}, fmt.Errorf("path %q: read its query: %w", r.Path, err)
		}
		for name, values := range more {
			h.Query[name] = append(values, h.Query[name]...)
		}
	} else {
		path, err := r.path(rs)
		if err != nil {
			return HTTP{}, err
		}
		h.Method, h.Path = r.Verb.Method(), path
		if r.Verb == Watch && !h.Query.Has("watch") {
			h.Query.Set("watch", "true")
		}
	}
	return h, r.fillBody(&h)
}

// path is the path of the collection or object.
func (r *Request) path(rs *Resources) (string, error) {
	group, version, plural, err := r.findResource(rs)
	if err != nil {
		return "", err
	}
	parts := []string{"", "api", version}
	if group != "" {
		parts = []string{"", "apis", group, version}
	}
	if r.Namespace != "" && !r.ofItself(group, plural) {
		parts = append(parts, "namespaces", r.Namespace)
	}
	parts = append(parts, plural)
	if r.Name != "" {
		parts = append(parts, r.Name)
	}
	if r.Subresource != "" {
		parts = append(parts, strings.Split(r.Subresource, "/")...)
	}
	for i, p := range parts[1:] {
		if p == "" || p == "." || p == ".." {
			return "", fmt.Errorf("%s: %q can't be a part of a path", r.Title(), p)
		}
		parts[i+1] = url.PathEscape(p)
	}
	return strings.Join(parts, "/"), nil
}

// ofItself says whether the object is the namespace itself, whose path has no further namespace.
func (r *Request) ofItself(group, plural string) bool {
	return group == "" && plural == "namespaces" && (r.Name == r.Namespace || r.Name == "")
}

// findResource finds the group, version and plural of the resource.
func (r *Request) findResource(rs *Resources) (group, version, plural string, err error) {
	if parts := strings.Split(r.Resource, "/"); len(parts) == 2 {
		return "", parts[0], parts[1], nil
	} else if len(parts) == 3 {
		return parts[0], parts[1], parts[2], nil
	} else if len(parts) > 3 {
		return "", "", "", fmt.Errorf("resource %q: write group/version/plural, such as apps/v1/deployments", r.Resource)
	}
	if rs == nil {
		return "", "", "", fmt.Errorf("resource %q: which group and version has it? Write group/version/plural, "+
			"such as apps/v1/deployments", r.Resource)
	}
	found := rs.Find(r.Resource)
	if found == nil {
		return "", "", "", fmt.Errorf("resource %q: the server has none of this name (kx api-resources lists those that it has)",
			r.Resource)
	}
	return found.Group, found.Version, found.Plural, nil
}

// NeedsDiscovery says whether the resource's group and version must be asked of a server.
func (r *Request) NeedsDiscovery() bool { return !r.Raw() && !strings.Contains(r.Resource, "/") }

// Media types of bodies other than patches.
const (
	mediaJSON = "application/json"
	mediaYAML = "application/yaml"
)

// fillBody sets the body and its media type. A patch that must be JSON is converted if it was written as YAML. All
// other bodies are sent as written.
func (r *Request) fillBody(h *HTTP) error {
	if strings.TrimSpace(r.Body) == "" {
		return nil
	}
	body, media := []byte(r.Body), mediaYAML
	if isJSON(body) {
		media = mediaJSON
	}
	if r.Verb == Patch {
		media = r.Patch.media()
		if r.Patch != ApplyPatch && !isJSON(body) {
			converted, err := yaml.YAMLToJSON(body)
			if err != nil {
				return fmt.Errorf("body: make JSON of it, which patches of type %s are: %w", r.Patch, err)
			}
			body = converted
		}
	}
	h.Body = body
	if h.ContentType() == "" {
		if h.Header == nil {
			h.Header = map[string][]string{}
		}
		h.Header["Content-Type"] = []string{media}
	}
	return nil
}

func isJSON(body []byte) bool { return json.Valid(body) }
