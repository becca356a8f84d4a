package check

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"reflect"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"
)

// brief asks for the metadata of an object instead of the whole.
const brief = "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"

// result begins the result of a document.
func (d *document) result() *Result {
	return &Result{Position: d.position, Object: d.Object, Template: d.template, Outcome: Accepted}
}

// submit creates the object of a document.
func (c *checker) submit(ctx context.Context, d *document) *Result {
	r := d.result()
	as, ok := c.client.kind(d.groupVersionKind())
	if !ok {
		c.judge(r, c.unservedKind(d))
		return r
	}
	sent := call{method: http.MethodPost, path: as.collection(d.namespace()), body: d.text, media: d.media, accept: brief, counted: true,
		query: url.Values{"fieldValidation": {metav1.FieldValidationWarn}, "fieldManager": {manager}}}
	if c.client.whole {
		sent.accept = runtime.ContentTypeJSON
	}
	if isServer(d) {
		sent.query.Set("dryRun", metav1.DryRunAll) // else requests for its group would go to it
	}
	if isServer(d) || isWebhook(d) {
		c.noteUncalled(d)
	}
	at, there := c.origin(d)
	created := sent
	if there { // even a create that fails would use a quota
		created.query = maps.Clone(sent.query)
		created.query.Set("dryRun", metav1.DryRunAll)
	}
	a, err := c.send(ctx, d, created)
	if err != nil {
		return c.takeError(r, d, err)
	}
	warnings := a.warnings
	exists := a.status != nil && a.status.Reason == metav1.StatusReasonAlreadyExists
	if there && a.code != http.StatusBadRequest || exists {
		if a, err = c.update(ctx, d, sent); err != nil {
			return c.takeError(r, d, err)
		}
		warnings = append(warnings, a.warnings...)
		r.Updated, r.There = at, there
	}
	c.takeAnswer(r, d, a, warnings)
	return r
}

// send sends a document. Definitions are stored without the webhooks that convert their objects, and those that change
// one that is there with a mark; before that, the server is asked about the whole one.
func (c *checker) send(ctx context.Context, d *document, sent call) (*answer, error) {
	converts := scalar(d.root, "spec", "conversion", "strategy") == "Webhook"
	changes := sent.method == http.MethodPatch
	if !isDefinition(d) || !converts && !changes {
		return c.client.do(ctx, sent)
	}
	if converts {
		c.noteUncalled(d)
	}
	kept := sent
	sent.query = maps.Clone(sent.query)
	sent.query.Set("dryRun", metav1.DryRunAll)
	asked, err := c.client.do(ctx, sent)
	if err != nil || asked.status != nil {
		return asked, err
	}
	object := map[string]any{}
	if err := yaml.Unmarshal(d.text, &object); err != nil {
		return nil, err
	}
	if spec, ok := object["spec"].(map[string]any); ok && converts {
		delete(spec, "conversion")
	}
	if changes {
		d.mark = markColumns(object, manager+" "+d.position.String())
	}
	if kept.body, err = json.Marshal(object); err != nil {
		return nil, err
	}
	if kept.method == http.MethodPost {
		kept.media = runtime.ContentTypeJSON
	}
	if made, err := c.client.do(ctx, kept); err != nil || made.status != nil {
		return made, err
	}
	return asked, nil
}

// markColumns adds a column to a definition and returns its name. Tables have it once this state of the definition is
// served.
func markColumns(object map[string]any, name string) (mark string) {
	spec, _ := object["spec"].(map[string]any)
	versions, _ := spec["versions"].([]any)
	for _, v := range versions {
		if version, ok := v.(map[string]any); ok {
			columns, _ := version["additionalPrinterColumns"].([]any)
			version["additionalPrinterColumns"] = append(columns,
				map[string]any{"name": name, "type": "string", "jsonPath": ".metadata.name"})
			mark = name
		}
	}
	return mark
}

// update merges a document into an object that is there already. As with kubectl apply, fields that the document does
// not have stay.
func (c *checker) update(ctx context.Context, d *document, sent call) (*answer, error) {
	body, err := yaml.YAMLToJSON(d.text)
	if err != nil {
		return nil, err
	}
	sent.method, sent.media, sent.body = http.MethodPatch, string(types.MergePatchType), body
	sent.path += "/" + url.PathEscape(d.Name)
	return c.send(ctx, d, sent)
}

// origin returns the place of the document that created the object of d, and whether that was there before the set.
func (c *checker) origin(d *document) (at string, there bool) {
	c.lock.Lock()
	defer c.lock.Unlock()
	id := c.identity(d)
	if made, ok := c.made[id]; ok {
		return made.String(), c.loaded[id]
	}
	return "the server's own", false
}

// takeAnswer completes a result by the answer of the server.
func (c *checker) takeAnswer(r *Result, d *document, a *answer, warnings []string) {
	if a.status != nil {
		c.judge(r, d.refusals(a.status)...)
	} else {
		r.stored = true
		c.lock.Lock()
		if at := c.identity(d); c.made[at] == (Position{}) && !isServer(d) { // which is only tried
			c.made[at] = d.position
		}
		c.lock.Unlock()
		if c.client.whole {
			r.Changes = changes(d, a.body)
		}
	}
	c.warn(r, d, warnings)
}

// judge adds findings to a result that make it a refusal.
func (c *checker) judge(r *Result, findings ...Finding) {
	r.Outcome = Refused
	r.Findings = append(r.Findings, findings...)
}

// warn adds warnings that the result does not have yet. If they count as refusals, the result is one.
func (c *checker) warn(r *Result, d *document, warnings []string) {
	for _, text := range warnings {
		level := Warning
		if c.config.Strict {
			level = Refusal
		}
		f := d.finding(level, text)
		if slices.Contains(r.Findings, f) {
			continue
		}
		r.Findings = append(r.Findings, f)
		if c.config.Strict && r.Outcome == Accepted {
			r.Outcome = Refused
		}
	}
}

func (c *checker) takeError(r *Result, d *document, err error) *Result {
	r.Outcome = Unchecked
	r.Findings = append(r.Findings, Finding{Level: Failure, Position: d.position, Message: "the server does not answer: " + err.Error()})
	return r
}

// isServer reports whether a document names a server to which requests are passed on.
func isServer(d *document) bool {
	return d.group() == "apiregistration.k8s.io" && d.Kind == "APIService"
}

// isWebhook reports whether a document configures webhooks.
func isWebhook(d *document) bool {
	return d.group() == groupPolicies && (d.Kind == "MutatingWebhookConfiguration" || d.Kind == "ValidatingWebhookConfiguration")
}

// noteUncalled notes that what a document names was not called.
func (c *checker) noteUncalled(d *document) {
	c.lock.Lock()
	defer c.lock.Unlock()
	note := Note{d.position, d.Object.String()}
	if !slices.Contains(c.summary.NotAsked, note) {
		c.summary.NotAsked = append(c.summary.NotAsked, note)
	}
}

// owned are the fields of metadata that the server fills in for every object.
var owned = []string{"uid", "resourceVersion", "creationTimestamp", "generation", "managedFields", "selfLink"}

// changes compares a document with what the server made of it. It is nil if they are the same but for what the server
// owns.
func changes(d *document, answer []byte) *Changes {
	before, after := map[string]any{}, map[string]any{}
	if yaml.Unmarshal(d.text, &before) != nil || json.Unmarshal(answer, &after) != nil {
		return nil
	}
	data, err := json.Marshal(before) // as numbers of YAML and of JSON have different types
	if err != nil {
		return nil
	}
	clear(before)
	if err := json.NewDecoder(bytes.NewReader(data)).Decode(&before); err != nil {
		return nil
	}
	metadata, _ := after["metadata"].(map[string]any)
	own, _ := before["metadata"].(map[string]any)
	for _, field := range owned {
		delete(metadata, field)
		delete(own, field)
	}
	if own["namespace"] == nil {
		delete(metadata, "namespace")
	}
	delete(after, "status")
	delete(before, "status")
	if reflect.DeepEqual(before, after) {
		return nil
	}
	return &Changes{before, after}
}
