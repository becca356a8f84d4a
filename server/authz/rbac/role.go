package rbac

import (
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apiserver/pkg/authorization/authorizer"
)

// question holds the attributes of a request. Each getter of [authorizer.Attributes] copies all of them, which is slow.
type question struct {
	verb, namespace                    string
	group, resource, subresource, name string
	path                               string
	isResource                         bool
}

func questionOf(a authorizer.Attributes) question {
	q := question{verb: a.GetVerb(), namespace: a.GetNamespace(), isResource: a.IsResourceRequest()}
	if !q.isResource {
		q.path = a.GetPath()
		return q
	}
	q.group, q.resource, q.subresource, q.name = a.GetAPIGroup(), a.GetResource(), a.GetSubresource(), a.GetName()
	return q
}

// role is a compiled role.
type role struct {
	rules []rbacv1.PolicyRule
	// resources maps the part of a resource before its slash, or a star, to the numbers of the rules that name it.
	// paths lists the numbers of rules about paths.
	resources map[string][]int
	paths     []int
	// damaged is true if the role can't be read.
	damaged bool
}

func compile(rules []rbacv1.PolicyRule) *role {
	r := &role{rules: rules, resources: map[string][]int{}}
	for i := range rules {
		if len(rules[i].NonResourceURLs) > 0 {
			r.paths = append(r.paths, i)
		}
		for _, resource := range rules[i].Resources {
			first := firstPart(resource)
			if numbers := r.resources[first]; len(numbers) == 0 || numbers[len(numbers)-1] != i {
				r.resources[first] = append(numbers, i)
			}
		}
	}
	return r
}

func firstPart(resource string) string {
	first, _, _ := strings.Cut(resource, "/")
	return first
}

// allows returns the number of a rule that allows the request.
func (r *role) allows(q *question) (rule int, ok bool) {
	if !q.isResource {
		return r.first(r.paths, q)
	}
	if rule, ok := r.first(r.resources[firstPart(q.resource)], q); ok {
		return rule, true
	}
	return r.first(r.resources[rbacv1.ResourceAll], q)
}

func (r *role) first(numbers []int, q *question) (rule int, ok bool) {
	for _, i := range numbers {
		if allows(&r.rules[i], q) {
			return i, true
		}
	}
	return 0, false
}

// allows reports whether a rule allows the request.
func allows(rule *rbacv1.PolicyRule, q *question) bool {
	return hasVerb(rule, q) && reaches(rule, q) && (!q.isResource || hasName(rule, q))
}

// reaches reports whether a rule names the requested resource or path.
func reaches(rule *rbacv1.PolicyRule, q *question) bool {
	if !q.isResource {
		return slices.ContainsFunc(rule.NonResourceURLs, q.isAtPath)
	}
	return (slices.Contains(rule.APIGroups, q.group) || slices.Contains(rule.APIGroups, rbacv1.APIGroupAll)) &&
		slices.ContainsFunc(rule.Resources, q.isOfResource)
}

func hasVerb(rule *rbacv1.PolicyRule, q *question) bool {
	return slices.Contains(rule.Verbs, q.verb) || slices.Contains(rule.Verbs, rbacv1.VerbAll)
}

func hasName(rule *rbacv1.PolicyRule, q *question) bool {
	return len(rule.ResourceNames) == 0 || slices.Contains(rule.ResourceNames, q.name)
}

// isOfResource reports whether a resource of a rule matches the requested one. It may be a star, the resource with its
// subresource behind a slash, or that subresource of all resources.
func (q *question) isOfResource(resource string) bool {
	if resource == rbacv1.ResourceAll {
		return true
	}
	if q.subresource == "" {
		return resource == q.resource
	}
	before, found := strings.CutSuffix(resource, q.subresource)
	if !found {
		return false
	}
	before, found = strings.CutSuffix(before, "/")
	return found && (before == q.resource || before == rbacv1.ResourceAll)
}

// isAtPath reports whether a path of a rule, which may end in a star, matches the requested one.
func (q *question) isAtPath(path string) bool {
	return path == q.path || strings.HasSuffix(path, "*") && strings.HasPrefix(q.path, strings.TrimRight(path, "*"))
}
