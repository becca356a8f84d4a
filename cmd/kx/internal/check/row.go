package check

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/google/uuid"
	"go.yaml.in/yaml/v3"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	utiljson "k8s.io/apimachinery/pkg/util/json"

	"github.com/kx-apiserver/kx/core/mask"
	"github.com/kx-apiserver/kx/store/admin"
	"github.com/kx-apiserver/kx/store/backend"
)

// readTables takes the documents with rows out of documents, and reads them.
func (c *checker) readTables(documents []*document) (others []*document) {
	for _, d := range documents {
		if d.failure != nil || !isTable(d) {
			others = append(others, d)
			continue
		}
		t := readTable(d)
		for _, problem := range t.problems {
			c.problems = append(c.problems, &Result{Position: problem.Position, Object: d.Object, Outcome: Unchecked,
				Findings: []Finding{problem}})
		}
		c.rows = append(c.rows, t.rows...)
		c.tables = true
	}
	return others
}

// usersRole is the name of the role of the users of rows, if the set has no roles.
const usersRole = "kx-check-users"

// rowDocuments returns the objects of the rows.
func (c *checker) rowDocuments() (all []*document) {
	for _, r := range c.rows {
		all = append(all, r.document)
	}
	return all
}

// permit gives the users of rows all rights, unless the set has roles. It is not for the policies of the set to judge.
func (c *checker) permit(ctx context.Context) error {
	for _, d := range c.documents {
		if d.root != nil && d.group() == groupRoles {
			return nil
		}
	}
	binding := &rbacv1.ClusterRoleBinding{RoleRef: rbacv1.RoleRef{APIGroup: groupRoles, Kind: "ClusterRole", Name: usersRole}}
	for _, r := range c.rows {
		if r.by == nil || slices.ContainsFunc(binding.Subjects, func(s rbacv1.Subject) bool { return s.Name == r.by.name }) {
			continue
		}
		binding.Subjects = append(binding.Subjects, rbacv1.Subject{APIGroup: groupRoles, Kind: "User", Name: r.by.name})
		c.summary.Assumed = append(c.summary.Assumed, Note{r.position(), fmt.Sprintf("all rights of the user %s", r.by.name)})
	}
	if len(binding.Subjects) == 0 {
		return nil
	}
	role := &rbacv1.ClusterRole{Rules: []rbacv1.PolicyRule{
		{Verbs: []string{"*"}, APIGroups: []string{"*"}, Resources: []string{"*"}}}}
	role.APIVersion, role.Kind, role.Name = groupRoles+"/v1", "ClusterRole", usersRole
	binding.APIVersion, binding.Kind, binding.Name = groupRoles+"/v1", "ClusterRoleBinding", usersRole
	const roles = "/apis/" + groupRoles + "/v1/"
	return errors.Join(c.make(ctx, roles+"clusterroles", role), c.make(ctx, roles+"clusterrolebindings", binding))
}

// position returns the place of a row.
func (r *row) position() Position { return r.table.at(r.node) }

// runRows sends the rows, and emits their results in their order.
func (c *checker) runRows(ctx context.Context, s *localServer, emit func(*Result) error) error {
	for _, r := range c.problems {
		c.summary.count(r)
		if err := emit(r); err != nil {
			return err
		}
	}
	if len(c.rows) == 0 {
		return nil
	}
	if err := s.server.RolesKnown(ctx); err != nil {
		return err
	}
	c.editor = s.server.Editor()
	results, order := make([]*Result, len(c.rows)), make([]int, len(c.rows))
	for i := range order {
		order[i] = i
	}
	inLanes(order, func(i int) string { return c.lane(c.rows[i].document) }, func(i int) { results[i] = c.runRow(ctx, c.rows[i]) })
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if c.config.Update {
		if err := write(c.rows, results); err != nil {
			return err
		}
	}
	for _, r := range results {
		c.summary.count(r)
		if err := emit(r); err != nil {
			return err
		}
	}
	return nil
}

// response is the server's answer to a row.
type response struct {
	refusals, warnings []string
	// changes is the merge patch from the object that was sent to the one that would be stored.
	changes map[string]any
}

// runRow sends a row. Nothing of it stays.
func (c *checker) runRow(ctx context.Context, r *row) *Result {
	result := &Result{Position: r.position(), Object: r.document.Object, Row: r.title}
	got, err := c.answerOf(ctx, r)
	if err != nil {
		result.Outcome = Unchecked
		result.Findings = []Finding{{Level: Failure, Position: result.Position, Message: err.Error()}}
		return result
	}
	result.response = got
	result.Outcome = Met
	if result.Findings = r.compare(got); len(result.Findings) > 0 {
		result.Outcome = Unmet
	}
	return result
}

// answerOf sends a row, and returns the server's answer.
func (c *checker) answerOf(ctx context.Context, r *row) (got *response, err error) {
	if r.by != nil && c.unpermitted != nil {
		return nil, c.unpermitted
	}
	d := r.document
	as, ok := c.client.kind(d.groupVersionKind())
	if !ok {
		return &response{refusals: []string{c.unservedKind(d).Message}}, nil
	}
	if r.old != nil {
		key, err := c.put(ctx, as, r.old)
		if err != nil {
			return nil, fmt.Errorf("the old object can't be stored: %w", err)
		}
		defer func() { _, _ = c.editor.Live.Client.Delete(ctx, key) }() // if it fails, the next row of the object says that it is there
	}
	sent, err := c.request(ctx, r, as)
	if err != nil {
		return nil, err
	}
	a, err := c.client.do(ctx, sent)
	if err != nil {
		return nil, fmt.Errorf("the server does not answer: %w", err)
	}
	got = &response{}
	for _, text := range a.warnings {
		got.warnings = append(got.warnings, oneLine(d.finding(Warning, text).Message))
	}
	if a.status != nil {
		for _, f := range d.refusals(a.status) {
			got.refusals = append(got.refusals, oneLine(f.Message))
		}
	} else if changed := changes(d, a.body); changed != nil && r.operation != remove {
		got.changes = difference(changed.Before.(map[string]any), changed.After.(map[string]any))
	}
	return got, nil
}

// request returns the request of a row. Nothing of it is stored.
func (c *checker) request(ctx context.Context, r *row, as servedResource) (sent call, err error) {
	d := r.document
	sent = call{method: http.MethodPost, path: as.collection(d.namespace()), body: d.text, media: d.media, by: r.by, counted: true,
		query: url.Values{"fieldValidation": {metav1.FieldValidationWarn}, "fieldManager": {manager}, "dryRun": {metav1.DryRunAll}}}
	if r.operation == create {
		return sent, nil
	}
	sent.path += "/" + url.PathEscape(d.Name)
	if r.operation == update {
		sent.method = http.MethodPut
		sent.body, err = c.newer(ctx, sent.path, d)
		return sent, err
	}
	sent.method, sent.body, sent.media, sent.query = http.MethodDelete, nil, "", url.Values{"dryRun": {metav1.DryRunAll}}
	return sent, nil
}

// newer returns the object of an update, with the resourceVersion of the one that is there.
func (c *checker) newer(ctx context.Context, path string, d *document) ([]byte, error) {
	a, err := c.client.do(ctx, call{method: http.MethodGet, path: path, accept: brief})
	if err != nil {
		return nil, fmt.Errorf("the server does not answer: %w", err)
	}
	if a.status != nil {
		return nil, fmt.Errorf("there is nothing to update: %s: give the row the object as old, or add it to the set", a.status.Message)
	}
	there, object := metav1.PartialObjectMetadata{}, map[string]any{}
	if err := errors.Join(json.Unmarshal(a.body, &there), utiljson.Unmarshal(d.text, &object)); err != nil {
		return nil, err
	}
	metadata, _ := object["metadata"].(map[string]any)
	if _, set := metadata["resourceVersion"]; !set {
		metadata["resourceVersion"] = there.ResourceVersion
	}
	return json.Marshal(object)
}

// put stores the old object of a row below the API, where no policy, rule or quota judges it, and returns its key.
func (c *checker) put(ctx context.Context, as servedResource, d *document) (key string, err error) {
	object := map[string]any{}
	if err := utiljson.Unmarshal(d.text, &object); err != nil {
		return "", err
	}
	metadata, _ := object["metadata"].(map[string]any)
	if d.Name == "" || metadata == nil {
		return "", errors.New("it needs a metadata.name")
	}
	parts := []string{backend.ResourcePrefix(as.resource.GroupResource())}
	if as.namespaced {
		metadata["namespace"] = d.namespace()
		parts = append(parts, d.namespace())
	}
	key = admin.Path(c.editor.Decoder.Prefix, strings.Join(append(parts, d.Name), "/"))
	metadata["uid"], metadata["generation"] = uuid.NewString(), 1
	metadata["creationTimestamp"] = time.Now().UTC().Format(time.RFC3339)
	text, err := json.Marshal(object)
	if err != nil {
		return "", err
	}
	plan, err := c.editor.Put(ctx, key, text, false)
	var refusal *admin.Refusal
	switch {
	case errors.As(err, &refusal):
		return "", refusal.Reason // the hint is about a flag of another command
	case err != nil:
		return "", err
	case plan.Before != nil:
		return "", errors.New("the set has the object: leave out old, and say operation: update")
	}
	_, err = c.editor.Live.Client.Put(ctx, key, string(plan.After))
	return key, err
}

// compare returns what an answer has that the row does not expect, and what it lacks.
func (r *row) compare(got *response) []Finding {
	return append(r.compareVerdict(got), r.compareTexts("warning", r.warnings, got.warnings, r.key("warnings"))...)
}

// key returns the place of a field, that of the row if it does not have it.
func (r *row) key(name string) Position {
	if n := r.keys[name]; n != nil {
		return r.table.at(n)
	}
	return r.position()
}

func mismatch(at Position, format string, args ...any) Finding {
	return Finding{Level: Mismatch, Position: at, Message: fmt.Sprintf(format, args...)}
}

func (r *row) compareVerdict(got *response) (all []Finding) {
	switch {
	case !r.accepted && r.refused == nil:
		return []Finding{mismatch(r.position(), "the row expects nothing, and is %s: --update-expect writes that into it", got)}
	case r.accepted && len(got.refusals) > 0:
		return []Finding{mismatch(r.key("accepted"), "want accepted, got %s", got)}
	case !r.accepted && len(got.refusals) == 0:
		return []Finding{mismatch(r.key("refused"), "want refused, got accepted")}
	case !r.accepted:
		return r.compareTexts("refusal", r.refused, got.refusals, r.key("refused"))
	case r.exact:
		for _, f := range unequal("", r.changes, got.changes) {
			if r.document.Kind == "Secret" && r.document.group() == "" {
				f.want, f.got = mask.Masked, mask.Masked
			}
			all = append(all, mismatch(r.changeAt(f.field), "%s: want %s, got %s", f.field, f.want, f.got))
		}
	}
	return all
}

// compareTexts pairs the texts of an answer with the parts of them that are expected. Each needs the other.
func (r *row) compareTexts(what string, want []*yaml.Node, got []string, at Position) (all []Finding) {
	var extra []string
	for _, text := range got {
		if !slices.ContainsFunc(want, func(n *yaml.Node) bool { return strings.Contains(text, oneLine(n.Value)) }) {
			extra = append(extra, text)
		}
	}
	for _, n := range want {
		if slices.ContainsFunc(got, func(text string) bool { return strings.Contains(text, oneLine(n.Value)) }) {
			continue
		}
		if len(extra) == 0 {
			all = append(all, mismatch(r.table.at(n), "want the %s %q, got none", what, oneLine(n.Value)))
			continue
		}
		all = append(all, mismatch(r.table.at(n), "want the %s %q, got %q", what, oneLine(n.Value), extra[0]))
		extra = extra[1:]
	}
	for _, text := range extra {
		all = append(all, mismatch(at, "want no other %s, got %q", what, text))
	}
	return all
}

func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// changeAt returns the place of a change that the row expects, or else that of all of them.
func (r *row) changeAt(path string) Position {
	n := child(r.node, "accepted")
	at, _ := find(n, path, nil)
	if at == n {
		at = r.keys["accepted"]
	}
	return r.table.at(at)
}

// String says what an answer is.
func (g *response) String() string {
	if len(g.refusals) == 0 {
		return "accepted"
	}
	return "refused: " + strings.Join(g.refusals, "; ")
}

// unequalField is a field that has not the value that was expected.
type unequalField struct{ field, want, got string }

// unequal compares two merge patches.
func unequal(path string, want, got map[string]any) (all []unequalField) {
	names := map[string]any{}
	maps.Copy(names, want)
	maps.Copy(names, got)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		field := strings.TrimPrefix(path+"."+name, ".")
		if strings.ContainsAny(name, ".[]") {
			field = path + "[" + name + "]"
		}
		left, wanted := want[name]
		right, there := got[name]
		below, nested := left.(map[string]any)
		beside, both := right.(map[string]any)
		switch {
		case nested && both:
			all = append(all, unequal(field, below, beside)...)
		case wanted != there || !same(left, right):
			all = append(all, unequalField{field, value(left, wanted), value(right, there)})
		}
	}
	return all
}

// value writes the value of a merge patch.
func value(v any, there bool) string {
	switch {
	case !there:
		return "no change"
	case v == nil:
		return "no such field"
	}
	text, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(text)
}
