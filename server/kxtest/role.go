package kxtest

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// right is what one request needs.
type right struct {
	verb, group, resource, namespace, name string
	// path is that of a request about no resource.
	path string
}

// String is the right in the words of [Fault.On].
func (r right) String() string {
	if r.path != "" {
		return r.verb + " " + r.path
	}
	text := r.verb + " " + qualified(r.resource, r.group)
	if r.name != "" {
		text += " " + strconv.Quote(r.name)
	}
	if r.namespace != "" {
		text += " in " + r.namespace
	}
	return text
}

// everyone has these rights in every cluster: discovery, and questions about oneself.
var everyone = []rbacv1.PolicyRule{
	{Verbs: []string{"get"}, NonResourceURLs: []string{
		"/api", "/api/*", "/apis", "/apis/*", "/healthz", "/livez", "/openapi", "/openapi/*", "/readyz", "/version", "/version/",
	}},
	{Verbs: []string{"create"}, APIGroups: []string{"authorization.k8s.io"}, Resources: []string{
		"selfsubjectaccessreviews", "selfsubjectrulesreviews",
	}},
	{Verbs: []string{"create"}, APIGroups: []string{"authentication.k8s.io"}, Resources: []string{"selfsubjectreviews"}},
}

// rightsOf returns the rights that requests need, each once, without those of everyone.
func rightsOf(all []Journey) (rights []right) {
	known := map[right]bool{}
	add := func(r right) {
		if !known[r] && !slices.ContainsFunc(everyone, func(rule rbacv1.PolicyRule) bool { return grants(rule, r) }) {
			known[r] = true
			rights = append(rights, r)
		}
	}
	for _, j := range all {
		switch {
		case j.Verb == "":
			continue // the request was refused before authorization
		case j.ImpersonatedUser != "":
			add(impersonation(j.ImpersonatedUser)) // the rest is for the other user's role
			continue
		case j.Resource == "":
			add(right{verb: j.Verb, path: j.resource()})
			continue
		}
		r := right{verb: j.Verb, group: j.Group, resource: j.Resource, namespace: j.Namespace, name: j.Name}
		made := r
		made.verb = "create"
		if j.Subresource != "" {
			r.resource += "/" + j.Subresource
			made.resource = r.resource
		} else {
			made.name = "" // it is in the body, which authorization does not see
		}
		if r.verb == made.verb {
			r = made
		}
		add(r)
		// An update or a patch that creates the object needs this right too, and may have been refused without it.
		writes := r.verb == "update" || r.verb == "patch"
		if writes && (j.Code == 201 || j.Code == 403 && strings.Contains(j.Reason, "cannot create resource")) {
			add(made)
		}
	}
	return rights
}

// impersonation is the right to act as a user.
func impersonation(user string) right {
	if account, ok := strings.CutPrefix(user, "system:serviceaccount:"); ok {
		namespace, name, _ := strings.Cut(account, ":")
		return right{verb: "impersonate", resource: "serviceaccounts", namespace: namespace, name: name}
	}
	return right{verb: "impersonate", resource: "users", name: user}
}

// grants reports whether a rule gives a right.
func grants(rule rbacv1.PolicyRule, r right) bool {
	if !slices.Contains(rule.Verbs, "*") && !slices.Contains(rule.Verbs, r.verb) {
		return false
	}
	if r.path != "" {
		return slices.ContainsFunc(rule.NonResourceURLs, func(url string) bool {
			begin, all := strings.CutSuffix(url, "*")
			return url == r.path || all && strings.HasPrefix(r.path, begin)
		})
	}
	_, sub, below := strings.Cut(r.resource, "/")
	of := func(resource string) bool {
		return resource == "*" || resource == r.resource || below && resource == "*/"+sub
	}
	return (slices.Contains(rule.APIGroups, "*") || slices.Contains(rule.APIGroups, r.group)) &&
		slices.ContainsFunc(rule.Resources, of) &&
		(len(rule.ResourceNames) == 0 || slices.Contains(rule.ResourceNames, r.name))
}

// Role is the rights that a user needed in a test.
type Role struct {
	// ClusterRole has a rule for each group and list of verbs, as people write it. It has no resourceNames: most names
	// are the test's own.
	rbacv1.ClusterRole
	server *Server
	rights []right
}

// MinimalRole makes a role of what a user asked for since the start of the test: the rights that the user's requests
// needed, whether they had them or not. A * in the name stands for anything, so that "manager-role-*" is the user of
// [Server.As]. What every user may do, such as discovery, is left out, and so are the groups of impersonated users. The
// test fails if the user made no request, or if the server has forgotten requests.
func (s *Server) MinimalRole(t testing.TB, user string) *Role {
	t.Helper()
	filter := "user:" + user
	if !strings.Contains(user, "*") {
		filter = "user:" + strconv.Quote(user) // names of service accounts have colons
	}
	found, err := s.of(filter)
	if err != nil {
		s.fatal(t, err)
	}
	rights := rightsOf(found)
	role := &Role{server: s, rights: rights}
	role.APIVersion, role.Kind = rbacv1.SchemeGroupVersion.String(), "ClusterRole"
	role.Name = strings.Trim(user, "-*")
	role.Rules = rulesOf(rights)
	return role
}

// rulesOf groups rights: the verbs of each resource first, and then the resources of a group that have the same verbs.
func rulesOf(rights []right) (rules []rbacv1.PolicyRule) {
	verbs := map[right][]string{}
	var resources []right
	for _, r := range rights {
		of := right{group: r.group, resource: r.resource, path: r.path}
		if verbs[of] == nil {
			resources = append(resources, of)
		}
		if !slices.Contains(verbs[of], r.verb) {
			verbs[of] = append(verbs[of], r.verb)
		}
	}
	slices.SortFunc(resources, func(a, b right) int {
		return slices.Compare([]string{a.path, a.group, a.resource}, []string{b.path, b.group, b.resource})
	})
	byVerbs := map[string]int{}
	for _, of := range resources {
		slices.SortFunc(verbs[of], compareVerbs)
		kind := fmt.Sprint(of.path != "", of.group, verbs[of])
		at, known := byVerbs[kind]
		if !known {
			at = len(rules)
			byVerbs[kind] = at
			rules = append(rules, rbacv1.PolicyRule{Verbs: verbs[of]})
			if of.path == "" {
				rules[at].APIGroups = []string{of.group}
			}
		}
		if of.path != "" {
			rules[at].NonResourceURLs = append(rules[at].NonResourceURLs, of.path)
		} else {
			rules[at].Resources = append(rules[at].Resources, of.resource)
		}
	}
	return rules
}

// usualVerbs are in the order in which people write them.
var usualVerbs = []string{"get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"}

func compareVerbs(a, b string) int {
	at := func(verb string) int {
		if i := slices.Index(usualVerbs, verb); i >= 0 {
			return i
		}
		return len(usualVerbs)
	}
	if d := at(a) - at(b); d != 0 {
		return d
	}
	return strings.Compare(a, b)
}

// String is the role as YAML, ready for a file.
func (r *Role) String() string {
	var text strings.Builder
	fmt.Fprintf(&text, "apiVersion: %s\nkind: %s\nmetadata:\n  name: %q\n", r.APIVersion, r.Kind, r.Name)
	if len(r.Rules) == 0 {
		return text.String() + "rules: []\n"
	}
	text.WriteString("rules:\n")
	for _, rule := range r.Rules {
		key := "- "
		for _, list := range []struct {
			name   string
			values []string
		}{
			{"apiGroups", rule.APIGroups}, {"resources", rule.Resources}, {"nonResourceURLs", rule.NonResourceURLs}, {"verbs", rule.Verbs},
		} {
			if len(list.values) == 0 {
				continue
			}
			fmt.Fprintf(&text, "%s%s:\n", key, list.name)
			for _, value := range list.values {
				if value == "" {
					value = `""`
				}
				fmt.Fprintf(&text, "  - %s\n", value)
			}
			key = "  "
		}
	}
	return text.String()
}

// Comparison is the difference between the rights that a user needed and those of a role that is shipped.
type Comparison struct {
	// Lacks has the rights that requests needed and the role does not give: "update widgets.example.com".
	Lacks []string
	// Unused has what the role gives and no request needed: "delete widgets.example.com". For a rule with *, it names
	// what was needed: "* configmaps: only get, list".
	Unused []string
}

// String has a line for each right.
func (c Comparison) String() string {
	text := ""
	for _, right := range c.Lacks {
		text += "lacks: " + right + "\n"
	}
	for _, right := range c.Unused {
		text += "unused: " + right + "\n"
	}
	return text
}

// Compare holds the rights that the user needed against the roles and cluster roles in files and directories, as
// [Server.As] takes them: a Role counts in its namespace, and all else in the files is left out. The resourceNames of
// rules count. The test fails if a file has no role.
func (r *Role) Compare(t testing.TB, files ...string) Comparison {
	t.Helper()
	found, err := readOf(files, rbacv1.GroupName, "Role", "ClusterRole")
	if err != nil {
		r.server.fatal(t, err)
	}
	var shipped []namespacedRule
	for _, m := range found {
		var role rbacv1.ClusterRole // a Role has the same rules
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(m.object.Object, &role); err != nil {
			r.server.fatal(t, fmt.Errorf("%v: %w", m, err))
		}
		namespace := ""
		if m.is(rbacv1.GroupName, "Role") {
			if namespace = role.Namespace; namespace == "" {
				namespace = metav1.NamespaceDefault
			}
		}
		for _, rule := range role.Rules {
			shipped = append(shipped, namespacedRule{rule, namespace})
		}
	}
	return compare(r.rights, shipped)
}

// namespacedRule is a rule that counts in a namespace, or everywhere if that is empty.
type namespacedRule struct {
	rbacv1.PolicyRule
	namespace string
}

func (n namespacedRule) grants(r right) bool {
	return (n.namespace == "" || n.namespace == r.namespace) && grants(n.PolicyRule, r)
}

func compare(rights []right, shipped []namespacedRule) (c Comparison) {
	for _, r := range rights {
		if slices.ContainsFunc(shipped, func(rule namespacedRule) bool { return rule.grants(r) }) {
			continue
		}
		// Names and namespaces matter only if a rule has others.
		elsewhere := func(rule namespacedRule) bool {
			rule.ResourceNames = nil
			return grants(rule.PolicyRule, r)
		}
		if !slices.ContainsFunc(shipped, elsewhere) {
			r.name, r.namespace = "", ""
		}
		if text := r.String(); !slices.Contains(c.Lacks, text) {
			c.Lacks = append(c.Lacks, text)
		}
	}
	for _, rule := range shipped {
		for _, one := range rule.split() {
			var used []right
			for _, r := range rights {
				if one.grants(r) {
					used = append(used, r)
				}
			}
			if text := one.excess(used); text != "" && !slices.Contains(c.Unused, text) {
				c.Unused = append(c.Unused, text)
			}
		}
	}
	slices.Sort(c.Lacks)
	slices.Sort(c.Unused)
	return c
}

// split makes rules of one verb, one group, one resource and one name of it, or one URL.
func (n namespacedRule) split() (all []namespacedRule) {
	names := n.ResourceNames
	if len(names) == 0 {
		names = []string{""}
	}
	for _, verb := range n.Verbs {
		for _, url := range n.NonResourceURLs {
			all = append(all, namespacedRule{rbacv1.PolicyRule{Verbs: []string{verb}, NonResourceURLs: []string{url}}, n.namespace})
		}
		for _, group := range n.APIGroups {
			for _, resource := range n.Resources {
				for _, name := range names {
					one := rbacv1.PolicyRule{Verbs: []string{verb}, APIGroups: []string{group}, Resources: []string{resource}}
					if name != "" {
						one.ResourceNames = []string{name}
					}
					all = append(all, namespacedRule{one, n.namespace})
				}
			}
		}
	}
	return all
}

// excess says what a rule of [namespacedRule.split] gives beyond the rights that were used. Empty is nothing.
func (n namespacedRule) excess(used []right) string {
	given := right{verb: n.Verbs[0], namespace: n.namespace}
	if len(n.NonResourceURLs) > 0 {
		given.path = n.NonResourceURLs[0]
	} else {
		given.group, given.resource = n.APIGroups[0], n.Resources[0]
	}
	if len(n.ResourceNames) > 0 {
		given.name = n.ResourceNames[0]
	}
	switch {
	case len(used) == 0:
		return given.String()
	case !strings.Contains(given.verb+given.group+given.resource+given.path, "*"):
		return ""
	}
	needed := map[string]bool{}
	for _, r := range used {
		r.name, r.namespace = "", ""
		text := r.String()
		if given.group == r.group && given.resource == r.resource && given.path == r.path {
			text = r.verb
		}
		needed[text] = true
	}
	return fmt.Sprintf("%s: only %s", given, strings.Join(keys(needed), ", "))
}
