package flow

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"slices"
	"strings"

	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	"k8s.io/apiserver/pkg/apis/flowcontrol/bootstrap"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/endpoints/request"
)

// rule is a flow schema in force, with the level that it leads to. It does not change.
type rule struct {
	schema *flowcontrolv1.FlowSchema
	level  *level
	terms
}

// terms are the properties of a level that its requests need.
type terms struct {
	named ObjectRef
	// exempt requests never wait, and queues is true if the others may. flows is true if there are several queues.
	exempt, queues, flows bool
	// largest is the most seats that one request may take, 0 for no limit.
	largest uint64
}

// rules are the flow schemas in the order in which they are tried, and the one for requests that fit none.
type rules struct {
	all  []*rule
	rest *rule
}

// newRules sorts the schemas whose levels exist. A mandatory schema that is missing stands where it would be.
func newRules(schemas []*flowcontrolv1.FlowSchema, levels map[string]*level) *rules {
	schemas = slices.Clone(schemas)
	slices.SortFunc(schemas, func(a, b *flowcontrolv1.FlowSchema) int {
		return cmp.Or(cmp.Compare(a.Spec.MatchingPrecedence, b.Spec.MatchingPrecedence), cmp.Compare(a.Name, b.Name))
	})
	named := func(name string) func(*flowcontrolv1.FlowSchema) bool {
		return func(s *flowcontrolv1.FlowSchema) bool { return s.Name == name }
	}
	if !slices.ContainsFunc(schemas, named(flowcontrolv1.FlowSchemaNameExempt)) {
		schemas = slices.Insert(schemas, 0, bootstrap.MandatoryFlowSchemaExempt)
	}
	if !slices.ContainsFunc(schemas, named(flowcontrolv1.FlowSchemaNameCatchAll)) {
		schemas = append(schemas, bootstrap.MandatoryFlowSchemaCatchAll)
	}
	r := &rules{}
	for _, s := range schemas {
		l := levels[s.Spec.PriorityLevelConfiguration.Name]
		one := &rule{schema: s, level: l, terms: l.terms()}
		r.all = append(r.all, one)
		if s.Name == flowcontrolv1.FlowSchemaNameCatchAll {
			r.rest = one
		}
	}
	return r
}

// find returns the first rule that a request fits.
func (r *rules) find(of *Request) *rule {
	for _, one := range r.all {
		if one.fits(of) {
			return one
		}
	}
	return r.rest
}

func (r *rule) fits(of *Request) bool {
	for i := range r.schema.Spec.Rules {
		policy := &r.schema.Spec.Rules[i]
		if !slices.ContainsFunc(policy.Subjects, func(s flowcontrolv1.Subject) bool { return includes(&s, of.User) }) {
			continue
		}
		if of.Info.IsResourceRequest {
			for n := range policy.ResourceRules {
				if fitsResource(&policy.ResourceRules[n], of.Info) {
					return true
				}
			}
			continue
		}
		for n := range policy.NonResourceRules {
			if fitsPath(&policy.NonResourceRules[n], of.Info) {
				return true
			}
		}
	}
	return false
}

// includes reports whether a subject is, or has, a user.
func includes(s *flowcontrolv1.Subject, who user.Info) bool {
	switch {
	case s.Kind == flowcontrolv1.SubjectKindUser && s.User != nil:
		return s.User.Name == flowcontrolv1.NameAll || s.User.Name == who.GetName()
	case s.Kind == flowcontrolv1.SubjectKindGroup && s.Group != nil:
		return s.Group.Name == flowcontrolv1.NameAll || slices.Contains(who.GetGroups(), s.Group.Name)
	case s.Kind == flowcontrolv1.SubjectKindServiceAccount && s.ServiceAccount != nil:
		rest, account := strings.CutPrefix(who.GetName(), serviceaccount.ServiceAccountUsernamePrefix)
		rest, inNamespace := strings.CutPrefix(rest, s.ServiceAccount.Namespace)
		name, separate := strings.CutPrefix(rest, serviceaccount.ServiceAccountUsernameSeparator)
		return account && inNamespace && separate && (s.ServiceAccount.Name == flowcontrolv1.NameAll || s.ServiceAccount.Name == name)
	}
	return false
}

func fitsResource(r *flowcontrolv1.ResourcePolicyRule, info *request.RequestInfo) bool {
	resource := info.Resource
	if info.Subresource != "" {
		resource += "/" + info.Subresource
	}
	if !has(r.Verbs, info.Verb) || !has(r.Resources, resource) || !has(r.APIGroups, info.APIGroup) {
		return false
	}
	if info.Namespace == "" {
		return r.ClusterScope
	}
	return has(r.Namespaces, info.Namespace)
}

// fitsPath treats a path without an asterisk as that of a directory too.
func fitsPath(r *flowcontrolv1.NonResourcePolicyRule, info *request.RequestInfo) bool {
	return has(r.Verbs, info.Verb) && slices.ContainsFunc(r.NonResourceURLs, func(path string) bool {
		if path == flowcontrolv1.NonResourceAll || path == info.Path {
			return true
		}
		directory := strings.TrimSuffix(strings.TrimSuffix(path, "*"), "/")
		below, ok := strings.CutPrefix(info.Path, directory)
		return ok && strings.HasPrefix(below, "/")
	})
}

// has reports whether a list is an asterisk, or has a value.
func has(list []string, value string) bool {
	return len(list) == 1 && list[0] == "*" || slices.Contains(list, value)
}

// entry describes the classification of a request that fits.
func (r *rule) entry(of *Request) Entry {
	e := Entry{
		Schema: ObjectRef{r.schema.Name, r.schema.UID}, Level: r.named, Exempt: r.exempt, Queues: r.queues, Queue: -1,
	}
	if method := r.schema.Spec.DistinguisherMethod; r.flows && method != nil {
		switch method.Type {
		case flowcontrolv1.FlowDistinguisherMethodByUserType:
			e.Flow = of.User.GetName()
		case flowcontrolv1.FlowDistinguisherMethodByNamespaceType:
			e.Flow = of.Info.Namespace
		}
	}
	return e
}

// hash returns the hash of a flow, from which its queues follow. It is that of a Kubernetes API server.
func (r *rule) hash(flow string) uint64 {
	if !r.flows {
		return 0
	}
	var buffer [128]byte
	text := append(append(append(buffer[:0], r.schema.Name...), 0), flow...)
	sum := sha256.Sum256(text)
	return binary.LittleEndian.Uint64(sum[:])
}
