package rbac

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/component-helpers/auth/rbac/validation"

	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/core/steps"
	"github.com/kx-apiserver/kx/core/trace"
	authzrbac "github.com/kx-apiserver/kx/server/authz/rbac"
	"github.com/kx-apiserver/kx/server/builtin"
	"github.com/kx-apiserver/kx/store"
	"github.com/kx-apiserver/kx/store/registry"
)

// Guard refuses writes by which users would grant permissions, to others or to themselves, that they do not hold.
type Guard struct {
	// Authorizer decides about the verbs escalate and bind.
	Authorizer authorizer.UnconditionalAuthorizer
	// Storage returns the storage of a resource. Guard reads roles and bindings there, in their state at the time of
	// the write.
	Storage func(schema.GroupVersionResource) rest.Storage
}

// grant describes the permissions that a write would grant.
type grant struct {
	resource string
	meta     *metav1.ObjectMeta
	// invalid (optional) returns an error if a binding's reference cannot name a role.
	invalid func() error
	// free reports whether the user may grant anything, and the verb that permits it.
	free func(context.Context) (verb string, ok bool)
	// rules returns the granted rules.
	rules func(context.Context) ([]rbacv1.PolicyRule, error)
	// aggregates is set for a role that takes over the rules of other roles, whatever these are or become.
	aggregates bool
	// same is set for an update that does not change the granted permissions.
	same bool
}

// GuardRoles returns the hooks of a resource of roles. of returns an object's metadata and rules, and whether it
// aggregates.
func GuardRoles[T builtin.Object](g *Guard, resource string, of func(T) (*metav1.ObjectMeta, []rbacv1.PolicyRule, bool)) registry.Hooks {
	return hooks(g, func(obj runtime.Object) grant {
		meta, rules, aggregates := of(obj.(T))
		return grant{
			resource: resource, meta: meta, aggregates: aggregates,
			free:  func(ctx context.Context) (string, bool) { return "escalate", g.mayEscalate(ctx) },
			rules: func(context.Context) ([]rbacv1.PolicyRule, error) { return rules, nil },
		}
	})
}

// GuardBindings returns the hooks of a resource of bindings.
func GuardBindings[T builtin.Object](g *Guard, resource string, parts func(T) binding) registry.Hooks {
	return hooks(g, func(obj runtime.Object) grant {
		b := parts(obj.(T))
		return grant{
			resource: resource, meta: b.Meta,
			invalid: func() error {
				if errs := b.validateRoleKind(); len(errs) > 0 {
					return apierrors.NewInvalid(rbacv1.SchemeGroupVersion.WithKind(b.Kind).GroupKind(), b.Meta.Name, errs)
				}
				return nil
			},
			free:  func(ctx context.Context) (string, bool) { return "bind", g.mayBind(ctx, b.Role) },
			rules: func(ctx context.Context) ([]rbacv1.PolicyRule, error) { return g.rulesOf(ctx, b.Role) },
		}
	})
}

func hooks(g *Guard, of func(runtime.Object) grant) registry.Hooks {
	return registry.Hooks{
		BeginCreate: func(ctx context.Context, obj runtime.Object, _ *metav1.CreateOptions) (registry.FinishFunc, error) {
			return nil, g.check(ctx, of(obj))
		},
		BeginUpdate: func(ctx context.Context, obj, old runtime.Object, _ *metav1.UpdateOptions) (registry.FinishFunc, error) {
			now, was := of(obj), of(old)
			now.aggregates = now.aggregates || was.aggregates
			now.same = builtin.OnlyCollected(obj.(builtin.Object), old.(builtin.Object))
			return nil, g.check(ctx, now)
		},
	}
}

var (
	grantByMasters = trace.Because("grant-by-masters",
		"system:masters may grant everything",
		"system:masters 可以授予任何权限")
	grantChecked = trace.Because("grant-checked",
		"what it aggregates was compared when it was written",
		"它聚合的规则在写入时已经比较过")
	grantSame = trace.Because("grant-same",
		"only owners and finalizers change: nothing more is granted",
		"只改变了所有者和终结器：没有授予更多权限")
	grantFree = trace.Because("grant-free",
		"the user has the verb {verb:word} here: nothing is compared",
		"用户在这里拥有动词 {verb:word}：不作比较")
	grantHeld = trace.Because("grant-held",
		"the user has all {rules} rules that this grants",
		"用户拥有要授予的全部 {rules} 条规则")
	grantLacks = trace.Because("grant-lacks",
		"the user lacks {missing:quote}, which this grants",
		"用户没有要授予的 {missing:quote}")
	grantLacksAll = trace.Because("grant-lacks-all",
		"aggregation may grant everything, which the user does not have",
		"聚合可能授予一切权限，而用户并没有")
	grantNoRole = trace.Because("grant-no-role",
		"the role of the binding cannot be read, so nobody knows what it grants",
		"绑定的角色无法读取，不知道它授予什么")
)

// check refuses a write that grants permissions that the user does not hold.
func (g *Guard) check(ctx context.Context, wanted grant) (err error) {
	ctx, step := trace.Start(ctx, steps.StoreGrant, wanted.meta.Name)
	defer step.End(&err)
	who, ok := request.UserFrom(ctx)
	switch {
	case skipsCheck(ctx):
		step.Why(grantChecked)
		return nil
	case !ok:
		return apierrors.NewForbidden(rbacv1.Resource(wanted.resource), wanted.meta.Name, errors.New("no user on context"))
	case wanted.same:
		step.Why(grantSame)
		return nil
	case slices.Contains(who.GetGroups(), user.SystemPrivilegedGroup):
		step.Why(grantByMasters)
		return nil
	}
	if wanted.invalid != nil {
		if err := wanted.invalid(); err != nil {
			step.Why(grantNoRole)
			return err
		}
	}
	if verb, ok := wanted.free(ctx); ok {
		step.WhyText(grantFree, verb)
		return nil
	}
	rules, err := wanted.rules(ctx)
	if err != nil {
		step.Why(grantNoRole)
		return err
	}
	if n := combinations(rules); n > maxCombinations {
		return apierrors.NewForbidden(rbacv1.Resource(wanted.resource), wanted.meta.Name, fmt.Errorf(
			"the rules have %.0f combinations of group, resource, name and verb to compare with what the user holds, the limit is %d",
			n, maxCombinations))
	}
	namespace, _ := request.NamespaceFrom(ctx)
	held, incomplete := g.userRules(ctx, who, namespace)
	if missing := missingRules(held, rules); len(missing) > 0 {
		step.WhyText(grantLacks, trace.ListOf(missing).Join(" "))
		return apierrors.NewForbidden(rbacv1.Resource(wanted.resource), wanted.meta.Name, refusal(who, missing, incomplete))
	}
	if wanted.aggregates && len(missingRules(held, everything)) > 0 {
		step.Why(grantLacksAll)
		return apierrors.NewForbidden(rbacv1.Resource(wanted.resource), wanted.meta.Name,
			errors.New("must have cluster-admin privileges to use the aggregationRule"))
	}
	step.Why(grantHeld, int64(len(rules)))
	return nil
}

// maxCombinations limits the combinations of group, resource, name and verb in one write: each is compared with all
// permissions of the user, and a few hundred names of each make millions. The limit does not apply to users who may
// escalate or bind.
const maxCombinations = 100_000

// combinations counts the combinations in rules. The number can exceed an integer's range.
func combinations(rules []rbacv1.PolicyRule) (n float64) {
	for i := range rules {
		r := &rules[i]
		verbs := float64(len(r.Verbs))
		n += float64(len(r.APIGroups)) * float64(len(r.Resources)) * float64(max(1, len(r.ResourceNames))) * verbs
		n += float64(len(r.NonResourceURLs)) * verbs
	}
	return n
}

// everything covers all permissions: aggregation may grant any of them.
var everything = []rbacv1.PolicyRule{
	{Verbs: []string{"*"}, APIGroups: []string{"*"}, Resources: []string{"*"}},
	{Verbs: []string{"*"}, NonResourceURLs: []string{"*"}},
}

// missingRules returns the wanted rules that held does not cover, sorted, in the form of a kube-apiserver: with the
// verbs for one resource together.
func missingRules(held, wanted []rbacv1.PolicyRule) []string {
	_, missing := validation.Covers(held, wanted)
	type resource struct{ group, name, object string }
	at := map[resource]int{}
	var merged []rbacv1.PolicyRule
	for _, rule := range missing { // each names one resource, or one path
		if len(rule.NonResourceURLs) == 0 {
			key := resource{group: rule.APIGroups[0], name: rule.Resources[0], object: strings.Join(rule.ResourceNames, "")}
			if i, ok := at[key]; ok {
				merged[i].Verbs = append(slices.Clip(merged[i].Verbs), rule.Verbs...)
				continue
			}
			at[key] = len(merged)
		}
		merged = append(merged, rule)
	}
	var texts []string
	for i := range merged {
		texts = append(texts, text(&merged[i]))
	}
	slices.Sort(texts)
	return slices.Compact(texts)
}

func text(r *rbacv1.PolicyRule) string {
	var parts []string
	for _, field := range []struct {
		name   string
		values []string
	}{
		{"APIGroups", r.APIGroups}, {"Resources", r.Resources}, {"NonResourceURLs", r.NonResourceURLs},
		{"ResourceNames", r.ResourceNames}, {"Verbs", r.Verbs},
	} {
		if len(field.values) > 0 {
			parts = append(parts, fmt.Sprintf("%s:%q", field.name, field.values))
		}
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

// refusal makes the error in the words of a kube-apiserver.
func refusal(who user.Info, missing []string, incomplete error) error {
	message := fmt.Sprintf("user %q (groups=%q) is attempting to grant RBAC permissions not currently held:\n%s",
		who.GetName(), who.GetGroups(), strings.Join(missing, "\n"))
	if incomplete != nil {
		message += fmt.Sprintf("; resolution errors: %v", []error{incomplete})
	}
	return errors.New(message)
}

// mayEscalate reports whether the user has the verb escalate for the role of the request.
func (g *Guard) mayEscalate(ctx context.Context) bool {
	info, ok := request.RequestInfoFrom(ctx)
	if !ok || !info.IsResourceRequest || info.APIGroup != rbacv1.GroupName {
		return false
	}
	return g.may(ctx, authorizer.AttributesRecord{
		Verb: "escalate", APIGroup: info.APIGroup, Resource: info.Resource, Name: info.Name, Namespace: info.Namespace,
	})
}

// mayBind reports whether the user has the verb bind for a role, in the namespace of the request.
func (g *Guard) mayBind(ctx context.Context, to *rbacv1.RoleRef) bool {
	resource, ok := resources[to.Kind]
	namespace, _ := request.NamespaceFrom(ctx)
	return ok && g.may(ctx, authorizer.AttributesRecord{
		Verb: "bind", APIGroup: to.APIGroup, Resource: resource, Name: to.Name, Namespace: namespace,
	})
}

func (g *Guard) may(ctx context.Context, a authorizer.AttributesRecord) bool {
	who, ok := request.UserFrom(ctx)
	if !ok {
		return false
	}
	a.User, a.APIVersion, a.ResourceRequest = who, "*", true
	decision, _, err := g.Authorizer.Authorize(ctx, a)
	return err == nil && decision == authorizer.DecisionAllow
}

// resources maps the kinds of roles to their resources.
var resources = map[string]string{"ClusterRole": "clusterroles", "Role": "roles"}

// rulesOf reads the rules of the role that a binding names. A Role is in the namespace of the request.
func (g *Guard) rulesOf(ctx context.Context, to *rbacv1.RoleRef) (rules []rbacv1.PolicyRule, err error) {
	switch to.Kind {
	case "ClusterRole":
		inCluster := request.WithNamespace(ctx, metav1.NamespaceNone)
		err = withRole(inCluster, g, to, func(r *rbacv1.ClusterRole) { rules = r.Rules })
	case "Role":
		err = withRole(ctx, g, to, func(r *rbacv1.Role) { rules = r.Rules })
	default:
		err = fmt.Errorf("unsupported role reference kind: %q", to.Kind)
	}
	return rules, err
}

// userRules returns the rules that a user holds in a namespace and in the cluster. If it returns an error, the rules
// are incomplete.
func (g *Guard) userRules(ctx context.Context, who user.Info, namespace string) ([]rbacv1.PolicyRule, error) {
	ctx = trace.WithoutRecording(store.WithAside(ctx))
	inCluster := request.WithNamespace(ctx, metav1.NamespaceNone)
	var all []authzrbac.Change
	errs := []error{
		each(inCluster, g, "clusterroles", func(r *rbacv1.ClusterRole) {
			all = append(all, authzrbac.Change{Kind: authzrbac.ClusterRole, Name: r.Name, Rules: r.Rules})
		}),
		each(inCluster, g, "clusterrolebindings", func(b *rbacv1.ClusterRoleBinding) {
			all = append(all, authzrbac.Change{Kind: authzrbac.ClusterRoleBinding, Name: b.Name, To: b.RoleRef, Subjects: b.Subjects})
		}),
	}
	if namespace != metav1.NamespaceNone {
		errs = append(errs, each(ctx, g, "roles", func(r *rbacv1.Role) {
			all = append(all, authzrbac.Change{Kind: authzrbac.Role, Namespace: r.Namespace, Name: r.Name, Rules: r.Rules})
		}), each(ctx, g, "rolebindings", func(b *rbacv1.RoleBinding) {
			all = append(all,
				authzrbac.Change{Kind: authzrbac.RoleBinding, Namespace: b.Namespace, Name: b.Name, To: b.RoleRef, Subjects: b.Subjects})
		}))
	}
	roles := authzrbac.New()
	roles.Replace(all)
	rules, err := roles.Rules(ctx, who, namespace)
	return rules, errors.Join(append(errs, err)...)
}

// withRole calls do with the role that a binding names, in the namespace of ctx.
func withRole[T builtin.Object](ctx context.Context, g *Guard, to *rbacv1.RoleRef, do func(T)) error {
	resource := resources[to.Kind]
	role, err := builtin.Get[T](ctx, g.Storage(rbacv1.SchemeGroupVersion.WithResource(resource)), to.Name, &metav1.GetOptions{})
	switch {
	case errors.Is(err, builtin.ErrNotServed):
		return apierrors.NewNotFound(rbacv1.Resource(resource), to.Name)
	case err == nil:
		do(role)
	}
	return err
}

// each calls do with each object of a resource in the namespace of ctx.
func each[T builtin.Object](ctx context.Context, g *Guard, resource string, do func(T)) error {
	all, err := builtin.List[T](ctx, g.Storage(rbacv1.SchemeGroupVersion.WithResource(resource)), &metainternalversion.ListOptions{})
	if errors.Is(err, builtin.ErrNotServed) {
		return nil
	}
	for _, obj := range all {
		do(obj)
	}
	return err
}

type uncheckedKey struct{}

// SkipCheck returns a context whose writes check does not examine. It is for the controller that aggregates cluster
// roles, which copies only rules that were checked already.
func SkipCheck(ctx context.Context) context.Context {
	return context.WithValue(ctx, uncheckedKey{}, true)
}

func skipsCheck(ctx context.Context) bool { return ctx.Value(uncheckedKey{}) != nil }
