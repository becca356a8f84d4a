package check

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"

	apidiscoveryv2 "k8s.io/api/apidiscovery/v2"
	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/apiserver/pkg/apis/audit"
	"k8s.io/client-go/rest"
)

// manager is the field manager of the objects that a check writes.
const manager = "kx-check"

// client sends requests to the server.
type client struct {
	http *http.Client
	// base is the server's URL, without a slash at its end.
	base string
	// whole asks for answers with the whole object.
	whole bool

	// groups has the groups that the server serves before any definition of the set. It does not change after discover.
	groups map[string]bool
	// lock guards kinds.
	lock  sync.RWMutex
	kinds map[schema.GroupVersionKind]servedResource
}

// servedResource describes the resource that serves a kind.
type servedResource struct {
	resource   schema.GroupVersionResource
	namespaced bool
}

func newClient(config *rest.Config, whole bool) (*client, error) {
	c, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, err
	}
	base, _, err := rest.DefaultServerUrlFor(config) // a kubeconfig may leave out the scheme
	if err != nil {
		return nil, fmt.Errorf("read the server's address %q: %w", config.Host, err)
	}
	return &client{
		http: c, base: strings.TrimSuffix(base.String(), "/"), whole: whole,
		groups: map[string]bool{}, kinds: map[schema.GroupVersionKind]servedResource{},
	}, nil
}

// answer is the answer to a request.
type answer struct {
	code     int
	body     []byte
	warnings []string
	// status is the Status of an error, or else nil.
	status *metav1.Status
}

// call is a request.
type call struct {
	method, path string
	query        url.Values
	// by is the user to send it as, nil for the administrator.
	by *user
	// counted says that the evaluations of expressions for this call count.
	counted bool
	body    []byte
	// media is the type of the body, and accept that of the answer.
	media, accept string
}

// do sends a request. An answer that refuses it is no error.
func (c *client) do(ctx context.Context, r call) (*answer, error) {
	request, err := http.NewRequestWithContext(ctx, r.method, c.base+r.path, bytes.NewReader(r.body))
	if err != nil {
		return nil, err
	}
	request.URL.RawQuery = r.query.Encode()
	request.Header.Set("Kx-Trace", "off")
	if r.counted {
		request.Header.Set(audit.HeaderAuditID, counted)
	}
	if r.by != nil {
		request.Header.Set(authenticationv1.ImpersonateUserHeader, r.by.name)
		request.Header[authenticationv1.ImpersonateGroupHeader] = r.by.groups
	}
	if r.media != "" {
		request.Header.Set("Content-Type", r.media)
	}
	if r.accept == "" {
		r.accept = runtime.ContentTypeJSON
	}
	request.Header.Set("Accept", r.accept)
	response, err := c.http.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	a := &answer{code: response.StatusCode}
	if a.body, err = io.ReadAll(response.Body); err != nil {
		return nil, err
	}
	headers, _ := utilnet.ParseWarningHeaders(response.Header["Warning"])
	for _, h := range headers {
		a.warnings = append(a.warnings, h.Text)
	}
	if a.code >= http.StatusBadRequest {
		a.status = &metav1.Status{}
		if err := json.Unmarshal(a.body, a.status); err != nil || a.status.Message == "" {
			a.status = &metav1.Status{Message: fmt.Sprintf("%s: %s", response.Status, bytes.TrimSpace(a.body))}
		}
	}
	return a, nil
}

// write sends an object of the check itself, as JSON.
func (c *client) write(ctx context.Context, method, path, media string, query url.Values, object any) (*answer, error) {
	body, err := json.Marshal(object)
	if err != nil {
		return nil, err
	}
	return c.do(ctx, call{method: method, path: path, query: query, body: body, media: media})
}

// discover fills in the groups and kinds that the server serves.
func (c *client) discover(ctx context.Context) error {
	for _, path := range []string{"/api", "/apis"} {
		a, err := c.do(ctx, call{method: http.MethodGet, path: path,
			accept: "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"})
		if err != nil {
			return err
		}
		if a.code == http.StatusNotAcceptable {
			return fmt.Errorf("GET %s: the server has no aggregated discovery, which Kubernetes has since 1.30: "+
				"check against a newer cluster, or against its manifests", path)
		}
		if a.status != nil {
			return errors.New(a.status.Message)
		}
		var list apidiscoveryv2.APIGroupDiscoveryList
		if err := json.Unmarshal(a.body, &list); err != nil {
			return fmt.Errorf("read the kinds of the server: %w", err)
		}
		for i := range list.Items {
			c.addGroup(&list.Items[i])
		}
	}
	return nil
}

func (c *client) addGroup(group *apidiscoveryv2.APIGroupDiscovery) {
	c.groups[group.Name] = true
	for _, version := range group.Versions {
		for _, resource := range version.Resources {
			if kind := resource.ResponseKind; kind != nil {
				c.add(schema.GroupVersionKind{Group: group.Name, Version: version.Version, Kind: kind.Kind}, servedResource{
					schema.GroupVersionResource{Group: group.Name, Version: version.Version, Resource: resource.Resource},
					resource.Scope == apidiscoveryv2.ScopeNamespace,
				})
			}
		}
	}
}

func (c *client) add(kind schema.GroupVersionKind, s servedResource) {
	c.lock.Lock()
	defer c.lock.Unlock()
	c.kinds[kind] = s
}

func (c *client) kind(kind schema.GroupVersionKind) (servedResource, bool) {
	c.lock.RLock()
	defer c.lock.RUnlock()
	s, ok := c.kinds[kind]
	return s, ok
}

// versions returns a kind in each of its served versions, sorted by the name of the version.
func (c *client) versions(of schema.GroupKind) (all []schema.GroupVersionKind) {
	c.lock.RLock()
	defer c.lock.RUnlock()
	for k := range c.kinds {
		if k.GroupKind() == of {
			all = append(all, k)
		}
	}
	slices.SortFunc(all, func(a, b schema.GroupVersionKind) int { return cmp.Compare(a.Version, b.Version) })
	return all
}

// collection returns the path of a resource's list, in a namespace if the resource has namespaces.
func (s servedResource) collection(namespace string) string {
	path := "/apis/" + s.resource.Group + "/" + s.resource.Version
	if s.resource.Group == "" {
		path = "/api/" + s.resource.Version
	}
	if s.namespaced {
		path += "/namespaces/" + url.PathEscape(namespace)
	}
	return path + "/" + s.resource.Resource
}
