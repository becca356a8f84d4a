package rbac

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"

	"github.com/kx-apiserver/kx/core/escape"
)

// These limit a sentence: the items of a list, and the bindings that are searched for the nearest one.
const (
	itemsMost    = 5
	bindingsMost = 1000
)

// Why names the rule that allows the request. Without one, it names the rule of the user that comes nearest. Names are
// escaped.
func (v *Verdict) Why() string {
	if v.Allowed() {
		return v.grant.sentence()
	}
	var out strings.Builder
	fmt.Fprintf(&out, "%s reaches %s", v.subjectName(), v.requestText())
	if near := v.nearest(); near != "" {
		out.WriteString("; nearest: " + near)
	}
	for _, err := range v.failures() {
		out.WriteString("; " + err.Error())
	}
	if lost := v.damageText(); lost != "" {
		out.WriteString("; what can't be read allows nothing: " + lost)
	}
	return escape.Line(out.String())
}

// Missing returns the smallest rule that would allow the request. It names no object if the request has no name at its
// authorization: a rule with names would not allow such a request.
func (v *Verdict) Missing() *rbacv1.PolicyRule {
	q := &v.asked
	if !q.isResource {
		return &rbacv1.PolicyRule{Verbs: []string{q.verb}, NonResourceURLs: []string{q.path}}
	}
	rule := &rbacv1.PolicyRule{Verbs: []string{q.verb}, APIGroups: []string{q.group},
		Resources: []string{resourceName(q.resource, q.subresource, "")}}
	if q.name != "" && !q.nameless() {
		rule.ResourceNames = []string{q.name}
	}
	return rule
}

// nameless reports whether requests of the verb have no name at their authorization: the name of a new object is in the
// body, and DeleteCollection deletes many. The same holds for impersonation on such a request.
func (q *question) nameless() bool {
	switch q.verb[strings.LastIndexByte(q.verb, ':')+1:] {
	case "create":
		return q.subresource == ""
	case "deletecollection":
		return true
	}
	return false
}

func (v *Verdict) subjectName() string {
	if v.who == nil {
		return "nobody"
	}
	groups := v.who.GetGroups()
	switch len(groups) {
	case 0:
		return v.who.GetName()
	case 1:
		return v.who.GetName() + ", group " + groups[0]
	}
	return v.who.GetName() + ", groups " + joinItems(groups)
}

// requestText describes the request.
func (v *Verdict) requestText() string {
	q := &v.asked
	if !q.isResource {
		return q.verb + " of " + q.path
	}
	out := q.verb + " of " + resourceName(q.resource, q.subresource, q.group)
	if q.name != "" {
		out += " " + q.name
	}
	if q.namespace != "" {
		out += " in ns " + q.namespace
	}
	return out
}

func resourceName(resource, subresource, group string) string {
	if group != "" {
		resource += "." + group
	}
	if subresource != "" {
		resource += "/" + subresource
	}
	return resource
}

// joinItems joins the first items of a list.
func joinItems(items []string) string {
	if len(items) > itemsMost {
		return fmt.Sprintf("%s and %d more", strings.Join(items[:itemsMost], ","), len(items)-itemsMost)
	}
	return strings.Join(items, ",")
}

// String describes the way from the binding to the permission of the rule.
func (g grant) String() string {
	rule := &g.role.rules[g.rule]
	of := joinItems(rule.NonResourceURLs)
	if len(rule.Resources) > 0 {
		of = joinItems(resourcesOf(rule))
	}
	return fmt.Sprintf("%s → %s %s: rule %d allows %s of %s", g.by, g.by.to.Kind, g.by.to.Name, g.rule+1, joinItems(rule.Verbs), of)
}

// sentence returns String, escaped. A binding caches its latest sentence, because the same rule allows most of its
// requests.
func (g grant) sentence() string {
	if last := g.by.sentence.Load(); last != nil && last.role == g.role && last.rule == g.rule {
		return last.text
	}
	next := &sentence{role: g.role, rule: g.rule, text: escape.Line(g.String())}
	g.by.sentence.Store(next)
	return next.text
}

// sentence describes one rule of a role.
type sentence struct {
	role *role
	rule int
	text string
}

// resourcesOf returns the resources of a rule, with their group if there is one.
func resourcesOf(rule *rbacv1.PolicyRule) []string {
	group := joinItems(rule.APIGroups)
	out := slices.Clone(rule.Resources)
	for i, resource := range out {
		resource, subresource, _ := strings.Cut(resource, "/")
		out[i] = resourceName(resource, subresource, group)
	}
	if len(rule.ResourceNames) > 0 {
		out[len(out)-1] += " " + joinItems(rule.ResourceNames)
	}
	return out
}

// String names a binding and its namespace.
func (b *binding) String() string {
	out := b.kind().String() + " " + b.name
	if b.namespace != "" {
		out += " in ns " + b.namespace
	}
	return out
}

// nearest finds the user's rule that comes nearest: it allows the same in another namespace, for other names, or with
// other verbs.
func (v *Verdict) nearest() string {
	if v.who == nil {
		return ""
	}
	const elsewhere, otherNames, otherVerbs = 3, 2, 1
	best, near := 0, grant{}
	better := func(score int, g grant) {
		if score > best {
			best, near = score, g
		}
	}
	all := v.index.bindings(v.who, func(string) bool { return true })
	for _, b := range all[:min(len(all), bindingsMost)] {
		r := v.index.role(b)
		if r == nil || r.damaged {
			continue
		}
		here := b.namespace == "" || b.namespace == v.asked.namespace
		for i := range r.rules {
			rule, g := &r.rules[i], grant{by: b, role: r, rule: i}
			switch {
			case !reaches(rule, &v.asked):
			case !here && allows(rule, &v.asked) && v.asked.isResource:
				better(elsewhere, g)
			case here && hasVerb(rule, &v.asked):
				better(otherNames, g)
			case here:
				better(otherVerbs, g)
			}
		}
	}
	switch best {
	case 0:
		return ""
	case elsewhere:
		return near.by.String()
	}
	return near.String()
}

// damageText names unreadable bindings that might have allowed the request.
func (v *Verdict) damageText() string {
	var names []string
	for _, b := range v.index.damaged {
		if b.namespace == "" || b.namespace == v.asked.namespace {
			names = append(names, b.String())
		}
	}
	slices.SortFunc(names, cmp.Compare)
	return joinItems(names)
}
