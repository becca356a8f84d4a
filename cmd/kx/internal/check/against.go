package check

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/kx-apiserver/kx/server/options"
)

// Base has the objects that exist before the set. They come from Inputs, or from a cluster.
type Base struct {
	Inputs Inputs
	// Cluster, if not nil, is read instead of Inputs: only what the set touches. Nothing is written there.
	Cluster *rest.Config
	// Stored, if not nil, has the options of a server over stored data. It is started, and its config becomes Cluster.
	Stored *options.Options
	// Name names the cluster in the output.
	Name string
}

// documents returns the objects of the base. Notes say what could not be read. A server over stored data has stopped
// when documents returns, but Cluster stays set: load asks it whether the base is a cluster.
func (b *Base) documents(ctx context.Context, log *slog.Logger, set []*document) (all []*document, notes []Note, err error) {
	if b.Stored != nil {
		s, startErr := start(ctx, b.Stored, log)
		if startErr != nil {
			return nil, nil, fmt.Errorf("read what is there in %s: %w", b.Name, startErr)
		}
		defer func() { err = errors.Join(err, s.stop()) }()
		b.Cluster = s.config
	}
	if b.Cluster != nil {
		return fetch(ctx, b, set)
	}
	in := read(b.Inputs)
	in.documents = slices.DeleteFunc(in.documents, isTable) // only the set has rows
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

// load creates the objects of the base. Its policies come last: they can't refuse an object that is there already.
func (c *checker) load(ctx context.Context) {
	if c.base == 0 {
		return
	}
	order := []stage{namespaces, definitions, params, classes, limits, roles, others}
	if c.config.Against.Cluster != nil {
		// A quota of a cluster comes with its use. If it came before the objects, they would be counted twice.
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

// take creates an object of the base.
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

// notTaken notes an object of the base that the check goes on without.
func (c *checker) notTaken(d *document, why string) {
	c.lock.Lock()
	defer c.lock.Unlock()
	c.summary.NotTaken = append(c.summary.NotTaken, Note{d.position, d.Object.String() + ": " + why})
}

// keepsStored warns of objects of the base that their changed definition would refuse if they were created now. The
// server tolerates such objects until a client changes the fields in question.
func (c *checker) keepsStored(ctx context.Context, d *document, r *Result) {
	if r.Updated == "" || !r.stored {
		return
	}
	kind := schema.GroupKind{Group: scalar(d.root, "spec", "group"), Kind: scalar(d.root, "spec", "names", "kind")}
	var of []int
	for _, i := range c.there[others] {
		if c.documents[i].groupVersionKind().GroupKind() == kind && c.results[i] != nil && c.results[i].stored {
			of = append(of, i)
		}
	}
	if len(of) == 0 {
		return
	}
	as, ok := c.servedNow(ctx, kind)
	if !ok {
		return
	}
	problems := make([]string, len(c.documents))
	c.each(ctx, of, func(ctx context.Context, i int) { problems[i] = c.storedProblem(ctx, as, c.documents[i]) })
	for _, i := range of {
		if problems[i] != "" {
			c.warn(r, d, []string{fmt.Sprintf("%s is stored, and would be refused: %s", c.documents[i].Object, problems[i])})
		}
	}
}

// storedProblem returns why a stored object would be refused if it were created now, or "".
func (c *checker) storedProblem(ctx context.Context, as servedResource, d *document) (problem string) {
	a, err := c.client.do(ctx, call{method: http.MethodGet, path: as.collection(d.namespace()) + "/" + url.PathEscape(d.Name)})
	if err != nil || a.status != nil {
		return ""
	}
	object := map[string]any{}
	if json.Unmarshal(a.body, &object) != nil {
		return ""
	}
	scrub(object)
	// An update would tolerate fields that stay as they are. A create checks all before it finds the name taken.
	a, err = c.client.write(ctx, http.MethodPost, as.collection(d.namespace()), runtime.ContentTypeJSON,
		url.Values{"dryRun": {metav1.DryRunAll}}, object)
	if err != nil || a.code != http.StatusUnprocessableEntity {
		return ""
	}
	return d.refusals(a.status)[0].Message
}

// servedNow returns a version of a kind that the server still serves: the changed definition may have dropped some.
func (c *checker) servedNow(ctx context.Context, kind schema.GroupKind) (servedResource, bool) {
	for _, k := range c.client.versions(kind) {
		as, _ := c.client.kind(k)
		a, err := c.client.do(ctx, call{method: http.MethodGet, path: as.collection("default"), query: url.Values{"limit": {"1"}},
			accept: briefList})
		if err == nil && a.status == nil {
			return as, true
		}
	}
	return servedResource{}, false
}

// scrub removes the metadata that the server of an object has filled in.
func scrub(object map[string]any) {
	metadata, _ := object["metadata"].(map[string]any)
	for _, field := range append([]string{"deletionTimestamp", "deletionGracePeriodSeconds"}, owned...) {
		delete(metadata, field)
	}
}
