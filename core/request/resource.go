package request

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	apidiscoveryv2 "k8s.io/api/apidiscovery/v2"
)

// Discovery is the Accept header by which /api and /apis answer with aggregated discovery.
const Discovery = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"

// Kind is a kind with its group and version.
type Kind struct{ Group, Version, Kind string }

// APIVersion is the kind's group and version in the form of an object's apiVersion.
func (k Kind) APIVersion() string {
	if k.Group == "" {
		return k.Version
	}
	return k.Group + "/" + k.Version
}

// Resource is a resource of a server.
type Resource struct {
	Group, Version, Plural, Singular string
	Short                            []string
	Kind                             Kind
	Namespaced                       bool
	Verbs                            []string
	Subresources                     []Subresource
}

// Subresource is a subresource of a Resource.
type Subresource struct {
	Name  string
	Kind  Kind // of what is sent and answered
	Verbs []string
}

// ID names the resource with group and version, so that its path follows without discovery.
func (r *Resource) ID() string {
	if r.Group == "" {
		return r.Version + "/" + r.Plural
	}
	return r.Group + "/" + r.Version + "/" + r.Plural
}

// FullName is the plural and the group, in kubectl's form: deployments.apps.
func (r *Resource) FullName() string {
	if r.Group == "" {
		return r.Plural
	}
	return r.Plural + "." + r.Group
}

// Sub finds a subresource, or nil.
func (r *Resource) Sub(name string) *Subresource {
	for i := range r.Subresources {
		if r.Subresources[i].Name == name {
			return &r.Subresources[i]
		}
	}
	return nil
}

// KindOf is the kind of the bodies that the resource, or one of its subresources, takes.
func (r *Resource) KindOf(subresource string) (Kind, bool) {
	if subresource == "" {
		return r.Kind, true
	}
	if s := r.Sub(subresource); s != nil {
		return s.Kind, true
	}
	return Kind{}, false
}

// Can says whether the resource, or one of its subresources, supports a verb.
func (r *Resource) Can(v Verb, subresource string) bool {
	verbs := r.Verbs
	if subresource != "" {
		s := r.Sub(subresource)
		if s == nil {
			return false
		}
		verbs = s.Verbs
	}
	return slices.Contains(verbs, string(v))
}

// Resources are the resources of a server, in the server's order. A nil Resources has none.
type Resources struct{ all []Resource }

// ReadDiscovery reads the aggregated answers of /api and /apis.
func ReadDiscovery(answers ...[]byte) (*Resources, error) {
	rs := &Resources{}
	for _, data := range answers {
		var list apidiscoveryv2.APIGroupDiscoveryList
		if err := json.Unmarshal(data, &list); err != nil {
			return nil, fmt.Errorf("read what the server has: %w", err)
		}
		if list.Kind != "APIGroupDiscoveryList" {
			return nil, fmt.Errorf("read what the server has: it sent %q, not an APIGroupDiscoveryList", list.Kind)
		}
		for _, group := range list.Items {
			for _, version := range group.Versions {
				for i := range version.Resources {
					rs.all = append(rs.all, newResource(group.Name, version.Version, &version.Resources[i]))
				}
			}
		}
	}
	return rs, nil
}

func newResource(group, version string, d *apidiscoveryv2.APIResourceDiscovery) Resource {
	r := Resource{
		Group: group, Version: version, Plural: d.Resource, Singular: d.SingularResource, Short: d.ShortNames,
		Namespaced: d.Scope == apidiscoveryv2.ScopeNamespace, Verbs: d.Verbs, Kind: Kind{group, version, d.Resource},
	}
	if k := d.ResponseKind; k != nil {
		r.Kind = Kind{orElse(k.Group, group), orElse(k.Version, version), k.Kind}
	}
	for _, s := range d.Subresources {
		sub := Subresource{Name: s.Subresource, Verbs: s.Verbs, Kind: r.Kind}
		if k := s.ResponseKind; k != nil {
			// An empty group and version stand for those of the resource: the core group has a version.
			sub.Kind = Kind{k.Group, k.Version, k.Kind}
			if k.Version == "" {
				sub.Kind.Group, sub.Kind.Version = group, version
			}
		}
		r.Subresources = append(r.Subresources, sub)
	}
	return r
}

func orElse(s, other string) string {
	if s == "" {
		return other
	}
	return s
}

// All returns all resources. The caller must not change them.
func (rs *Resources) All() []Resource {
	if rs == nil {
		return nil
	}
	return rs.all
}

// Find finds a resource by a name that a user typed: group/version/plural, version/plural, plural, singular, short name
// or kind. The last four may have .group or .version.group appended. The first match counts, as in kubectl. Without a
// match Find returns nil.
func (rs *Resources) Find(name string) *Resource {
	all := rs.All()
	for i := range all {
		if all[i].ID() == name {
			return &all[i]
		}
	}
	typed, group, qualified := strings.Cut(name, ".")
	for i := range all {
		r := &all[i]
		for _, own := range append([]string{r.Plural, r.Singular, r.Kind.Kind}, r.Short...) {
			if own != "" && strings.EqualFold(typed, own) &&
				(!qualified || r.Group != "" && (group == r.Group || group == r.Version+"."+r.Group)) {
				return r
			}
		}
	}
	return nil
}

// Match finds the resources for a few typed letters, best first: a name equals them, begins with them, contains them,
// or contains them in this order with others between.
func (rs *Resources) Match(typed string) []*Resource {
	typed = strings.ToLower(strings.TrimSpace(typed))
	type found struct {
		*Resource
		rank int
	}
	var all []found
	for i := range rs.All() {
		r := &rs.all[i]
		if rank := r.rank(typed); rank < noMatch {
			all = append(all, found{r, rank})
		}
	}
	slices.SortStableFunc(all, func(a, b found) int { return a.rank - b.rank })
	best := make([]*Resource, len(all))
	for i, f := range all {
		best[i] = f.Resource
	}
	return best
}

const noMatch = 100

// rank says how well the resource matches the typed letters: 0 is best.
func (r *Resource) rank(typed string) int {
	if typed == "" {
		return 0
	}
	best := noMatch
	names := append([]string{r.FullName(), r.ID(), strings.ToLower(r.Kind.Kind), r.Plural, r.Singular}, r.Short...)
	for _, name := range names {
		name = strings.ToLower(name)
		switch {
		case name == "":
		case name == typed:
			return 0
		case strings.HasPrefix(name, typed):
			best = min(best, 1)
		case strings.Contains(name, typed):
			best = min(best, 2)
		case inOrder(name, typed):
			best = min(best, 3)
		}
	}
	return best
}

// inOrder says whether s has all letters of typed, in their order.
func inOrder(s, typed string) bool {
	for _, c := range typed {
		i := strings.IndexRune(s, c)
		if i < 0 {
			return false
		}
		s = s[i+len(string(c)):]
	}
	return true
}
