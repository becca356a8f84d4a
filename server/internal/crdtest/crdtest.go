package crdtest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Collection is the path of definitions.
const Collection = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"

// Name is the name of Definition.
const Name = "crontabs.stable.example.com"

// Definition is the object that edits start from.
const Definition = `{
  "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
  "metadata": {"name": "crontabs.stable.example.com"},
  "spec": {
    "group": "stable.example.com", "scope": "Namespaced",
    "names": {"plural": "crontabs", "singular": "crontab", "kind": "CronTab", "shortNames": ["ct"]},
    "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {
      "type": "object",
      "properties": {
        "spec": {"type": "object", "properties": {
          "cronSpec": {"type": "string"}, "image": {"type": "string"}, "replicas": {"type": "integer"},
          "tags": {"type": "array", "items": {"type": "string"}},
          "ports": {"type": "array", "items": {"type": "object", "properties": {"name": {"type": "string"}, "port": {"type": "integer"}}}}
        }},
        "status": {"type": "object", "properties": {"replicas": {"type": "integer"}, "labelSelector": {"type": "string"}}}
      }
    }}}]
  }
}`

// Client tries definitions on one server.
type Client struct {
	URL  string
	HTTP *http.Client
	// Settle waits until the server's controllers have accepted and established a definition. If it is nil, there are
	// no controllers, and the client writes the status itself.
	Settle func(t testing.TB, name string)
}

// Try runs a command of the transcripts, and cleans up.
func (c *Client) Try(t testing.TB, command, input string) string {
	t.Helper()
	edits := strings.Split(strings.TrimSpace(input), "\n")
	switch command {
	case "create":
		return c.show(t, http.MethodPost, Collection+"?dryRun=All", edit(t, []byte(Definition), edits))
	case "update", "status":
		i := slices.Index(edits, "then")
		if i < 0 {
			t.Fatalf("%s: no then in %q", command, input)
		}
		before := slices.DeleteFunc(edits[:i:i], func(line string) bool { return line == "established" })
		c.create(t, edit(t, []byte(Definition), before), len(before) < i)
		defer c.Remove(t, Name)
		path := Collection + "/" + Name
		_, created := c.Send(t, http.MethodGet, path, nil)
		changed := edit(t, created, edits[i+1:])
		if command == "status" {
			path += "/status"
		}
		return c.show(t, http.MethodPut, path+"?dryRun=All", changed)
	}
	t.Fatalf("unknown command %s", command)
	return ""
}

// edit makes changes to an object.
func edit(t testing.TB, object []byte, edits []string) []byte {
	t.Helper()
	for _, line := range edits {
		if line == "" {
			continue
		}
		op, rest, _ := strings.Cut(line, " ")
		path, value, _ := strings.Cut(rest, " ")
		if value == "" {
			value = "null"
		}
		patch, err := jsonpatch.DecodePatch(fmt.Appendf(nil, `[{"op":%q,"path":%q,"value":%s}]`, op, path, value))
		if err == nil {
			object, err = patch.Apply(object)
		}
		if err != nil {
			t.Fatalf("%s: %v", line, err)
		}
	}
	return object
}

// create creates a definition.
func (c *Client) create(t testing.TB, definition []byte, established bool) {
	t.Helper()
	if status, answer := c.Send(t, http.MethodPost, Collection, definition); status != http.StatusCreated {
		t.Fatalf("create: %d: %s", status, answer)
	}
	switch {
	case c.Settle != nil:
		c.Settle(t, Name)
		return
	case !established:
		return
	}
	const status = `{"status":{"conditions":[{"type":"Established","status":"True","lastTransitionTime":"2020-01-01T00:00:00Z"}]}}`
	if code, answer := c.patch(t, Name+"/status", status); code != http.StatusOK {
		t.Fatalf("establish: %d: %s", code, answer)
	}
}

// Remove deletes a definition without objects, whether or not a controller removes its finalizer.
func (c *Client) Remove(t testing.TB, name string) {
	t.Helper()
	c.Send(t, http.MethodDelete, Collection+"/"+name, nil)
	if code, answer := c.patch(t, name, `{"metadata":{"finalizers":null}}`); code != http.StatusOK && code != http.StatusNotFound {
		t.Fatalf("remove %s: %d: %s", name, code, answer)
	}
}

func (c *Client) patch(t testing.TB, path, patch string) (int, []byte) {
	t.Helper()
	res := c.do(t, http.MethodPatch, Collection+"/"+path, []byte(patch), "application/merge-patch+json")
	return res.code, res.body
}

// Send sends a request with a JSON body.
func (c *Client) Send(t testing.TB, method, path string, body []byte) (int, []byte) {
	t.Helper()
	res := c.do(t, method, path, body, "application/json")
	return res.code, res.body
}

type answer struct {
	code     int
	body     []byte
	warnings []string
}

func (c *Client) do(t testing.TB, method, path string, body []byte, contentType string) answer {
	t.Helper()
	req, err := http.NewRequest(method, c.URL+path, bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", contentType)
	res, err := c.HTTP.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	content, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer{code: res.StatusCode, body: content, warnings: res.Header.Values("Warning")}
}

// show sends a request and prints the errors of the answer, sorted: schemas are maps, so errors come in any order.
func (c *Client) show(t testing.TB, method, path string, body []byte) string {
	t.Helper()
	res := c.do(t, method, path, body, "application/json")
	var status metav1.Status
	if res.code >= 400 {
		if err := json.Unmarshal(res.body, &status); err != nil {
			t.Fatalf("%s: %v", res.body, err)
		}
	}
	var lines []string
	switch {
	case res.code < 400:
	case status.Details == nil || len(status.Details.Causes) == 0:
		lines = append(lines, shorten(status.Message))
	default:
		for _, cause := range status.Details.Causes {
			lines = append(lines, cause.Field+": "+shorten(cause.Message))
		}
	}
	for _, w := range res.warnings {
		lines = append(lines, "Warning: "+w)
	}
	slices.Sort(lines)
	return strings.Join(append([]string{strings.TrimSpace(fmt.Sprint(res.code, " ", status.Reason))}, lines...), "\n") + "\n"
}

var uid = regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)

// shorten cuts the middle of a message that shows a whole value, and removes what differs from run to run.
func shorten(message string) string {
	message = uid.ReplaceAllString(message, "<uid>")
	const begin, end = 100, 300
	if len(message) <= begin+end {
		return message
	}
	return message[:begin] + "..." + message[len(message)-end:]
}
