package policy

import (
	_ "embed"
	"fmt"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Policy is a set of roles and bindings, each kind in the order of the text.
type Policy struct {
	ClusterRoles        []*rbacv1.ClusterRole
	ClusterRoleBindings []*rbacv1.ClusterRoleBinding
	Roles               []*rbacv1.Role
	RoleBindings        []*rbacv1.RoleBinding
}

var (
	//go:embed upstream.txt
	upstream string
	//go:embed kx.txt
	own string
)

// Default returns all roles and bindings that every cluster has from its start.
func Default() (*Policy, error) {
	p := &Policy{}
	for _, text := range []string{upstream, own} {
		if err := p.parse(text); err != nil {
			return nil, err
		}
	}
	return p, nil
}

const (
	// bootstrappingLabel marks the objects that a server creates when it starts.
	bootstrappingLabel = "kubernetes.io/bootstrapping"
	descriptionKey     = "kubernetes.io/description"
	aggregatePrefix    = "rbac.authorization.k8s.io/aggregate-to-"
)

// role is a Role or a ClusterRole while it is parsed.
type role struct {
	metav1.ObjectMeta
	kind        string
	rules       []rbacv1.PolicyRule
	aggregation *rbacv1.AggregationRule
}

// parse adds the roles and bindings of a text.
func (p *Policy) parse(text string) error {
	var current *role
	number := 0
	for line := range strings.Lines(text) {
		number++
		line = strings.TrimRight(line, "\n")
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		part, indented := strings.CutPrefix(line, "  ")
		var err error
		switch {
		case !indented:
			p.add(current)
			current, err = header(line)
		case current == nil:
			err = fmt.Errorf("no role begins before it")
		default:
			err = p.read(current, part)
		}
		if err != nil {
			return fmt.Errorf("line %d of the default policy, %q: %w", number, line, err)
		}
	}
	p.add(current)
	return nil
}

// header parses the first line of a role.
func header(line string) (*role, error) {
	word, name, _ := strings.Cut(line, " ")
	switch word {
	case "clusterrole":
		return &role{ObjectMeta: meta("", name), kind: "ClusterRole"}, nil
	case "role":
		namespace, name, ok := strings.Cut(name, "/")
		if !ok {
			return nil, fmt.Errorf("a role has a NAMESPACE/NAME")
		}
		return &role{ObjectMeta: meta(namespace, name), kind: "Role"}, nil
	}
	return nil, fmt.Errorf("%q begins no role", word)
}

func meta(namespace, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace: namespace, Name: name,
		Labels:      map[string]string{bootstrappingLabel: "rbac-defaults"},
		Annotations: map[string]string{rbacv1.AutoUpdateAnnotationKey: "true"},
	}
}

// read parses a line below the first one.
func (p *Policy) read(r *role, line string) error {
	word, rest, _ := strings.Cut(line, " ")
	switch word {
	case "says":
		r.Annotations[descriptionKey] = rest
	case "into":
		r.Labels[aggregatePrefix+rest] = "true"
	case "aggregates":
		r.aggregation = &rbacv1.AggregationRule{ClusterRoleSelectors: []metav1.LabelSelector{
			{MatchLabels: map[string]string{aggregatePrefix + rest: "true"}},
		}}
	case "to":
		return p.bind(r, rest)
	default:
		rule, err := ruleOf(strings.Fields(line))
		r.rules = append(r.rules, rule)
		return err
	}
	return nil
}

// ruleOf parses VERBS RESOURCES [in GROUPS] [named NAMES], or VERBS PATHS.
func ruleOf(words []string) (rbacv1.PolicyRule, error) {
	list := func(word string) []string { return strings.Split(word, ",") }
	if len(words) < 2 || len(words)%2 != 0 {
		return rbacv1.PolicyRule{}, fmt.Errorf("a rule has verbs and what they are for")
	}
	rule := rbacv1.PolicyRule{Verbs: list(words[0])}
	if of := words[1]; strings.HasPrefix(of, "/") || of == "*" && len(words) == 2 {
		rule.NonResourceURLs = list(of)
		return rule, nil
	}
	rule.APIGroups, rule.Resources = []string{""}, list(words[1])
	for words = words[2:]; len(words) > 0; words = words[2:] {
		switch values := list(words[1]); words[0] {
		case "in":
			for i := range values {
				if values[i] == "core" {
					values[i] = ""
				}
			}
			rule.APIGroups = values
		case "named":
			rule.ResourceNames = values
		default:
			return rule, fmt.Errorf("%q is no part of a rule", words[0])
		}
	}
	return rule, nil
}

// bind parses SUBJECTS [by BINDING], and adds the binding of a role.
func (p *Policy) bind(r *role, line string) error {
	text, name, ok := strings.Cut(line, " by ")
	if !ok {
		name = r.Name
	}
	var subjects []rbacv1.Subject
	for one := range strings.SplitSeq(text, ", ") {
		switch kind, name, _ := strings.Cut(one, " "); kind {
		case "nobody":
		case "user":
			subjects = append(subjects, rbacv1.Subject{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: name})
		case "group":
			subjects = append(subjects, rbacv1.Subject{Kind: rbacv1.GroupKind, APIGroup: rbacv1.GroupName, Name: name})
		case "account":
			namespace, name, _ := strings.Cut(name, "/")
			subjects = append(subjects, rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: name})
		default:
			return fmt.Errorf("%q is no kind of subject", kind)
		}
	}
	to := rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: r.kind, Name: r.Name}
	if r.Namespace == "" {
		p.ClusterRoleBindings = append(p.ClusterRoleBindings,
			&rbacv1.ClusterRoleBinding{ObjectMeta: meta("", name), RoleRef: to, Subjects: subjects})
	} else {
		p.RoleBindings = append(p.RoleBindings, &rbacv1.RoleBinding{ObjectMeta: meta(r.Namespace, name), RoleRef: to, Subjects: subjects})
	}
	return nil
}

func (p *Policy) add(r *role) {
	switch {
	case r == nil:
	case r.Namespace == "":
		p.ClusterRoles = append(p.ClusterRoles, &rbacv1.ClusterRole{ObjectMeta: r.ObjectMeta, Rules: r.rules,
			AggregationRule: r.aggregation})
	default:
		p.Roles = append(p.Roles, &rbacv1.Role{ObjectMeta: r.ObjectMeta, Rules: r.rules})
	}
}
