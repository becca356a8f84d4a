package bootstrap

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync"

	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/component-helpers/auth/rbac/reconciliation"

	"github.com/kx-apiserver/kx/server/authz/policy"
	"github.com/kx-apiserver/kx/server/controller"
)

// writers limits the roles and bindings that are written at a time. etcd syncs its disk once for concurrent
// writes.
const writers = 2

// roles creates the roles and bindings that every cluster has. It adds to existing ones what they lack, unless
// their annotation forbids that, and removes nothing.
func (t *Tasks) roles(ctx context.Context, goOn func()) error {
	if !t.config.Serves(rbacv1.SchemeGroupVersion.WithResource("clusterroles")) {
		return nil
	}
	wanted, err := policy.Default()
	if err != nil {
		return err
	}
	clusterRoles := &cache[reconciliation.RuleOwner]{plural: "clusterroles", empty: func() reconciliation.RuleOwner {
		return reconciliation.ClusterRoleRuleOwner{ClusterRole: &rbacv1.ClusterRole{}}
	}}
	clusterRoleBindings := &cache[reconciliation.RoleBinding]{plural: "clusterrolebindings", empty: func() reconciliation.RoleBinding {
		return reconciliation.ClusterRoleBindingAdapter{ClusterRoleBinding: &rbacv1.ClusterRoleBinding{}}
	}}
	roles := &cache[reconciliation.RuleOwner]{plural: "roles", empty: func() reconciliation.RuleOwner {
		return reconciliation.RoleRuleOwner{Role: &rbacv1.Role{}}
	}}
	roleBindings := &cache[reconciliation.RoleBinding]{plural: "rolebindings", empty: func() reconciliation.RoleBinding {
		return reconciliation.RoleBindingAdapter{RoleBinding: &rbacv1.RoleBinding{}}
	}}
	if err := errors.Join(clusterRoles.list(ctx, t.client), clusterRoleBindings.list(ctx, t.client), roles.list(ctx, t.client),
		roleBindings.list(ctx, t.client)); err != nil {
		return err
	}
	var work []func() error
	for _, r := range wanted.ClusterRoles {
		if r.AggregationRule != nil {
			continue
		}
		work = append(work, clusterRoles.reconcile(reconciliation.ClusterRoleRuleOwner{ClusterRole: r}, reconcileRole))
	}
	for _, b := range wanted.ClusterRoleBindings {
		work = append(work,
			clusterRoleBindings.reconcile(reconciliation.ClusterRoleBindingAdapter{ClusterRoleBinding: b}, reconcileBinding))
	}
	for _, r := range wanted.Roles {
		work = append(work, roles.reconcile(reconciliation.RoleRuleOwner{Role: r}, reconcileRole))
	}
	for _, b := range wanted.RoleBindings {
		work = append(work, roleBindings.reconcile(reconciliation.RoleBindingAdapter{RoleBinding: b}, reconcileBinding))
	}
	err = runParallel(writers, work, goOn)
	aggregating, failed := controller.AggregatingRoles(wanted.ClusterRoles)
	if failed != nil {
		return errors.Join(err, failed)
	}
	// Aggregating roles come after all others, one after the other since some aggregate each other, with the rules
	// that they aggregate: so no client sees them without rules, and the controller that keeps them finds nothing
	// to do. It fills in the rules of existing ones.
	var last []func() error
	for _, r := range aggregating {
		if _, err := clusterRoles.Get("", r.Name); err == nil {
			r.Rules = nil
		}
		last = append(last, clusterRoles.reconcile(reconciliation.ClusterRoleRuleOwner{ClusterRole: r}, reconcileRole))
	}
	err = errors.Join(err, runParallel(1, last, goOn))
	if err == nil && t.config.RolesKnown != nil {
		err = t.config.RolesKnown(ctx) // the next request after readiness needs the roles
	}
	return err
}

func reconcileRole(in *cache[reconciliation.RuleOwner], want reconciliation.RuleOwner) error {
	_, err := (&reconciliation.ReconcileRoleOptions{Role: want, Client: in, Confirm: true}).Run()
	return err
}

func reconcileBinding(in *cache[reconciliation.RoleBinding], want reconciliation.RoleBinding) error {
	_, err := (&reconciliation.ReconcileRoleBindingOptions{RoleBinding: want, Client: in, Confirm: true}).Run()
	return err
}

// runParallel calls all functions of work, some at a time, even if some fail, and calls goOn after each success.
func runParallel(most int, work []func() error, goOn func()) error {
	errs := make([]error, len(work))
	free := make(chan struct{}, most)
	var wg sync.WaitGroup
	for i, do := range work {
		free <- struct{}{}
		wg.Go(func() {
			if errs[i] = do(); errs[i] == nil {
				goOn()
			}
			<-free
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// owner is a role or binding, in the form that the library compares.
type owner interface {
	GetObject() runtime.Object
	GetNamespace() string
	GetName() string
}

// cache holds the objects of one resource. It is the client that the library compares and writes them through,
// and reads all of them once. mu guards there.
type cache[T owner] struct {
	plural string
	// empty returns an object to decode into.
	empty func() T

	ctx    context.Context //nolint:containedctx // the library's interface has none
	client *client

	mu    sync.Mutex
	there map[types.NamespacedName]T
	// unlisted means that an object can't be read, so that there is no list: each object is read when it is
	// needed.
	unlisted bool
}

const rbacPath = "/apis/rbac.authorization.k8s.io/v1/"

// list reads the existing objects, for the calls that follow.
func (k *cache[T]) list(ctx context.Context, c *client) error {
	k.ctx, k.client, k.there = ctx, c, map[types.NamespacedName]T{}
	var list struct{ Items []json.RawMessage }
	err := c.get(ctx, rbacPath+k.plural, &list)
	if k.unlisted = apierrors.IsStoreReadError(err); k.unlisted {
		return nil
	}
	if err != nil {
		return err
	}
	for _, item := range list.Items {
		one := k.empty()
		if err := json.Unmarshal(item, one.GetObject()); err != nil {
			return fmt.Errorf("decode the %s: %w", k.plural, err)
		}
		k.there[nameOf(one)] = one
	}
	return nil
}

func nameOf[T owner](obj T) types.NamespacedName {
	return types.NamespacedName{Namespace: obj.GetNamespace(), Name: obj.GetName()}
}

// attemptsMost limits the comparisons of an object that another client changes meanwhile.
const attemptsMost = 5

// reconcile returns a function that compares one object, and writes it if it lacks anything.
func (k *cache[T]) reconcile(want T, once func(*cache[T], T) error) func() error {
	return func() (err error) {
		for range attemptsMost {
			if err = once(k, want); !apierrors.IsConflict(err) {
				break
			}
		}
		if err != nil {
			return fmt.Errorf("make %s %s: %w", k.plural, nameOf(want), err)
		}
		return nil
	}
}

func (k *cache[T]) path(obj T) string {
	return k.collection(obj.GetNamespace()) + "/" + obj.GetName()
}

func (k *cache[T]) collection(namespace string) string {
	if namespace == "" {
		return rbacPath + k.plural
	}
	return rbacPath + "namespaces/" + namespace + "/" + k.plural
}

// Get returns an object as of its last read.
func (k *cache[T]) Get(namespace, name string) (T, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	obj, ok := k.there[types.NamespacedName{Namespace: namespace, Name: name}]
	if ok {
		return obj, nil
	}
	if !k.unlisted {
		return obj, apierrors.NewNotFound(rbacv1.Resource(k.plural), name)
	}
	obj = k.empty()
	err := k.client.get(k.ctx, k.collection(namespace)+"/"+name, obj.GetObject())
	if err == nil {
		k.there[nameOf(obj)] = obj
	}
	return obj, err
}

// Create creates an object. If another server has created it, the library compares it again.
func (k *cache[T]) Create(obj T) (T, error) {
	err := k.client.create(k.ctx, k.collection(obj.GetNamespace()), obj.GetObject())
	return obj, k.overtaken(obj, err)
}

// Update replaces an object. If another client has changed or deleted it meanwhile, the library compares it
// again.
func (k *cache[T]) Update(obj T) (T, error) {
	err := k.client.update(k.ctx, k.path(obj), obj.GetObject())
	return obj, k.overtaken(obj, err)
}

// Delete deletes an object with this UID.
func (k *cache[T]) Delete(namespace, name string, uid types.UID) error {
	was, err := k.Get(namespace, name)
	if err != nil {
		return err
	}
	err = k.client.do(k.ctx, http.MethodDelete, k.path(was), "application/json",
		&metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &uid}}, nil)
	return k.overtaken(was, err)
}

// overtaken reads an object again if another client was faster, and returns err.
func (k *cache[T]) overtaken(obj T, err error) error {
	if !apierrors.IsAlreadyExists(err) && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		return err
	}
	now := k.empty()
	failed := k.client.get(k.ctx, k.path(obj), now.GetObject())
	k.mu.Lock()
	defer k.mu.Unlock()
	switch {
	case failed == nil:
		k.there[nameOf(obj)] = now
	case apierrors.IsNotFound(failed):
		delete(k.there, nameOf(obj))
	default:
		return failed
	}
	return err
}
