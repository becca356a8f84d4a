package kubectl

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"sync"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"
	"sigs.k8s.io/yaml"

	"github.com/kx-apiserver/kx/tui/draw"
)

// conflictsFlag is --explain-conflicts, with the command's conflicts. mu guards seen.
type conflictsFlag struct {
	wanted bool

	mu   sync.Mutex
	seen []conflict
}

// conflict is a server-side apply that the server refused.
type conflict struct {
	path   string
	sent   []byte
	status metav1.Status
}

func (w *wiring) addExplainConflicts(cmd *cobra.Command) {
	cmd.Flags().BoolVar(&w.conflicts.wanted, "explain-conflicts", false,
		"With --server-side: when fields belong to other managers, say which, since when, with which values, and what to do")
	cmd.Example += `

  # Find out who else manages the fields of a deployment
  kx apply --server-side --explain-conflicts -f web.yaml`
	cmd.PreRunE = func(cmd *cobra.Command, _ []string) error {
		if serverSide, _ := cmd.Flags().GetBool("server-side"); w.conflicts.wanted && !serverSide {
			return fmt.Errorf("--explain-conflicts needs --server-side: only then does the server know who manages a field")
		}
		return nil
	}
}

// see remembers a conflict. It leaves the answer unchanged.
func (c *conflictsFlag) see(req *http.Request, res *http.Response) error {
	if !c.wanted || res.StatusCode != http.StatusConflict || req.Method != http.MethodPatch ||
		req.Header.Get("Content-Type") != string(types.ApplyYAMLPatchType) {
		return nil
	}
	data, err := io.ReadAll(res.Body)
	res.Body.Close()
	if err != nil {
		return err
	}
	res.Body = io.NopCloser(bytes.NewReader(data))
	seen := conflict{path: req.URL.Path}
	if json.Unmarshal(data, &seen.status) != nil {
		return nil
	}
	if req.GetBody != nil {
		if body, err := req.GetBody(); err == nil {
			seen.sent, _ = io.ReadAll(body)
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.seen = append(c.seen, seen)
	return nil
}

// explain names the managers of the fields.
func (c *conflictsFlag) explain(w *wiring) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.seen) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), fetchWait)
	defer cancel()
	for _, seen := range c.seen {
		live, err := fetch(ctx, w.trace.config, seen.path)
		if err != nil {
			w.say("explain the conflict: " + err.Error())
			continue
		}
		seen.write(w.streams.ErrOut, live)
	}
	fmt.Fprint(w.streams.ErrOut, `
What to do with a field that another manager owns:
  leave it to them   take it out of what you apply
  share it           give it the value that it has: then both of you own it
  take it over       apply again with --force-conflicts: the other manager loses it, and may want it back
`)
}

// fetch reads the object that the request wanted to apply.
func fetch(ctx context.Context, config *rest.Config, path string) (*unstructured.Unstructured, error) {
	config = rest.CopyConfig(config)
	config.GroupVersion, config.NegotiatedSerializer = nil, nil
	client, err := rest.HTTPClientFor(config)
	if err != nil {
		return nil, err
	}
	base, _, err := rest.DefaultServerUrlFor(config)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, base.JoinPath(path).String(), nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set("Accept", "application/json")
	res, err := client.Do(req)
	if err != nil {
		return nil, err
	}
	defer res.Body.Close()
	live := &unstructured.Unstructured{}
	if err := json.NewDecoder(res.Body).Decode(&live.Object); err != nil {
		return nil, err
	}
	if res.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the server answered %s to a get of the object", res.Status)
	}
	return live, nil
}

// managerOf matches the manager's name in the message of a cause.
var managerOf = regexp.MustCompile(`conflict with "((?:[^"\\]|\\.)*)"`)

func (c *conflict) write(out io.Writer, live *unstructured.Unstructured) {
	sent := map[string]any{}
	_ = yaml.Unmarshal(c.sent, &sent) // after an error the output lacks the values
	fmt.Fprintf(out, "\nFields of %s %q that others manage:\n", live.GetKind(), live.GetName())
	if c.status.Details == nil {
		return
	}
	for _, cause := range c.status.Details.Causes {
		if cause.Type != metav1.CauseTypeFieldManagerConflict {
			continue
		}
		manager := ""
		if m := managerOf.FindStringSubmatch(cause.Message); m != nil {
			manager = m[1]
		}
		owner, where := ownerOf(live, manager, cause.Field)
		fmt.Fprintf(out, "  %s\n", draw.Clean(cause.Field))
		row := func(name, text string) { fmt.Fprintf(out, "    %-8s %s\n", name, draw.Clean(text)) }
		row("manager", owner)
		if where != nil {
			row("has", valueAt(live.Object, where))
			row("yours", valueAt(sent, where))
		}
	}
}

// ownerOf describes the manager of a field, and finds the field.
func ownerOf(live *unstructured.Unstructured, manager, field string) (string, fieldpath.Path) {
	for _, entry := range live.GetManagedFields() {
		if entry.Manager != manager || entry.FieldsV1 == nil {
			continue
		}
		set := &fieldpath.Set{}
		if set.FromJSON(entry.FieldsV1.GetRawReader()) != nil {
			continue
		}
		var found fieldpath.Path
		set.Iterate(func(p fieldpath.Path) {
			if found == nil && p.String() == field {
				found = p.Copy()
			}
		})
		if found == nil {
			continue
		}
		text := fmt.Sprintf("%s, by %s", manager, entry.Operation)
		if entry.Subresource != "" {
			text += " of " + entry.Subresource
		}
		if entry.Time != nil {
			text += ", since " + entry.Time.UTC().Format(time.RFC3339)
		}
		return text, found
	}
	return manager, nil
}

// valueAt returns the value at a path of an object.
func valueAt(v any, where fieldpath.Path) string {
	for _, element := range where {
		var ok bool
		if v, ok = step(v, element); !ok {
			return "nothing"
		}
	}
	data, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(data)
}

// step goes one element down.
func step(v any, element fieldpath.PathElement) (any, bool) {
	switch {
	case element.FieldName != nil:
		m, _ := v.(map[string]any)
		v, ok := m[*element.FieldName]
		return v, ok
	case element.Key != nil:
		items, _ := v.([]any)
		for _, item := range items {
			if m, ok := item.(map[string]any); ok && hasKey(m, element) {
				return item, true
			}
		}
	case element.Value != nil:
		return (*element.Value).Unstructured(), true
	case element.Index != nil:
		if items, ok := v.([]any); ok && *element.Index < len(items) {
			return items[*element.Index], true
		}
	}
	return nil, false
}

// hasKey reports whether an item of a list has the values of the key fields.
func hasKey(item map[string]any, element fieldpath.PathElement) bool {
	for _, key := range *element.Key {
		if fmt.Sprint(item[key.Name]) != fmt.Sprint(key.Value.Unstructured()) {
			return false
		}
	}
	return true
}
