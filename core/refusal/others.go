package refusal

import (
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/core/steps"
)

// invalid explains a 422.
func (c *card) invalid() {
	rules := false
	for i := range c.j.Status.Steps {
		s := &c.j.Status.Steps[i]
		if s.ID != steps.CRDCEL.String() || s.Error == "" {
			continue
		}
		rules = true
		c.say("rule", "%s", s.Attribute("rule"))
		c.say("", "at %s in the schema of %s: %s", c.schemaPlace(s.Subject), c.definition(), s.Error)
	}
	if !rules {
		s := c.step()
		if s == nil {
			return
		}
		for _, problem := range problems(s.Error) {
			c.say("field", "%s", problem)
		}
		if s.ID == steps.CRDValidate.String() {
			c.say("schema", "of %s; %s", c.definition(), c.words.Why(c.j, s))
		}
	}
	c.Next = "change these fields: kubectl explain says what may be in them"
	if rules {
		c.Next = "change the fields that the rule speaks of; the definition has the rule"
	}
}

// schemaPlace is where a rule stands in a schema.
func (c *card) schemaPlace(path string) string {
	if path == "" || path == "<nil>" {
		return c.words.Phrase("the root")
	}
	return path
}

// definition is the name of what defines the resource.
func (c *card) definition() string {
	if s := c.lastStep(steps.CRDServe); s != nil {
		return s.Subject
	}
	return c.j.Spec.Resource
}

// problems are the field errors in a message: "X is invalid: [a: …, b: …]".
func problems(message string) []string {
	_, list, ok := strings.Cut(message, " is invalid: ")
	if !ok {
		list = message
	}
	inner, ok := strings.CutPrefix(list, "[")
	if !ok {
		return []string{list}
	}
	var out []string
	start, depth := 0, 0
	quoted := false
	for i := 0; i < len(inner); i++ {
		switch c := inner[i]; {
		case c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '[' || c == '{' || c == '(':
			depth++
		case c == ']' && depth == 0:
			return append(out, inner[start:i])
		case c == ']' || c == '}' || c == ')':
			depth--
		case c == ',' && depth == 0 && field(inner[i+1:]):
			out = append(out, inner[start:i])
			start = i + 2
		}
	}
	return append(out, inner[start:])
}

// field says whether a text begins with a path and a colon, as each error of a list does.
func field(text string) bool {
	path, _, ok := strings.Cut(strings.TrimPrefix(text, " "), ": ")
	return ok && strings.HasPrefix(text, " ") && path != "" && !strings.ContainsAny(path, " \"")
}

// missing explains a 404.
func (c *card) missing() {
	if s := c.lastStep(steps.CRDServe); s != nil && s.Subject != "" && s.Why != "" && c.lastStep(steps.CRDServeResource) == nil {
		c.say("not served", "%s: %s", s.Subject, c.words.Why(c.j, s))
		c.Next = "create the definition, or ask for a version that it serves: kubectl api-resources lists what is served"
		return
	}
	key := c.lastStep(steps.EtcdKeyRevision)
	if key == nil {
		key = c.lastStep(steps.EtcdGet)
	}
	if key == nil {
		c.explainError()
		c.Next = "kubectl api-resources lists what is served"
		return
	}
	c.add(Fact{Name: "etcd has", Text: c.words.Phrase("nothing at %s", key.Subject), Key: key.Subject})
	gone := slices.IndexFunc(c.others, func(w *v1alpha1.Journey) bool { return w.Spec.Verb == "delete" })
	if gone >= 0 {
		w := c.others[gone]
		c.add(Fact{Name: "deleted by", Text: c.words.Phrase("%s, %s", c.describeWriter(w), c.before(w)), Journey: w.Name})
	}
	c.Next = "look at its name and namespace"
	if gone >= 0 {
		c.Next = "create it again, if it shall be there"
	}
}

// tooOld matches the 410 of a watch that starts at a compacted revision.
var tooOld = regexp.MustCompile(`too old resource version: (\d+) \((\d+)\)`)

// explainExpired explains a 410.
func (c *card) explainExpired() {
	c.explainError()
	for _, id := range []steps.ID{steps.CacherWatch, steps.CacherList} {
		if s := c.lastStep(id); s != nil && s != c.step() {
			c.say("the cache", "%s", c.words.Why(c.j, s))
		}
	}
	if s := c.step(); s != nil {
		if m := tooOld.FindStringSubmatch(s.Error); m != nil {
			c.say("missed", "the changes after revision %s: those before revision %s are no longer kept", m[1], m[2])
		}
	}
	c.Next = "begin anew: list without a resourceVersion, and watch from the revision of that list; " +
		"what was changed in between is in the list"
}

// forbidden explains a 401 or a 403.
func (c *card) forbidden() {
	s := c.step()
	if s == nil {
		return
	}
	c.say("who", "%s", c.userOf(s))
	c.say("decided by", "%s", c.words.Text(s.Title))
	c.explainError()
	switch s.ID {
	case steps.FilterAuthorization.String():
		c.grant(s, c.question())
	case steps.FilterImpersonation.String():
		if s.Attribute("resource") != "" { // else no role would help
			c.grant(s, question{
				verb: "impersonate", what: s.Attribute("resource"), name: s.Attribute("name"), subresource: s.Attribute("subresource"),
				namespace: s.Attribute("namespace"),
			})
		}
	case steps.FilterAuthentication.String():
		c.Next = "send a certificate or a token that the server knows: the kubeconfig names them"
	}
}

// userOf returns the user of a step: from the authorization on, the user that the request acts as.
func (c *card) userOf(s *v1alpha1.Step) string {
	if as := c.j.Spec.ImpersonatedUser; as != "" && s.ID == steps.FilterAuthorization.String() {
		return as
	}
	return c.j.Spec.User
}

// groups returns the groups of a refused user that kx auth why needs as flags. It knows the groups of every user,
// which the step does not name. Without a flag it also knows those of a service account.
func groups(s *v1alpha1.Step) (named []string) {
	others := false
	for _, a := range s.Attributes {
		if a.Name == "group" {
			named = append(named, a.Value)
			others = others || a.Value != "system:serviceaccounts" && !strings.HasPrefix(a.Value, "system:serviceaccounts:")
		}
	}
	if !others {
		return nil
	}
	return named
}

// grant names the command that writes the missing role and binding.
func (c *card) grant(s *v1alpha1.Step, q question) {
	command := q.command(c.userOf(s), groups(s))
	c.Next = c.words.Phrase("have somebody who may give the user the right to it: %s writes the role and the binding that lack", command)
}

// question is one for kx auth why. what is a resource with its group, or a path.
type question struct {
	verb, what, name, subresource, namespace string
	// everywhere says that it is about all namespaces.
	everywhere bool
}

// question asks whether the user may do what the request tried.
func (c *card) question() question {
	s := &c.j.Spec
	if s.Resource == "" {
		path, _, _ := strings.Cut(s.URI, "?")
		return question{verb: s.Verb, what: path}
	}
	q := question{verb: s.Verb, what: s.Resource, name: s.Name, subresource: s.Subresource, namespace: s.Namespace}
	if s.Group != "" {
		q.what += "." + s.Group
	}
	q.everywhere = s.Namespace == "" && (s.Verb == "list" || s.Verb == "watch") // else it would be about that of the kubeconfig
	return q
}

// command asks it about a user with these groups.
func (q *question) command(who string, groups []string) string {
	words := []string{"kx auth why", word(q.verb), word(q.what)}
	for _, part := range []struct{ flag, value string }{{"", q.name}, {"--subresource ", q.subresource}, {"-n ", q.namespace}} {
		if part.value != "" {
			words = append(words, part.flag+word(part.value))
		}
	}
	if q.everywhere {
		words = append(words, "-A")
	}
	words = append(words, "--as "+word(who))
	for _, group := range groups {
		words = append(words, "--as-group "+word(group))
	}
	return strings.Join(words, " ")
}

// word is a text as one word of a shell.
func word(text string) string {
	if text != "" && strings.Trim(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._:/@-") == "" {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// busy explains a 429.
func (c *card) busy() {
	c.explainError()
	if s := c.lastStep(steps.PodCheckBudget); s != nil {
		c.say("budget", "%s", s.Subject)
		c.Next = "wait until the budget allows one more: another pod must be ready first"
		return
	}
	c.Next = "wait as long as Retry-After says, and send it again: clients of client-go do"
}

// explainTimeout explains a 504.
func (c *card) explainTimeout() {
	c.explainError()
	if i := c.longest(); i >= 0 {
		s := &c.j.Status.Steps[i]
		c.say("the time", "%s of %s went into %s %s", roundDuration(time.Duration(s.TookNanos)),
			roundDuration(time.Duration(c.j.Status.TookMicros)*time.Microsecond), c.words.Text(s.Title), s.Subject)
	}
	switch c.j.Spec.Verb {
	case "get", "list", "watch":
		c.Next = "send it again: it has changed nothing"
	default:
		c.Next = "a write may have happened nevertheless: read the object before it is sent again"
	}
}

// longest is the step without others below it that took longest; -1 for none.
func (c *card) longest() int {
	taken := c.j.Status.Steps
	parents := map[int32]bool{}
	for i := range taken {
		parents[taken[i].Parent] = true
	}
	found := -1
	for i := range taken {
		if !parents[int32(i)] && (found < 0 || taken[i].TookNanos > taken[found].TookNanos) {
			found = i
		}
	}
	return found
}
