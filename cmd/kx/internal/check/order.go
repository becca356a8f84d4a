package check

import (
	"context"
	"strings"
	"sync"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// stage groups the objects that are created together, after those of the stages before. The order of the constants is
// that of the set. load has an order of its own for the base.
type stage int

const (
	namespaces stage = iota
	definitions
	params // of policies
	policies
	classes
	limits
	roles
	others
	stages // the number of stages
)

const (
	groupPolicies = "admissionregistration.k8s.io"
	groupRoles    = "rbac.authorization.k8s.io"
)

// stageOf returns the stage of a document.
func (c *checker) stageOf(d *document) stage {
	group, kind := d.group(), d.Kind
	switch {
	case group == "" && kind == "Namespace":
		return namespaces
	case isDefinition(d):
		return definitions
	case group == groupPolicies && strings.Contains(kind, "AdmissionPolicy"):
		return policies
	case c.isParam(d):
		return params
	case strings.HasSuffix(kind, "Class"):
		return classes
	case group == groupRoles || group == "" && kind == "ServiceAccount":
		return roles
	case group == "" && (kind == "ResourceQuota" || kind == "LimitRange"):
		return limits
	}
	return others
}

func (d *document) group() string {
	group, _, ok := strings.Cut(d.APIVersion, "/")
	if !ok {
		return ""
	}
	return group
}

func (d *document) groupVersionKind() schema.GroupVersionKind {
	return schema.FromAPIVersionAndKind(d.APIVersion, d.Kind)
}

func isDefinition(d *document) bool {
	return d.group() == "apiextensions.k8s.io" && d.Kind == "CustomResourceDefinition"
}

// identity names the object of a document, without its version. A document without a name is an object of its own.
func (c *checker) identity(d *document) string {
	if d.Name == "" {
		return d.position.String()
	}
	namespace := d.namespace()
	if c.ofCluster(d) {
		namespace = "" // the server ignores one
	}
	return strings.Join([]string{d.group(), d.Kind, namespace, d.Name}, "/")
}

// ofCluster reports whether the kind of a document is served and has no namespaces.
func (c *checker) ofCluster(d *document) bool {
	as, ok := c.client.kind(d.groupVersionKind())
	return ok && !as.namespaced
}

// namespace returns the namespace of the object, if its kind has namespaces.
func (d *document) namespace() string {
	if d.Namespace == "" {
		return "default"
	}
	return d.Namespace
}

// isParam reports whether a binding may name the document as its param. Of selectors only matchLabels count, so it may
// take more documents for params than are.
func (c *checker) isParam(d *document) bool {
	for _, binding := range c.bindings {
		ref := child(binding.root, "spec", "paramRef")
		if ref == nil || c.paramKinds[binding.Kind+"/"+scalar(binding.root, "spec", "policyName")] != d.groupVersionKind() {
			continue
		}
		if namespace := scalar(ref, "namespace"); namespace != "" && namespace != d.namespace() {
			continue
		}
		if name := scalar(ref, "name"); name != "" {
			if name == d.Name {
				return true
			}
			continue
		}
		if selected(child(ref, "selector", "matchLabels"), child(d.root, "metadata", "labels")) {
			return true
		}
	}
	return false
}

// selected reports whether labels match the matchLabels of a selector. Without matchLabels all do.
func selected(wanted, have *yaml.Node) bool {
	want, got := labels.Set{}, labels.Set{}
	if wanted != nil {
		_ = wanted.Decode(&want) // the server refuses what can't be decoded
	}
	if have != nil {
		_ = have.Decode(&got)
	}
	return labels.SelectorFromSet(want).Matches(got)
}

// plan sorts the documents into stages. It notes the bindings and params of policies first, since stageOf needs them.
func (c *checker) plan() {
	for _, d := range c.documents {
		if d.root == nil || d.group() != groupPolicies {
			continue
		}
		switch {
		case strings.HasSuffix(d.Kind, "AdmissionPolicyBinding"):
			c.bindings = append(c.bindings, d)
		case strings.HasSuffix(d.Kind, "AdmissionPolicy"):
			if kind := child(d.root, "spec", "paramKind"); kind != nil {
				c.paramKinds[d.Kind+"Binding/"+d.Name] = schema.FromAPIVersionAndKind(scalar(kind, "apiVersion"), scalar(kind, "kind"))
			}
		}
	}
	for i, d := range c.documents {
		if d.root == nil {
			continue
		}
		at, to := c.stageOf(d), &c.stages
		if i < c.base {
			to = &c.there
		}
		to[at] = append(to[at], i)
		if at == limits && d.Kind == "ResourceQuota" { // lane needs these
			c.quotas[d.namespace()] = true
		}
	}
}

// workers is the number of requests that run at once. They wait for etcd half of their time.
const workers = 8

// ordered is the lane of documents whose verdict depends on the ones before them: Services share addresses and ports,
// and the objects of a namespace share its quota.
const ordered = "ordered"

// lane names the lane of a document. The documents of a lane are sent one after the other.
func (c *checker) lane(d *document) string {
	if c.quotas[d.namespace()] || d.group() == "" && d.Kind == "Service" {
		return ordered
	}
	return c.identity(d)
}

// each calls f for documents of a stage, several at once, but in order for those of the same lane.
func (c *checker) each(ctx context.Context, documents []int, f func(ctx context.Context, i int)) {
	inLanes(documents, func(i int) string { return c.lane(c.documents[i]) }, func(i int) { f(ctx, i) })
}

// inLanes calls f for items, several at once, but in order for those of the same lane. It returns when all are done.
func inLanes(items []int, lane func(i int) string, f func(i int)) {
	lanes := map[string][]int{}
	var order []string
	for _, i := range items {
		name := lane(i)
		if lanes[name] == nil {
			order = append(order, name)
		}
		lanes[name] = append(lanes[name], i)
	}
	var running sync.WaitGroup
	next := make(chan []int)
	for range min(workers, len(order)) {
		running.Go(func() {
			for lane := range next {
				for _, i := range lane {
					f(i)
				}
			}
		})
	}
	for _, name := range order {
		next <- lanes[name]
	}
	close(next)
	running.Wait()
}
