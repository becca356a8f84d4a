package survey

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utilnet "k8s.io/apimachinery/pkg/util/net"
)

// Server is asked as its administrator.
type Server struct {
	URL    string
	Client *http.Client
}

// Resource is what a server's discovery says of a resource.
type Resource struct {
	// Path is that of its objects, in their namespace if they are in one.
	Path      string
	HasStatus bool
	// Stored is false of questions: they are answered, and there is nothing to change or to read afterwards.
	Stored bool
}

// Ways are those by which its objects are asked about.
func (r Resource) Ways() []Via {
	switch {
	case !r.Stored:
		return []Via{Create}
	case !r.HasStatus:
		return []Via{Create, Update, Table}
	}
	return []Via{Create, Update, Status, Table}
}

// Find looks up the resource of an object: by its name, or else by the object's kind. It is nil where the server does
// not have it in the object's version.
func (s Server) Find(ctx context.Context, object any, resource string) (*Resource, error) {
	root := "/apis/" + text(object, "apiVersion")
	if text(object, "apiVersion") == "v1" {
		root = "/api/v1"
	}
	r, err := s.ask(ctx, http.MethodGet, root, nil, "")
	if err != nil || r.code == http.StatusNotFound {
		return nil, err
	}
	var list metav1.APIResourceList
	if err := json.Unmarshal(r.body, &list); err != nil {
		return nil, fmt.Errorf("%s: %w", root, err)
	}
	has := func(name string) int {
		return slices.IndexFunc(list.APIResources, func(r metav1.APIResource) bool {
			return r.Name == name || name == "" && r.Kind == text(object, "kind") && !strings.Contains(r.Name, "/")
		})
	}
	i := has(resource)
	if i < 0 {
		return nil, nil
	}
	found := &Resource{
		Path: root, HasStatus: has(list.APIResources[i].Name+"/status") >= 0,
		Stored: slices.Contains(list.APIResources[i].Verbs, "get"),
	}
	if list.APIResources[i].Namespaced {
		found.Path += "/namespaces/" + cmp.Or(text(object, "metadata", "namespace"), metav1.NamespaceDefault)
	}
	found.Path += "/" + list.APIResources[i].Name
	return found, nil
}

// item is the path of one object.
func (r Resource) item(name string) string { return r.Path + "/" + url.PathEscape(name) }

const dryRun = "?dryRun=All"

// asTable is the media type of tables.
const asTable = "application/json;as=Table;v=v1;g=meta.k8s.io"

// reply is an answer as it came.
type reply struct {
	code     int
	warnings []string
	body     []byte
}

func (s Server) ask(ctx context.Context, method, path string, body any, accept string) (reply, error) {
	var content io.Reader
	if body != nil {
		content = bytes.NewReader(render(body))
	}
	req, err := http.NewRequestWithContext(ctx, method, s.URL+path, content)
	if err != nil {
		return reply{}, err
	}
	req.Header.Set("User-Agent", "survey")
	req.Header.Set("Accept", "application/json")
	if accept != "" {
		req.Header.Set("Accept", accept)
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	res, err := s.Client.Do(req)
	if err != nil {
		return reply{}, err
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		return reply{}, err
	}
	r := reply{code: res.StatusCode, body: data}
	warnings, _ := utilnet.ParseWarningHeaders(res.Header.Values("Warning"))
	for _, w := range warnings {
		r.warnings = append(r.warnings, w.Text)
	}
	return r, nil
}
