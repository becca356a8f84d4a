package request

import (
	"bytes"
	"encoding/json"
	"net/url"
	"strings"
)

// ParseHTTP turns an observed HTTP request into a Request. It has a verb if the path is the API's, else a method and a
// path.
func ParseHTTP(method, uri, contentType string, body []byte) Request {
	raw := Request{Method: method, Path: uri, Body: readable(body)}
	if contentType != "" && len(body) > 0 && contentType != mediaJSON && contentType != mediaYAML {
		raw.Header = map[string][]string{"Content-Type": {contentType}}
	}
	u, err := url.ParseRequestURI(uri)
	if err != nil {
		return raw
	}
	r, ok := fromPath(u.EscapedPath())
	query, err := url.ParseQuery(u.RawQuery)
	if !ok || err != nil {
		return raw
	}
	r.Body = raw.Body
	r.Header = raw.Header
	if !r.setVerb(method, query, contentType) {
		return raw
	}
	if len(query) > 0 {
		r.Query = query
	}
	// A verb could not express a trailing slash, an unusual escape or an unusual order of the query: such a request
	// stays raw.
	if again, err := r.Build(nil); err != nil || again.Path != u.EscapedPath() || again.Method != method {
		return raw
	}
	return r
}

// readable indents JSON, and leaves anything else as it is.
func readable(body []byte) string {
	var out bytes.Buffer
	if len(body) == 0 || json.Indent(&out, body, "", "  ") != nil {
		return string(body)
	}
	return out.String() + "\n"
}

// fromPath reads /api/v1/... and /apis/group/version/...
func fromPath(path string) (r Request, ok bool) {
	parts := strings.Split(strings.TrimPrefix(path, "/"), "/")
	for i, p := range parts {
		unescaped, err := url.PathUnescape(p)
		if err != nil || unescaped == "" || strings.Contains(unescaped, "/") {
			return r, false
		}
		parts[i] = unescaped
	}
	var prefix string
	switch {
	case len(parts) >= 3 && parts[0] == "api":
		prefix, parts = parts[1]+"/", parts[2:]
	case len(parts) >= 4 && parts[0] == "apis":
		prefix, parts = parts[1]+"/"+parts[2]+"/", parts[3:]
	default:
		return r, false
	}
	if parts[0] == "watch" {
		return r, false // the old form of a watch: its path can't be built from fields
	}
	// What follows a namespace is its subresource status or finalize, or a resource in it.
	if parts[0] == "namespaces" && len(parts) >= 3 && parts[2] != "status" && parts[2] != "finalize" {
		r.Namespace, parts = parts[1], parts[2:]
	}
	r.Resource = prefix + parts[0]
	if len(parts) > 1 {
		r.Name = parts[1]
	}
	if len(parts) > 2 {
		r.Subresource = strings.Join(parts[2:], "/")
	}
	return r, true
}

// setVerb finds the verb from the method, the query and the presence of a name.
func (r *Request) setVerb(method string, query url.Values, contentType string) bool {
	one := r.Name != ""
	switch method {
	case "GET":
		r.Verb = Get
		if !one {
			r.Verb = List
			if w := query.Get("watch"); w == "true" || w == "1" {
				r.Verb = Watch
				query.Del("watch")
			}
		}
	case "POST":
		r.Verb = Create
	case "PUT":
		r.Verb = Update
	case "PATCH":
		var ok bool
		r.Verb = Patch
		r.Patch, ok = patchTypeOf(contentType)
		r.Header = nil
		return ok
	case "DELETE":
		r.Verb = Delete
		if !one {
			r.Verb = DeleteCollection
		}
	default:
		return false
	}
	return true
}
