package check

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilnet "k8s.io/apimachinery/pkg/util/net"
)

// cluster reads what a set touches in a cluster: the objects that it changes, and all that decides about them.
type cluster struct {
	client *client
	at     Position
	// set has the documents that are checked.
	set       []*document
	documents []*document
	notes     []Note
	// read has the paths that were asked for.
	read map[string]bool
}

const (
	// pageMost is the number of objects that a list asks for at once, and listMost the number that one takes.
	pageMost = 500
	listMost = 5000
)

func fetch(ctx context.Context, b *Base, set []*document) ([]*document, []Note, error) {
	client, err := newClient(b.Cluster, false)
	if err != nil {
		return nil, nil, err
	}
	defer utilnet.CloseIdleConnectionsFor(client.http.Transport)
	c := &cluster{client: client, at: Position{File: b.Name}, set: set, read: map[string]bool{}}
	if err = client.discover(ctx); err == nil {
		err = c.fetch(ctx)
	}
	if err != nil {
		return nil, nil, fmt.Errorf("read what is there in %s: %w", b.Name, err)
	}
	return c.documents, c.notes, nil
}

// builtIn is a kind of the Kubernetes API.
func builtIn(group, version, kind string) schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: group, Version: version, Kind: kind}
}

// classesThere are the kinds of classes that any object may name.
var classesThere = []schema.GroupVersionKind{
	builtIn("storage.k8s.io", "v1", "StorageClass"), builtIn("networking.k8s.io", "v1", "IngressClass"),
	builtIn("scheduling.k8s.io", "v1", "PriorityClass"), builtIn("node.k8s.io", "v1", "RuntimeClass"),
	builtIn("storage.k8s.io", "v1", "VolumeAttributesClass"), builtIn("resource.k8s.io", "v1", "DeviceClass"),
}

// policyKinds are the kinds of policies, whose objects decide about those of others.
var policyKinds = []string{"ValidatingAdmissionPolicy", "ValidatingAdmissionPolicyBinding", "MutatingAdmissionPolicy",
	"MutatingAdmissionPolicyBinding"}

func (c *cluster) fetch(ctx context.Context) error {
	for _, kind := range append(slices.Clone(classesThere), builtIn("", "v1", "Service")) { // Services share addresses and ports
		if err := c.list(ctx, kind, ""); err != nil {
			return err
		}
	}
	for _, kind := range policyKinds {
		if err := c.list(ctx, builtIn(groupPolicies, "v1", kind), ""); err != nil {
			return err
		}
	}
	if err := c.params(ctx); err != nil {
		return err
	}
	in := map[string]bool{"default": true}
	for _, d := range c.set {
		if d.root == nil {
			continue
		}
		in[d.namespace()] = true
		if d.group() == "" && d.Kind == "Namespace" {
			in[d.Name] = true
		}
		if err := c.definitionOf(ctx, d); err != nil {
			return err
		}
		if err := c.get(ctx, d.groupVersionKind(), d.namespace(), d.Name); err != nil {
			return err
		}
	}
	for namespace := range in {
		if err := c.get(ctx, builtIn("", "v1", "Namespace"), "", namespace); err != nil {
			return err
		}
		for _, kind := range []string{"ServiceAccount", "ResourceQuota", "LimitRange"} {
			if err := c.list(ctx, builtIn("", "v1", kind), namespace); err != nil {
				return err
			}
		}
	}
	return nil
}

// definitionOf reads the definition of a document's kind. If the document is itself a definition, its objects are read.
func (c *cluster) definitionOf(ctx context.Context, d *document) error {
	definition := builtIn("apiextensions.k8s.io", "v1", "CustomResourceDefinition")
	if isDefinition(d) {
		kind := schema.GroupKind{Group: scalar(d.root, "spec", "group"), Kind: scalar(d.root, "spec", "names", "kind")}
		if versions := c.client.versions(kind); len(versions) > 0 {
			return c.list(ctx, versions[len(versions)-1], "")
		}
		return nil
	}
	if as, ok := c.client.kind(d.groupVersionKind()); ok && strings.Contains(as.resource.Group, ".") {
		return c.get(ctx, definition, "", as.resource.Resource+"."+as.resource.Group)
	}
	return nil
}

// params reads what the bindings of policies name as params.
func (c *cluster) params(ctx context.Context) error {
	kinds := map[string]schema.GroupVersionKind{}
	for _, d := range c.documents {
		if kind := child(d.root, "spec", "paramKind"); kind != nil && d.group() == groupPolicies {
			kinds[d.Kind+"Binding/"+d.Name] = schema.FromAPIVersionAndKind(scalar(kind, "apiVersion"), scalar(kind, "kind"))
		}
	}
	for _, d := range slices.Clone(c.documents) {
		kind, ok := kinds[d.Kind+"/"+scalar(d.root, "spec", "policyName")]
		ref := child(d.root, "spec", "paramRef")
		if !ok || ref == nil {
			continue
		}
		var err error
		if name, namespace := scalar(ref, "name"), scalar(ref, "namespace"); name != "" && namespace != "" {
			err = c.get(ctx, kind, namespace, name)
		} else {
			err = c.list(ctx, kind, namespace)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// get reads an object, if it is there.
func (c *cluster) get(ctx context.Context, kind schema.GroupVersionKind, namespace, name string) error {
	as, ok := c.client.kind(kind)
	if !ok || name == "" {
		return nil
	}
	path := as.collection(namespace) + "/" + url.PathEscape(name)
	if c.read[path] {
		return nil
	}
	c.read[path] = true
	a, err := c.client.do(ctx, call{method: http.MethodGet, path: path})
	if err != nil {
		return err
	}
	if a.status != nil {
		return c.noteRefusal(a)
	}
	object := map[string]any{}
	if err := json.Unmarshal(a.body, &object); err != nil {
		return err
	}
	return c.add(object)
}

// noteRefusal notes an answer without objects. One that says nothing about what is asked for ends the check.
func (c *cluster) noteRefusal(a *answer) error {
	switch a.code {
	case http.StatusNotFound, http.StatusMethodNotAllowed: // a kind that is only created
		return nil
	case http.StatusForbidden:
		c.notes = append(c.notes, Note{c.at, a.status.Message})
		return nil
	}
	return fmt.Errorf("%s", a.status.Message)
}

// list reads the objects of a kind, in all namespaces if namespace is empty.
func (c *cluster) list(ctx context.Context, kind schema.GroupVersionKind, namespace string) error {
	as, ok := c.client.kind(kind)
	if !ok {
		return nil
	}
	if namespace == "" {
		as.namespaced = false
	}
	path := as.collection(namespace)
	if c.read[path] {
		return nil
	}
	c.read[path] = true
	query := url.Values{"limit": {fmt.Sprint(pageMost)}}
	for n := 0; ; {
		a, err := c.client.do(ctx, call{method: http.MethodGet, path: path, query: query})
		if err != nil {
			return err
		}
		if a.status != nil {
			return c.noteRefusal(a)
		}
		var list struct {
			Metadata struct {
				Continue string `json:"continue"`
			} `json:"metadata"`
			Items []map[string]any `json:"items"`
		}
		if err := json.Unmarshal(a.body, &list); err != nil {
			return err
		}
		for _, object := range list.Items {
			object["apiVersion"], object["kind"] = kind.GroupVersion().String(), kind.Kind
			if err := c.add(object); err != nil {
				return err
			}
		}
		n += len(list.Items)
		if list.Metadata.Continue == "" {
			return nil
		}
		if n >= listMost {
			c.notes = append(c.notes, Note{c.at, fmt.Sprintf("%s has more than %d objects: the others were not read", path, n)})
			return nil
		}
		query.Set("continue", list.Metadata.Continue)
	}
}

// add adds an object as a document, once.
func (c *cluster) add(object map[string]any) error {
	metadata, _ := object["metadata"].(map[string]any)
	uid, _ := metadata["uid"].(string)
	if uid != "" && c.read[uid] {
		return nil
	}
	c.read[uid] = true
	scrub(object)
	text, err := json.Marshal(object)
	if err != nil {
		return err
	}
	for _, d := range newDocument(part{text: text}, c.at.File, runtime.ContentTypeJSON) {
		if d.failure != nil {
			return fmt.Errorf("an object can't be read: %s", d.failure.Message)
		}
		d.position = c.at
		c.documents = append(c.documents, d)
	}
	return nil
}
