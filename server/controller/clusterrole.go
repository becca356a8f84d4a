package controller

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/server/builtin/rbac"
	"github.com/kx-apiserver/kx/server/controller/feed"
	"github.com/kx-apiserver/kx/server/controller/work"
)

// clusterRoleAggregation copies rules into cluster roles with an aggregation rule, from the roles that they
// select. It applies them with the field manager of upstream's controller, which then owns them.
//
// The controller remembers the labels and selectors of each cluster role, so that a change wakes only the roles
// that select it, or did. That decides only which roles wake: their rules come from the cluster roles that
// exist at that moment. The rules are in the order of the selectors, then of names, each once. A role does not
// aggregate itself. While a cluster role can't be read, or a selector can't be parsed, rules stay unchanged, so
// that none is removed by mistake.
var clusterRoleAggregation = controller{
	name: "clusterrole-aggregation-controller", short: "clusterrole-aggregation", does: "give cluster roles the rules of those they select",
	account: "clusterrole-aggregation-controller", follows: []schema.GroupVersionResource{clusterRoles}, workers: 5,
	make: aggregateClusterRoles,
}

var clusterRoles = rbacv1.SchemeGroupVersion.WithResource("clusterroles")

// roleAggregator writes the rules of aggregated cluster roles.
type roleAggregator struct {
	*work.Loop[string]
	kit   *work.Kit
	roles *work.Objects[*rbacv1.ClusterRole]

	// known holds the roles by name, and round counts the looks at all keys. Only the feed's goroutine uses
	// them.
	known map[string]*knownRole
	round int
}

// knownRole holds the parts of a cluster role that decide about wake-ups.
type knownRole struct {
	labels     labels.Set
	selectors  []labels.Selector
	aggregated bool
	round      int
}

func aggregateClusterRoles(kit *work.Kit, self controller) follower {
	c := &roleAggregator{
		kit: kit, roles: work.ObjectsOf[*rbacv1.ClusterRole](kit, self.writer(kit), clusterRoles), known: map[string]*knownRole{},
	}
	c.Loop = loopOf(kit, self, c.try)
	return c
}

// Begin begins a look at all roles.
func (c *roleAggregator) Begin() { c.round++ }

// End forgets the roles that are gone.
func (c *roleAggregator) End(int64) {
	for name, known := range c.known {
		if known.round != c.round {
			c.forget(name, 0)
		}
	}
}

// Put wakes a role, if it aggregates others, and those that select it.
func (c *roleAggregator) Put(p feed.Pair) {
	_, name := p.Name(clusterRoles.GroupResource())
	if p.Value == nil {
		c.forget(name, p.Revision)
		return
	}
	now, err := work.Value[*rbacv1.ClusterRole](c.kit, p.Key, p.Value)
	was := c.known[name]
	if err != nil {
		c.kit.Log.Warn("a cluster role cannot be read: nothing is aggregated until it can be, or is gone", "key", p.Key, "error", err)
		if was != nil {
			was.round = c.round // the known state stays
		}
		return
	}
	is := &knownRole{labels: now.Labels, aggregated: now.AggregationRule != nil, round: c.round}
	if is.aggregated {
		is.selectors, _ = selectorsOf(now) // try reports selectors that can't be parsed
	}
	c.known[name] = is
	if is.aggregated {
		c.Add(name, p.Revision)
	}
	c.wake(name, p.Revision, was, is)
}

func (c *roleAggregator) forget(name string, cause int64) {
	was := c.known[name]
	delete(c.known, name)
	c.wake(name, cause, was)
}

// wake queues the roles that select another one in one of its states.
func (c *roleAggregator) wake(name string, cause int64, states ...*knownRole) {
	for other, known := range c.known {
		if other != name && known.aggregated && slices.ContainsFunc(states, known.selects) {
			c.Add(other, cause)
		}
	}
}

func (r *knownRole) selects(other *knownRole) bool {
	return other != nil && slices.ContainsFunc(r.selectors, func(s labels.Selector) bool { return s.Matches(other.labels) })
}

func selectorsOf(r *rbacv1.ClusterRole) (all []labels.Selector, err error) {
	for i := range r.AggregationRule.ClusterRoleSelectors {
		selector, err := metav1.LabelSelectorAsSelector(&r.AggregationRule.ClusterRoleSelectors[i])
		if err != nil {
			return all, fmt.Errorf("selector %d of the cluster role %s: %w", i, r.Name, err)
		}
		all = append(all, selector)
	}
	return all, nil
}

var rulesAggregated = trace.Because("rules-aggregated",
	"the {roles} cluster roles that it selects have {rules} rules",
	"它选中的 ClusterRole 共有 {rules} 条规则，来自 {roles} 个 ClusterRole")

// try applies the aggregated rules to a role.
func (c *roleAggregator) try(ctx context.Context, name string, cause int64) error {
	r, found, err := c.roles.Get(ctx, "", name)
	if err != nil || !found || r.AggregationRule == nil {
		return err
	}
	selectors, err := selectorsOf(r)
	if err != nil {
		return err
	}
	all, err := c.roles.List(ctx, "")
	if err != nil {
		return err
	}
	rules, of := aggregateRules(r, selectors, all)
	if apiequality.Semantic.DeepEqual(rules, r.Rules) {
		return nil
	}
	configuration, err := configureRules(rules)
	if err != nil {
		return err
	}
	// Meanwhile the role may have stopped aggregating: then its rules are its own.
	return c.roles.Apply(rbac.SkipCheck(ctx), r, "", work.Decision{Cause: cause, AsSeen: true, Why: func(step *trace.Step) {
		step.Why(rulesAggregated, int64(of), int64(len(rules)))
	}}, configuration)
}

// AggregatingRoles returns the roles among all that aggregate others, and sets their rules. Each comes after
// those that it aggregates.
func AggregatingRoles(all []*rbacv1.ClusterRole) (aggregating []*rbacv1.ClusterRole, err error) {
	for _, r := range all {
		if r.AggregationRule != nil {
			aggregating = append(aggregating, r)
		}
	}
	// One may aggregate another, and then gets its rules a round later.
	for range aggregating {
		for _, r := range aggregating {
			selectors, err := selectorsOf(r)
			if err != nil {
				return nil, fmt.Errorf("the aggregation rule of the role %s: %w", r.Name, err)
			}
			r.Rules, _ = aggregateRules(r, selectors, all)
		}
	}
	slices.SortStableFunc(aggregating, func(a, b *rbacv1.ClusterRole) int { return cmp.Compare(len(a.Rules), len(b.Rules)) })
	return aggregating, nil
}

// aggregateRules returns the rules of all roles that a role selects, and the number of these roles.
func aggregateRules(r *rbacv1.ClusterRole, selectors []labels.Selector, all []*rbacv1.ClusterRole) (rules []rbacv1.PolicyRule, of int) {
	all = slices.Clone(all)
	slices.SortFunc(all, func(a, b *rbacv1.ClusterRole) int { return cmp.Compare(a.Name, b.Name) })
	selected := map[string]bool{}
	for _, selector := range selectors {
		for _, other := range all {
			if other.Name == r.Name || !selector.Matches(labels.Set(other.Labels)) {
				continue
			}
			selected[other.Name] = true
			for _, rule := range other.Rules {
				same := func(known rbacv1.PolicyRule) bool { return apiequality.Semantic.DeepEqual(known, rule) }
				if !slices.ContainsFunc(rules, same) {
					rules = append(rules, rule)
				}
			}
		}
	}
	return rules, len(selected)
}

// configureRules returns the configuration to apply. Without rules it is empty, so that earlier ones are
// removed.
func configureRules(rules []rbacv1.PolicyRule) (map[string]any, error) {
	if len(rules) == 0 {
		return map[string]any{}, nil
	}
	var list []any
	for i := range rules {
		rule, err := runtime.DefaultUnstructuredConverter.ToUnstructured(&rules[i])
		if err != nil {
			return nil, err
		}
		list = append(list, rule)
	}
	return map[string]any{"rules": list}, nil
}
