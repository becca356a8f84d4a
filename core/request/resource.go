package request

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	apidiscoveryv2 "k8s.io/api/apidiscovery/v2"
)

// Discovery asks for all that a group of paths has: sent as Accept to /api and /apis.
const Discovery = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"

// Kind is a kind with its group and version.
type Kind struct{ Group, Version, Kind string }

// APIVersion is the kind's group and version as objects have them.
func (k Kind) APIVersion() string {
	if k.Group == "" {
		return k.Version
	}
	return k.Group + "/" + k.Version
}

// Resource is one that a server has.
type Resource struct {
	Group, Version, Plural, Singular string
	Short                            []string
	Kind                             Kind
	Namespaced                       bool
	Verbs                            []string
	Subresources                     []Subresource
}

// Subresource is one of a resource.
type Subresource struct {
	Name  string
	Kind  Kind // of what is sent and answered
	Verbs []string
}

// ID names the resource so that nobody needs discovery to find its path.
func (r *Resource) ID() string {
	if r.Group == "" {
		return r.Version + "/" + r.Plural
	}
	return r.Group + "/" + r.Version + "/" + r.Plural
}

// FullName is the plural and the group, as kubectl has them.
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

// KindOf is the kind of what a request about the resource, or one of its subresources, sends.
func (r *Resource) KindOf(subresource string) (Kind, bool) {
	if subresource == "" {
		return r.Kind, true
	}
	if s := r.Sub(subresource); s != nil {
		return s.Kind, true
	}
	return Kind{}, false
}

// Can says whether the resource, or one of its subresources, has a verb.
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

// Resources are what a server has, in its order. A nil one knows nothing.
type Resources struct{ all []Resource }

// ReadDiscovery makes Resources of the aggregated answers of /api and /apis.
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
					rs.all = append(rs.all, discovered(group.Name, version.Version, &version.Resources[i]))
				}
			}
		}
	}
	return rs, nil
}

func discovered(group, version string, d *apidiscoveryv2.APIResourceDiscovery) Resource {
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
			// An empty group and version are those of the resource: the core group has a version.
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

// All are all resources. The caller does not change them.
func (rs *Resources) All() []Resource {
	if rs == nil {
		return nil
	}
	return rs.all
}

// Find finds a resource by the name that a person gives it: group/version/plural, version/plural, plural, singular, short
// name or kind, each of the latter also with .group or .version.group behind it. Of several the first one is meant, as
// kubectl has it. It returns nil if there is none.
func (rs *Resources) Find(name string) *Resource {
	all := rs.All()
	for i := range all {
		if all[i].ID() == name {
			return &all[i]
		}
	}
	for i := range all {
		r := &all[i]
		for _, own := range append([]string{r.Plural, r.Singular, strings.ToLower(r.Kind.Kind)}, r.Short...) {
			rest, ok := cutPrefixFold(name, own)
			if own != "" && ok && (rest == "" || r.Group != "" && (rest == "."+r.Group || rest == "."+r.Version+"."+r.Group)) {
				return r
			}
		}
	}
	return nil
}

// cutPrefixFold is strings.CutPrefix whatever the case.
func cutPrefixFold(s, prefix string) (string, bool) {
	if len(s) < len(prefix) || !strings.EqualFold(s[:len(prefix)], prefix) {
		return s, false
	}
	return s[len(prefix):], true
}

// Match finds the resources that a few typed letters may mean, best first: those of which a name is, begins with, or has
// the letters, and last those that have them in this order with others between them.
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

// rank is how well the typed letters fit: 0 is best.
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

// inOrder says that s has all letters of typed in their order.
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
