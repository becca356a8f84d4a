package check

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
)

// Base is what is there before the set is created.
type Base struct {
	// Inputs are the manifests of all that is there.
	Inputs Inputs
	// Cluster, if not nil, is asked for what the set touches, instead of Inputs. Nothing is written to it.
	Cluster *rest.Config
	// Name is how output names the cluster.
	Name string
}

// documents returns the objects that are there. Notes say what could not be read.
func (b *Base) documents(ctx context.Context, set []*document) ([]*document, []Note, error) {
	if b.Cluster != nil {
		return fetch(ctx, b, set)
	}
	in := read(b.Inputs)
	for _, d := range in.documents {
		if d.failure != nil {
			return nil, nil, fmt.Errorf("read what is there already: %s: %s", d.failure.Position, d.failure.Message)
		}
	}
	if len(in.documents) == 0 {
		return nil, nil, fmt.Errorf("read what is there already: there is no manifest in %s", b.Inputs.Paths[0])
	}
	return in.documents, in.leftOut, nil
}

// load creates what is there already. Its policies come last: they have no say about what was there before them.
func (c *checker) load(ctx context.Context) {
	if c.base == 0 {
		return
	}
	order := []stage{namespaces, definitions, params, classes, limits, roles, others}
	if c.config.Against.Cluster != nil {
		// The use of a quota is known there, and must not be counted once more.
		order = []stage{namespaces, definitions, params, classes, roles, others, limits}
	}
	for _, at := range order {
		c.each(ctx, c.there[at], c.take)
		if at == namespaces {
			c.assume(ctx, c.documents[:c.base], c.there[namespaces])
			c.equip(ctx, c.documents[:c.base])
		}
	}
	if len(c.there[policies]) == 0 {
		return
	}
	err := c.prepareProbe(ctx, probe)
	if err == nil {
		err = c.prepareProbe(ctx, probeThere)
	}
	c.each(ctx, c.there[policies], c.take)
	if err == nil {
		err = c.enforce(ctx, probeThere)
	}
	if err != nil {
		c.notTaken(c.documents[c.there[policies][0]], "its policies are not in force: "+err.Error())
	}
}

// take creates an object that is there already.
func (c *checker) take(ctx context.Context, i int) {
	d := c.documents[i]
	if _, ok := c.client.kind(d.groupVersionKind()); !ok {
		c.notTaken(d, "nothing there defines the kind in "+d.APIVersion)
		return
	}
	r := c.submit(ctx, d)
	c.results[i] = r
	if !r.stored {
		c.notTaken(d, r.Findings[0].Message)
		return
	}
	switch {
	case isDefinition(d):
		c.serve(ctx, d, r)
	case d.Kind == "ResourceQuota" && d.group() == "":
		c.limit(ctx, d)
	}
	c.lock.Lock()
	c.summary.There++
	c.loaded[c.identity(d)] = true
	c.lock.Unlock()
}

// notTaken notes an object that is there, and not in the check.
func (c *checker) notTaken(d *document, why string) {
	c.lock.Lock()
	defer c.lock.Unlock()
	c.summary.NotTaken = append(c.summary.NotTaken, Note{d.position, d.Object.String() + ": " + why})
}

// keepsStored warns of stored objects that a new state of their definition would refuse if they were created now. Until
// somebody changes the fields in question, the server tolerates them.
func (c *checker) keepsStored(ctx context.Context, d *document, r *Result) {
	if r.Updated == "" || !r.stored {
		return
	}
	group, kind := scalar(d.root, "spec", "group"), scalar(d.root, "spec", "names", "kind")
	for _, i := range c.there[others] {
		of := c.documents[i]
		if of.group() != group || of.Kind != kind || c.results[i] == nil || !c.results[i].stored {
			continue
		}
		if problem := c.stored(ctx, of); problem != "" {
			c.warn(r, d, []string{fmt.Sprintf("%s is stored, and would be refused: %s", of.Object, problem)})
		}
	}
}

// stored returns what its definition has against a stored object.
func (c *checker) stored(ctx context.Context, d *document) (problem string) {
	as, ok := c.servedNow(ctx, d)
	if !ok {
		return ""
	}
	a, err := c.client.do(ctx, call{method: http.MethodGet, path: as.collection(d.namespace()) + "/" + url.PathEscape(d.Name)})
	if err != nil || a.status != nil {
		return ""
	}
	object := map[string]any{}
	if json.Unmarshal(a.body, &object) != nil {
		return ""
	}
	scrub(object)
	// Under another name it is a new object, whose fields are all looked at.
	object["metadata"].(map[string]any)["name"] = d.Name + "-kx-check"
	a, err = c.client.write(ctx, http.MethodPost, as.collection(d.namespace()), runtime.ContentTypeJSON,
		url.Values{"dryRun": {metav1.DryRunAll}}, object)
	if err != nil || a.code != http.StatusUnprocessableEntity {
		return ""
	}
	return d.refusals(a.status)[0].Message
}

// servedNow returns how a stored object is reached: in its own version, or in another one if that is gone.
func (c *checker) servedNow(ctx context.Context, d *document) (served, bool) {
	own := d.groupVersionKind()
	c.client.lock.RLock()
	kinds := maps.Clone(c.client.kinds)
	c.client.lock.RUnlock()
	versions := []schema.GroupVersionKind{own}
	for k := range kinds {
		if k.GroupKind() == own.GroupKind() && k != own {
			versions = append(versions, k)
		}
	}
	slices.SortFunc(versions[1:], func(a, b schema.GroupVersionKind) int { return slices.Compare([]byte(a.Version), []byte(b.Version)) })
	for _, k := range versions {
		as := kinds[k]
		a, err := c.client.do(ctx, call{method: http.MethodGet, path: as.collection("default"), query: url.Values{"limit": {"1"}},
			accept: briefList})
		if err == nil && a.status == nil {
			return as, true
		}
	}
	return served{}, false
}

// scrub removes from an object what belongs to the server that has it.
func scrub(object map[string]any) {
	metadata, _ := object["metadata"].(map[string]any)
	for _, field := range append([]string{"deletionTimestamp", "deletionGracePeriodSeconds"}, owned...) {
		delete(metadata, field)
	}
}
