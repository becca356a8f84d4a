package clusterrole

import (
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/server/builtin/rbac"
	"github.com/kx-apiserver/kx/server/controller/feed"
	"github.com/kx-apiserver/kx/server/controller/work"
)

// Name is what kube-controller-manager calls the controller, the service account that it acts as, and its field manager.
const Name = "clusterrole-aggregation-controller"

// workers is how many roles are worked on at a time, as upstream.
const workers = 5

// Resource is what the controller follows.
var Resource = rbacv1.SchemeGroupVersion.WithResource("clusterroles")

// Controller aggregates cluster roles.
type Controller struct {
	kit   *work.Kit
	roles *work.Objects[*rbacv1.ClusterRole]
	log   *slog.Logger
	loop  *work.Loop[string]

	// known are the roles by name. Only the feed's goroutine uses it.
	known map[string]*role
	round int
}

// role is what is known of a cluster role.
type role struct {
	labels     labels.Set
	selectors  []labels.Selector
	aggregated bool
	round      int
}

// New makes a controller, which does nothing until it runs.
func New(kit *work.Kit) *Controller {
	c := &Controller{
		kit: kit, roles: work.ObjectsOf[*rbacv1.ClusterRole](kit, kit.Writer(Name, Name), Resource), log: kit.Log, known: map[string]*role{},
	}
	c.loop = work.NewLoop(Name, workers, kit.Metrics, kit.Log, c.try)
	return c
}

// Run works until ctx ends.
func (c *Controller) Run(ctx context.Context) { c.loop.Run(ctx) }

// State returns what it is about.
func (c *Controller) State() work.State { return c.loop.State() }

// Begin begins a look at all roles.
func (c *Controller) Begin() { c.round++ }

// End forgets the roles that are gone.
func (c *Controller) End(int64) {
	for name, known := range c.known {
		if known.round != c.round {
			c.forget(name, 0)
		}
	}
}

// Put wakes a role, if it aggregates others, and those that select it.
func (c *Controller) Put(p feed.Pair) {
	_, name := p.Name(Resource.GroupResource())
	if p.Value == nil {
		c.forget(name, p.Revision)
		return
	}
	now, err := work.Value[*rbacv1.ClusterRole](c.kit, p.Key, p.Value)
	was := c.known[name]
	if err != nil {
		c.log.Warn("a cluster role cannot be read: nothing is aggregated until it can be, or is gone", "key", p.Key, "error", err)
		if was != nil {
			was.round = c.round // what was known of it stays
		}
		return
	}
	is := &role{labels: now.Labels, aggregated: now.AggregationRule != nil, round: c.round}
	if is.aggregated {
		is.selectors, _ = selectorsOf(now) // who can't be parsed is told of when it is worked on
	}
	c.known[name] = is
	if is.aggregated {
		c.loop.Add(name, p.Revision)
	}
	c.wake(name, p.Revision, was, is)
}

func (c *Controller) forget(name string, cause int64) {
	was := c.known[name]
	delete(c.known, name)
	c.wake(name, cause, was)
}

// wake wakes the roles that select one by what it was or is.
func (c *Controller) wake(name string, cause int64, states ...*role) {
	for other, known := range c.known {
		if other != name && known.aggregated && slices.ContainsFunc(states, known.selects) {
			c.loop.Add(other, cause)
		}
	}
}

func (r *role) selects(other *role) bool {
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

// try gives a role the rules that it aggregates.
func (c *Controller) try(ctx context.Context, name string, cause int64) error {
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
	rules, of := aggregate(r, selectors, all)
	if apiequality.Semantic.DeepEqual(rules, r.Rules) {
		return nil
	}
	configuration, err := configure(rules)
	if err != nil {
		return err
	}
	// Meanwhile the role may have become one that aggregates nothing, and whose rules are its own.
	return c.roles.Apply(rbac.Unchecked(ctx), r, "", work.Decision{Cause: cause, AsSeen: true, Why: func(step *trace.Step) {
		step.Why(trace.RulesAggregated, int64(of), int64(len(rules)))
	}}, configuration)
}

// Aggregating returns those of some roles that aggregate others, and gives them the rules of these. Each comes after those that it
// aggregates.
func Aggregating(all []*rbacv1.ClusterRole) (aggregating []*rbacv1.ClusterRole, err error) {
	for _, r := range all {
		if r.AggregationRule != nil {
			aggregating = append(aggregating, r)
		}
	}
	// One may aggregate another. Then it has its rules a round later.
	for range aggregating {
		for _, r := range aggregating {
			selectors, err := selectorsOf(r)
			if err != nil {
				return nil, fmt.Errorf("the aggregation rule of the role %s: %w", r.Name, err)
			}
			r.Rules, _ = aggregate(r, selectors, all)
		}
	}
	slices.SortStableFunc(aggregating, func(a, b *rbacv1.ClusterRole) int { return cmp.Compare(len(a.Rules), len(b.Rules)) })
	return aggregating, nil
}

// aggregate returns the rules of all roles that a role selects, and how many these are.
func aggregate(r *rbacv1.ClusterRole, selectors []labels.Selector, all []*rbacv1.ClusterRole) (rules []rbacv1.PolicyRule, of int) {
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

// configure returns what is applied: without rules, nothing, so that the ones applied before go.
func configure(rules []rbacv1.PolicyRule) (map[string]any, error) {
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
