package cmdlog

import (
	"maps"
	"net/http"
	"strings"

	"github.com/kx-apiserver/kx/core/request"
	"github.com/kx-apiserver/kx/tui/shell"
)

// command returns the command that sends the request again, with what it lacks as a comment.
func (s entry) command(where shell.Target) string {
	uri := s.Path
	if more := s.Query.Encode(); more != "" {
		join := "?"
		if strings.Contains(uri, "?") {
			join = "&"
		}
		uri += join + more
	}
	method := s.Method
	if method == "" {
		method = http.MethodGet
	}
	contentType := s.Header.Get("Content-Type")
	if contentType == "" && len(s.Body) > 0 {
		contentType = "application/json"
	}
	r := request.ParseHTTP(method, uri, contentType, s.Body)
	as := impersonation(s.Header)
	headers := maps.Clone(s.Header)
	maps.DeleteFunc(headers, func(name string, _ []string) bool { return strings.HasPrefix(name, "Impersonate-") })
	if r.Header = mergeHeaders(r.Header, headers); len(r.Header) == 0 {
		r.Header = nil
	}
	h, err := r.Build(nil)
	if err != nil {
		return "# " + method + " " + uri + ": " + err.Error()
	}
	text := ""
	if way := shell.WayOf(0, &r, &h, where); way.Note == "" && way.Text != "" {
		text = "kubectl" + as + strings.TrimPrefix(way.Text, "kubectl")
	} else {
		if as != "" {
			r.Header = mergeHeaders(r.Header, s.Header)
		}
		if where.Context != "" {
			s.note = strings.TrimPrefix(s.note+"; it was sent to the context "+where.Context, "; ")
		}
		if text = shell.WayOf(1, &r, &h, where).Text; text == "" {
			text = "# " + method + " " + uri
		}
	}
	if s.note != "" {
		text = "# " + s.note + "\n" + text
	}
	return text
}

// mergeHeaders returns the headers of both; Content-Type stays as it is in a.
func mergeHeaders(a, b map[string][]string) map[string][]string {
	all := map[string][]string{}
	for name, values := range b {
		if name != "Content-Type" {
			all[name] = values
		}
	}
	maps.Copy(all, a)
	return all
}

// impersonation returns kubectl's flags for the user that a request is sent as.
func impersonation(h http.Header) string {
	var words []string
	for _, f := range []struct{ header, flag string }{
		{"Impersonate-User", "--as"}, {"Impersonate-Uid", "--as-uid"}, {"Impersonate-Group", "--as-group"},
	} {
		for _, value := range h.Values(f.header) {
			words = append(words, shell.Line(f.flag+"="+value))
		}
	}
	if len(words) == 0 {
		return ""
	}
	return " " + strings.Join(words, " ")
}
