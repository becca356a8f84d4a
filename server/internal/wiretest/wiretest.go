package wiretest

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// Client sends requests to one server.
type Client struct {
	URL string
	// Admin may do all. Anyone has no credentials but those in the request's headers.
	Admin, Anyone *http.Client

	// seen are the values that later requests may name: {uid} and {resourceVersion} of the last object, {continue} of
	// the last page.
	seen map[string]string
	// made are the values of certificates.
	made map[string]string
}

// patience is how long an answer may take, watches included. With the race detector expensive expressions of policies
// take half a minute.
const patience = 3 * time.Minute

// repeated is a text, and how often: <<x*300>>.
var repeated = regexp.MustCompile(`<<(.+?)\*(\d+)>>`)

// Await asks for a review until it allows what it is about.
func (c *Client) Await(t testing.TB, text string) string {
	t.Helper()
	for deadline := time.Now().Add(3 * time.Minute); ; <-time.After(20 * time.Millisecond) {
		if answer := c.Ask(t, text); strings.Contains(answer, `"allowed":true`) {
			return "allowed"
		} else if time.Now().After(deadline) {
			return answer
		}
	}
}

// Ask sends a request and shows its answer. text is a line with method and path, headers, an empty line, the body. The
// path goes out as it stands.
func (c *Client) Ask(t testing.TB, text string) string {
	t.Helper()
	if c.made == nil {
		c.made = certificates(t)
	}
	for _, values := range []map[string]string{c.seen, c.made} {
		for name, value := range values {
			text = strings.ReplaceAll(text, "{"+name+"}", value)
		}
	}
	head, body, _ := strings.Cut(text, "\n\n")
	body = expand(body)
	lines := strings.Split(strings.TrimRight(head, "\n"), "\n")
	method, target, _ := strings.Cut(expand(lines[0]), " ")
	req, err := http.NewRequest(method, c.URL, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	path, query, _ := strings.Cut(target, "?")
	req.URL.Opaque, req.URL.RawQuery = "//"+req.URL.Host+path, query
	req.Header.Set("User-Agent", "wiretest")
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for _, line := range lines[1:] {
		name, value, _ := strings.Cut(line, ":")
		req.Header.Set(name, strings.TrimSpace(value))
	}
	client := c.Admin
	if req.Header.Get("Authorization") != "" {
		client = c.Anyone
	}
	answer := c.send(t, client, req)
	for name, value := range c.made {
		answer = strings.ReplaceAll(answer, value, "{"+name+"}")
		answer = strings.ReplaceAll(answer, strings.ReplaceAll(value, `\n`, `\\n`), "{"+name+"}") // quoted by a message
	}
	return answer
}

func expand(text string) string {
	return repeated.ReplaceAllStringFunc(text, func(found string) string {
		parts := repeated.FindStringSubmatch(found)
		n, err := strconv.Atoi(parts[2])
		if err != nil {
			return found
		}
		return strings.Repeat(parts[1], n)
	})
}

func (c *Client) send(t testing.TB, client *http.Client, req *http.Request) string {
	t.Helper()
	patient := *client
	patient.Timeout = patience
	patient.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	res, err := patient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	c.remember(body)
	return show(res, body)
}

func (c *Client) remember(body []byte) {
	var object struct {
		Metadata struct{ UID, ResourceVersion, Continue string }
	}
	if json.Unmarshal(body, &object) != nil {
		return
	}
	if c.seen == nil {
		c.seen = map[string]string{}
	}
	if m := object.Metadata; m.UID != "" {
		c.seen["uid"], c.seen["resourceVersion"] = m.UID, m.ResourceVersion
	}
	if token := object.Metadata.Continue; token != "" {
		c.seen["continue"] = url.QueryEscape(token)
	}
}

// shownHeaders are those that clients act on.
var shownHeaders = []string{
	"Content-Type", "Content-Encoding", "Cache-Control", "Location", "Retry-After", "Vary", "Warning", "Www-Authenticate",
}

func show(res *http.Response, body []byte) string {
	var out strings.Builder
	fmt.Fprintln(&out, res.StatusCode, http.StatusText(res.StatusCode))
	for _, name := range shownHeaders {
		for _, value := range res.Header.Values(name) {
			fmt.Fprintf(&out, "%s: %s\n", name, value)
		}
	}
	var compact bytes.Buffer
	if json.Compact(&compact, body) == nil {
		body = inOrder(compact.Bytes())
	}
	if text := strings.TrimSpace(string(body)); text != "" {
		fmt.Fprintf(&out, "\n%s\n", text)
	}
	return hide(out.String())
}

// inOrder sorts the rules of a review: a kube-apiserver has them in the order in which a map has their bindings.
func inOrder(review []byte) []byte {
	var out struct {
		Kind       string          `json:"kind"`
		APIVersion string          `json:"apiVersion"`
		Metadata   json.RawMessage `json:"metadata"`
		Spec       json.RawMessage `json:"spec"`
		Status     *struct {
			Resources  []json.RawMessage `json:"resourceRules"`
			Paths      []json.RawMessage `json:"nonResourceRules"`
			Incomplete bool              `json:"incomplete"`
			Error      string            `json:"evaluationError,omitempty"`
		} `json:"status"`
	}
	if json.Unmarshal(review, &out) != nil || out.Kind != "SelfSubjectRulesReview" || out.Status == nil {
		return review
	}
	for _, rules := range [][]json.RawMessage{out.Status.Resources, out.Status.Paths} {
		slices.SortFunc(rules, func(a, b json.RawMessage) int { return bytes.Compare(a, b) })
	}
	sorted, err := json.Marshal(out)
	if err != nil {
		return review
	}
	return sorted
}

// masks give a name to what differs between any two runs.
var masks = []struct {
	found *regexp.Regexp
	shown string
}{
	{regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`), "<uid>"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ`), "<time>"},
	{regexp.MustCompile(`(resourceVersion\\*"?: ?\\*")[1-9]\d*`), "$1<revision>"},
	{regexp.MustCompile(`in record \(\d+\)`), "in record (<revision>)"},
	{regexp.MustCompile(`, current: \d+`), ", current: <revision>"},
	{regexp.MustCompile(`"continue":"[^"]+"`), `"continue":"<token>"`},
	{regexp.MustCompile(`UP-[a-z0-9]{5}`), "UP-<random>"},
	{regexp.MustCompile(`kube-api-access-[a-z0-9]{5}`), "kube-api-access-<random>"},
	{regexp.MustCompile(`"\d+s"`), `"<age>"`},
	{regexp.MustCompile(`- \d+s\n`), "- <age>\n"},
	{regexp.MustCompile(`(x{40})x+`), "$1..."},
}

func hide(text string) string {
	text = showTokens(text)
	for _, m := range masks {
		text = m.found.ReplaceAllString(text, m.shown)
	}
	return sortManagersOfYAML(sortManagers(text))
}

// managers matches the start of an object's managedFields, also in a quoted object, and operation what an entry of them
// did.
var (
	managers  = regexp.MustCompile(`"managedFields\\*":\[`)
	operation = regexp.MustCompile(`"operation\\*":\\*"(\w+)`)
)

// sortManagers sorts the entries of managedFields that did the same operation: their order is that of the seconds in
// which they wrote, which a run may or may not share.
func sortManagers(answer string) string {
	begin := managers.FindStringIndex(answer)
	if begin == nil {
		return answer
	}
	head, rest := answer[:begin[1]], answer[begin[1]:]
	var entries, same []string
	depth, from, last := 0, 0, ""
	for i, c := range rest {
		switch {
		case c == '{':
			depth++
		case c == '}':
			if depth--; depth == 0 {
				entry := strings.TrimPrefix(rest[from:i+1], ",")
				from = i + 1
				if did := operation.FindString(entry); did != last {
					entries, same, last = append(entries, same...), nil, did
				}
				same = append(same, entry)
				slices.Sort(same)
			}
		case c == ']' && depth == 0:
			return head + strings.Join(append(entries, same...), ",") + sortManagers(rest[i:])
		}
	}
	return answer
}

// operationOfYAML matches what an entry of managedFields did, where the object is YAML.
var operationOfYAML = regexp.MustCompile(`(?m)^ +operation: \w+$`)

// sortManagersOfYAML does for YAML what sortManagers does for JSON. Entries without a time come first, as they do
// there.
func sortManagersOfYAML(answer string) string {
	head, rest, found := strings.Cut(answer, "managedFields:\n")
	if !found || strings.Trim(head[strings.LastIndex(head, "\n")+1:], " ") != "" {
		return answer
	}
	indent := head[strings.LastIndex(head, "\n")+1:]
	var entries, same []string
	last := ""
	for strings.HasPrefix(rest, indent+"- ") {
		end := len(indent)
		for end < len(rest) && (end == len(indent) || strings.HasPrefix(rest[end:], indent+"  ")) {
			line, _, _ := strings.Cut(rest[end:], "\n")
			end = min(end+len(line)+1, len(rest))
		}
		entry := rest[:end]
		rest = rest[end:]
		if did := operationOfYAML.FindString(entry); did != last {
			entries, same, last = append(entries, same...), nil, did
		}
		same = append(same, entry)
		slices.SortFunc(same, func(a, b string) int {
			timed := func(entry string) int { return strings.Count(entry, "\n"+indent+"  time: ") }
			return cmp.Or(timed(a)-timed(b), cmp.Compare(a, b))
		})
	}
	return head + "managedFields:\n" + strings.Join(append(entries, same...), "") + sortManagersOfYAML(rest)
}
