package survey

import (
	"bytes"
	"encoding/json"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Answer is what a server says to a case.
type Answer struct {
	Code   int    `json:"code"`
	Reason string `json:"reason,omitempty"`
	// Message is that of an error that has no causes: otherwise it repeats them.
	Message  string   `json:"message,omitempty"`
	Causes   []Cause  `json:"causes,omitempty"`
	Warnings []string `json:"warnings,omitempty"`
	// Object is the whole answer to a whole object.
	Object any `json:"object,omitempty"`
	// Changed is by which fields the answer to a broken object is another: pointers, and null for what is gone.
	Changed map[string]any `json:"changed,omitempty"`
}

// Cause is one thing that is wrong with an object.
type Cause struct {
	Type    string `json:"type"`
	Field   string `json:"field,omitempty"`
	Message string `json:"message"`
}

// Accepted says whether the object was taken.
func (a Answer) Accepted() bool { return a.Code/100 == 2 }

// answer makes the Answer of a reply. said is what the client wrote: what is not random is not hidden.
func (r reply) answer(said string) Answer {
	m := mask{said}
	a := Answer{Code: r.code}
	for _, w := range r.warnings {
		a.Warnings = append(a.Warnings, m.text(w))
	}
	if !json.Valid(r.body) {
		a.Message = m.text(string(r.body))
		return a
	}
	if a.Accepted() {
		a.Object = m.value("", parse(r.body))
		sortRules(a.Object)
		return a
	}
	var status metav1.Status
	if err := json.Unmarshal(r.body, &status); err != nil {
		a.Message = m.text(string(r.body))
		return a
	}
	a.Reason = string(status.Reason)
	if status.Details == nil || len(status.Details.Causes) == 0 || r.code == http.StatusConflict {
		a.Message = m.text(status.Message)
		return a
	}
	for _, c := range status.Details.Causes {
		a.Causes = append(a.Causes, Cause{string(c.Type), shorten(c.Field), m.text(c.Message)})
	}
	return a
}

// since makes the answer to a broken object one that says what is another than in the answer to the whole one.
func (a Answer) since(whole Answer) Answer {
	if a.Object == nil {
		return a
	}
	a.Changed = map[string]any{}
	differences(withoutOwners(whole.Object), withoutOwners(a.Object), "", a.Changed)
	a.Object = nil
	return a
}

// withoutOwners leaves out who owns which field: it repeats each change.
func withoutOwners(object any) any {
	if object == nil {
		return nil
	}
	object = clone(object)
	if metadata, ok := member(object, "metadata").(map[string]any); ok {
		delete(metadata, "managedFields")
	}
	return object
}

// sortRules sorts the rules of a user: a kube-apiserver lists them in the order of a Go map.
func sortRules(object any) {
	if text(object, "kind") != "SelfSubjectRulesReview" {
		return
	}
	for _, name := range []string{"resourceRules", "nonResourceRules"} {
		rules, _ := member(object, "status", name).([]any)
		slices.SortFunc(rules, func(a, b any) int { return bytes.Compare(render(a), render(b)) })
	}
}

// mask gives names to what a server makes up: identities, times, addresses, ports.
type mask struct{ said string }

var masks = []struct {
	found *regexp.Regexp
	shown string
}{
	{regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`), "<uid>"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z`), "<time>"},
	{regexp.MustCompile(`\b\d+\.\d+\.\d+\.\d+\b`), "<address>"},
	{regexp.MustCompile(`(in record \()\d+(\))`), "in record (<revision>)"},
}

func (m mask) text(text string) string {
	for _, one := range masks {
		text = one.found.ReplaceAllStringFunc(text, func(found string) string {
			if strings.Contains(m.said, found) {
				return found
			}
			return one.shown
		})
	}
	// What follows the first line is a difference as go-cmp writes it, which varies its spaces so that nobody compares
	// it.
	text, _, _ = strings.Cut(text, "\n")
	return shorten(text)
}

func (m mask) value(name string, value any) any {
	switch value := value.(type) {
	case string:
		if name == "resourceVersion" && value != "" {
			return "<revision>"
		}
		return m.text(value)
	case json.Number:
		if isPort := name == "nodePort" || name == "healthCheckNodePort"; isPort && !strings.Contains(m.said, value.String()) {
			return "<port>"
		}
	case []any:
		for i := range value {
			value[i] = m.value("", value[i])
		}
	case map[string]any:
		for key, v := range value {
			value[key] = m.value(key, v)
		}
		m.generated(value)
	}
	return value
}

// generated hides the end of a generated name.
func (m mask) generated(object map[string]any) {
	name, _ := object["name"].(string)
	if prefix, _ := object["generateName"].(string); prefix != "" && name != "" && !strings.Contains(m.said, strconv.Quote(name)) {
		object["name"] = prefix + "<random>"
	}
}
