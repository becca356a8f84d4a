package aggregator

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"
	"slices"
	"strings"

	apidiscoveryv2 "k8s.io/api/apidiscovery/v2"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/client-go/transport"

	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/server/webhook"
)

const (
	// pageMost is the number of objects in a page of a list, and pagesMost the most pages.
	pageMost, pagesMost = 500, 10_000
	// listMost limits the memory of all pages of a list. itemBytes is the memory of an empty object.
	listMost, itemBytes = 128 << 20, 264
	// failureMost limits the bytes that are read of a failure, and wordsMost those that are shown if it is no Status.
	failureMost, wordsMost = 64 << 10, 2 << 10
	// ofMetadata requests lists of metadata, which is enough to empty a namespace. A server that does not support such
	// lists sends whole objects.
	ofMetadata = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,application/json"
)

// Collections returns the namespaced resources of other servers whose objects can be deleted.
func (s *Server) Collections() map[schema.GroupVersionResource]rest.Storage {
	all := map[schema.GroupVersionResource]rest.Storage{}
	for gv, r := range *s.remotes.Load() {
		known := r.resources.Load()
		if known == nil {
			continue
		}
		for _, one := range *known {
			if one.Scope != apidiscoveryv2.ScopeNamespace || !slices.Contains(one.Verbs, "list") || !slices.Contains(one.Verbs, "delete") {
				continue
			}
			resource := gv.WithResource(one.Resource)
			all[resource] = &collection{server: s, remote: r, resource: resource, whole: slices.Contains(one.Verbs, "deletecollection")}
		}
	}
	return all
}

// Complete returns an error if a server is unreachable or does not list its resources: it may have objects in a
// namespace.
func (s *Server) Complete(context.Context) error {
	var unknown []string
	for gv, r := range *s.remotes.Load() {
		if r.away.Load() != nil || r.resources.Load() == nil {
			unknown = append(unknown, fmt.Sprintf("%s: stale GroupVersion discovery: %s", gv, gv))
		}
	}
	if len(unknown) == 0 {
		return nil
	}
	slices.Sort(unknown)
	//lint:ignore ST1005 clients of discovery say it so
	return fmt.Errorf("Discovery failed for some groups, %d failing: unable to retrieve the complete list of server APIs: %s",
		len(unknown), strings.Join(unknown, ", "))
}

// collection is one resource of another server, in the namespaces of this one.
type collection struct {
	server   *Server
	remote   *remote
	resource schema.GroupVersionResource
	// whole is true if one request can delete all objects of a namespace.
	whole bool
}

var (
	_ rest.Scoper            = &collection{}
	_ rest.Lister            = &collection{}
	_ rest.CollectionDeleter = &collection{}
)

func (*collection) NamespaceScoped() bool   { return true }
func (*collection) New() runtime.Object     { return &metav1.PartialObjectMetadata{} }
func (*collection) NewList() runtime.Object { return &metav1.PartialObjectMetadataList{} }
func (*collection) Destroy()                {}
func (c *collection) path(ns string) string {
	return c.remote.page() + "/namespaces/" + url.PathEscape(ns) + "/" + c.resource.Resource
}

// ConvertToTable only completes the interface: the other server makes the tables for clients.
func (c *collection) ConvertToTable(ctx context.Context, obj, options runtime.Object) (*metav1.Table, error) {
	return rest.NewDefaultTableConvertor(c.resource.GroupResource()).ConvertToTable(ctx, obj, options)
}

// List returns the metadata of the objects in the namespace of ctx.
func (c *collection) List(ctx context.Context, _ *metainternalversion.ListOptions) (runtime.Object, error) {
	all := &metav1.PartialObjectMetadataList{}
	left := listMost
	for page, err := range c.pages(ctx) {
		if err != nil {
			return nil, err
		}
		if left -= page.bytes; left < 0 {
			return nil, c.tooLong()
		}
		all.ListMeta, all.Items = page.ListMeta, append(all.Items, page.Items...)
	}
	return all, nil
}

// pages reads the objects in the namespace of ctx, page by page. An error is the last one.
func (c *collection) pages(ctx context.Context) iter.Seq2[*listPage, error] {
	return func(yield func(*listPage, error) bool) {
		token := ""
		for range pagesMost {
			page, err := c.page(ctx, token)
			if !yield(page, err) || err != nil || page.Continue == "" {
				return
			}
			token = page.Continue
		}
		yield(nil, fmt.Errorf("list %s: there is no end to its pages", c.resource))
	}
}

// listPage is a page of a list with its size.
type listPage struct {
	metav1.PartialObjectMetadataList
	bytes int
}

var errTooLong = errors.New("its answer is too long")

// UnmarshalJSON measures the page, which nothing else sees in bytes, before it makes objects of it.
func (p *listPage) UnmarshalJSON(data []byte) error {
	var items struct{ Items []json.RawMessage }
	if err := json.Unmarshal(data, &items); err != nil {
		return err
	}
	if p.bytes = len(data) + itemBytes*len(items.Items); p.bytes > listMost {
		return errTooLong
	}
	return json.Unmarshal(data, &p.PartialObjectMetadataList)
}

func (c *collection) tooLong() error {
	return fmt.Errorf("list %s: the service %s answers more than %d bytes, which is the most that is read: delete some of its objects "+
		"by name", c.resource, c.remote.service(), listMost)
}

// page reads the page of a list at a continue token; an empty one is that of the first page.
func (c *collection) page(ctx context.Context, token string) (*listPage, error) {
	query := url.Values{"limit": {fmt.Sprint(pageMost)}, "continue": {token}}
	page := &listPage{}
	err := c.ask(ctx, http.MethodGet, c.path(request.NamespaceValue(ctx))+"?"+query.Encode(), nil, page)
	if errors.Is(err, errTooLong) {
		err = c.tooLong()
	}
	return page, err
}

// DeleteCollection deletes the objects in the namespace of ctx. It returns the metadata of all, or of some if the other
// server deletes them by one request. The other server runs its own admission.
func (c *collection) DeleteCollection(ctx context.Context, validate rest.ValidateObjectFunc, options *metav1.DeleteOptions,
	list *metainternalversion.ListOptions) (runtime.Object, error) {
	if c.whole {
		return c.deleteWhole(ctx, validate, options)
	}
	found, err := c.List(ctx, list)
	if err != nil {
		return nil, err
	}
	items := found.(*metav1.PartialObjectMetadataList).Items
	for i := range items {
		if err := validate(ctx, &items[i]); err != nil {
			return nil, err
		}
		exactly := options.DeepCopy()
		exactly.Preconditions = &metav1.Preconditions{UID: &items[i].UID}
		err := c.ask(ctx, http.MethodDelete, c.path(request.NamespaceValue(ctx))+"/"+url.PathEscape(items[i].Name), exactly, nil)
		if err != nil && !apierrors.IsNotFound(err) {
			return nil, err
		}
	}
	return found, nil
}

// deleteWhole deletes the objects by one request, if there are any. The first page with objects says that.
func (c *collection) deleteWhole(ctx context.Context, validate rest.ValidateObjectFunc, options *metav1.DeleteOptions,
) (runtime.Object, error) {
	for page, err := range c.pages(ctx) {
		if err != nil {
			return nil, err
		}
		if len(page.Items) == 0 {
			continue
		}
		if err := validate(ctx, &page.Items[0]); err != nil { // all are in one namespace
			return nil, err
		}
		return &page.PartialObjectMetadataList, c.ask(ctx, http.MethodDelete, c.path(request.NamespaceValue(ctx)), options, nil)
	}
	return &metav1.PartialObjectMetadataList{}, nil
}

// ask sends a request to the other server as the user of ctx. It returns failures as a Status.
func (c *collection) ask(ctx context.Context, method, path string, body, into any) error {
	who, ok := request.UserFrom(ctx)
	if !ok {
		return errors.New("missing user")
	}
	if away := c.remote.away.Load(); away != nil {
		return apierrors.NewServiceUnavailable(unavailable)
	}
	host, err := c.server.locate(ctx, c.remote.ref)
	if err != nil {
		return err
	}
	var sent io.Reader = http.NoBody
	if body != nil {
		data, err := json.Marshal(body)
		if err != nil {
			return err
		}
		sent = bytes.NewReader(data)
	}
	req, err := http.NewRequestWithContext(ctx, method, "https://"+host+path, sent)
	if err != nil {
		return err
	}
	req.Header.Set("Accept", ofMetadata)
	req.Header.Set("Content-Type", runtime.ContentTypeJSON)
	transport.SetAuthProxyHeaders(req, who.GetName(), who.GetUID(), who.GetGroups(), who.GetExtra())
	answer, err := client(webhook.Answers(c.remote.transport, answerMost), 0).Do(req)
	if err != nil {
		return fmt.Errorf("%s %s of the service %s: %w", method, path, c.remote.service(), err)
	}
	defer answer.Body.Close()
	if answer.StatusCode < http.StatusOK || answer.StatusCode >= http.StatusMultipleChoices {
		return c.failure(method, answer)
	}
	data, err := io.ReadAll(answer.Body)
	if err != nil {
		return fmt.Errorf("read what the service %s answers to %s %s: %w", c.remote.service(), method, path, err)
	}
	if into == nil {
		return nil
	}
	return json.Unmarshal(data, into)
}

// failure returns the Status in a failed answer, or one for its code if it has none.
func (c *collection) failure(method string, answer *http.Response) error {
	data, err := io.ReadAll(io.LimitReader(answer.Body, failureMost))
	status := &metav1.Status{}
	if err == nil && json.Unmarshal(data, status) == nil && status.Status == metav1.StatusFailure {
		return &apierrors.StatusError{ErrStatus: *status}
	}
	return apierrors.NewGenericServerResponse(answer.StatusCode, method, c.resource.GroupResource(), "",
		string(data[:min(len(data), wordsMost)]), 0, true)
}
