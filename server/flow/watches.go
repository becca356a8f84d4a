package flow

import (
	"sync"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apiserver/pkg/endpoints/request"
)

// watches counts the watches of this server, to estimate how many of them a write notifies. mu guards counts.
type watches struct {
	mu     sync.Mutex
	counts map[objects]int
}

// objects names the target of a request: all objects of a resource, all in a namespace, or one.
type objects struct{ group, resource, namespace, name string }

func objectsOf(info *request.RequestInfo) objects {
	return objects{info.APIGroup, info.Resource, info.Namespace, info.Name}
}

// add counts a watch until forget is called.
func (w *watches) add(r Request) (forget func()) {
	if node, ok := nodeOf(r); ok && node != "" {
		return func() {} // most pods are on other nodes
	}
	of := objectsOf(r.Info)
	w.change(of, 1)
	return func() { w.change(of, -1) }
}

// nodeOf returns the node to whose pods a watch is limited.
func nodeOf(r Request) (node string, ok bool) {
	if r.Info.Resource != "pods" {
		return "", false
	}
	selector, err := fields.ParseSelector(r.URL.Query().Get("fieldSelector"))
	if err != nil {
		return "", false
	}
	return selector.RequiresExactMatch("spec.nodeName")
}

func (w *watches) change(of objects, by int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.counts == nil {
		w.counts = map[objects]int{}
	}
	if w.counts[of] += by; w.counts[of] == 0 {
		delete(w.counts, of)
	}
}

// audience returns the number of watches that a write may notify.
func (w *watches) audience(info *request.RequestInfo) int {
	one := objectsOf(info)
	w.mu.Lock()
	defer w.mu.Unlock()
	count := w.counts[objects{group: one.group, resource: one.resource}]
	if one.namespace != "" {
		count += w.counts[objects{group: one.group, resource: one.resource, namespace: one.namespace}]
	}
	if one.name != "" {
		count += w.counts[one]
	}
	return count
}
