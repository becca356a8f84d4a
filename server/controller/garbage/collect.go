package garbage

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sync/errgroup"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kx-apiserver/kx/core/trace"
)

var (
	// errUnserved means that the kind of an owner is not served at present.
	errUnserved = errors.New("no resource of this kind is served")
	// errChanged means that an object has changed since it was judged.
	errChanged = errors.New("the object has changed since it was looked at")
	// errUnreadable means that a stored value can't be read.
	errUnreadable = errors.New("the stored value can't be read")
	// errNever means that a reference is invalid, and will be at every look.
	errNever = errors.New("no such owner can be")
)

// object is an object in its present state.
type object struct {
	*storedParts
	*target
	namespace, name string
	key             string
	revision        int64
	// cause is the revision that caused the look, 0 if it is unknown.
	cause int64
}

// read reads the value of a key below the prefix from etcd; nil if there is none.
func (c *Controller) read(ctx context.Context, key string) (*storedParts, int64, error) {
	kv, err := c.etcd.Get(ctx, c.prefix+key, 0)
	if err != nil || kv == nil {
		return nil, 0, err
	}
	f, err := scan(c.decoder, kv.Key, kv.Value)
	if err != nil {
		return nil, 0, fmt.Errorf("%s: %w: %w", kv.Key, errUnreadable, err)
	}
	return f, kv.ModRevision, nil
}

// readPresent reads the object with a UID, nil if it is no longer at its key.
func (c *Controller) readPresent(ctx context.Context, uid id, key string, cause int64) (*object, error) {
	f, revision, err := c.read(ctx, key)
	if err != nil || f == nil || idOf(f.uid) != uid {
		return nil, err
	}
	t := c.targets.find(c.storages, key)
	if t == nil {
		return nil, fmt.Errorf("%s: %w", key, errUnserved)
	}
	l, _ := locate(key)
	return &object{storedParts: f, target: t, namespace: l.Namespace, name: l.Name, key: key, revision: revision, cause: cause}, nil
}

var (
	ownersGone = trace.Because("owners-gone",
		"owners that it names: {owners}; owners that stay: 0",
		"它引用的属主：{owners} 个；会留下的属主：0 个")
	ownersWait = trace.Because("owners-wait",
		"an owner that is being deleted waits until it is gone: its own dependents go first",
		"正在删除的属主在等它消失；它自己的从属对象先删")
	referencesDropped = trace.Because("references-dropped",
		"it keeps an owner that exists, and loses the references to {gone} that don't, or wait for it",
		"它还有存在的属主；去掉对另外 {gone} 个不存在或在等它的属主的引用")
	dependentsGone = trace.Because("dependents-gone",
		"no dependent is left that blocks its deletion",
		"没有从属对象再阻塞它的删除")
)

// collect deletes the object with a UID if it is garbage.
func (c *Controller) collect(ctx context.Context, uid id, cause int64) error {
	c.mu.Lock()
	n := c.index.byUID[uid]
	if n == nil || n.deleting && !n.foreground {
		c.mu.Unlock()
		return nil // its dependents are woken when it goes
	}
	if c.untold[uid] != nil && len(c.untold) <= mostUntold {
		c.mu.Unlock()
		return nil // told queues it again
	}
	key, waits := n.key, n.foreground
	blocked, dependents, circle := false, false, false
	if waits {
		for dependent := range c.index.blocking(n) {
			blocked = true
			if !dependent.foreground {
				c.loop.Add(task{collect, dependent.uid, id{}}, cause)
			}
		}
	}
	for dependent := range c.index.dependents[uid].all {
		dependents = true
		circle = circle || dependent.foreground
	}
	c.mu.Unlock()
	if blocked {
		return nil
	}
	o, err := c.readPresent(ctx, uid, key, cause)
	switch {
	case err != nil || o == nil:
		return err
	case waits:
		return c.removeFinalizer(ctx, o, metav1.FinalizerDeleteDependents, newDecision(dependentsGone))
	case len(o.owners) == 0:
		return nil
	}
	solid, dangling, waiting, err := c.classify(ctx, o)
	if errors.Is(err, errNever) {
		c.log.Debug("an object names an owner that can't be one", "key", key, "reason", err)
		return nil
	}
	switch {
	case err != nil:
		return err
	case solid && len(dangling)+len(waiting) == 0:
		return nil
	case solid:
		// An owner that waits for its dependents would otherwise wait for this one for ever.
		return c.dropOwners(ctx, o, append(dangling, waiting...), newDecision(referencesDropped, len(dangling)+len(waiting)))
	case len(waiting) > 0 && dependents:
		if circle {
			if err := c.unblock(ctx, o); err != nil {
				return err
			}
		}
		return c.remove(ctx, o, metav1.DeletePropagationForeground, newDecision(ownersWait))
	}
	policy := metav1.DeletePropagationBackground
	switch {
	case o.orphan:
		policy = metav1.DeletePropagationOrphan
	case o.foreground:
		policy = metav1.DeletePropagationForeground
	}
	return c.remove(ctx, o, policy, newDecision(ownersGone, len(o.owners)))
}

// decision tells the first step of a write why the write was decided.
type decision func(*trace.Step)

func newDecision(reason trace.Reason, numbers ...int) decision {
	return func(step *trace.Step) {
		if len(numbers) == 0 {
			step.Why(reason)
			return
		}
		step.Why(reason, int64(numbers[0]))
	}
}

// classify examines the owners of an object. solid reports whether any owner exists and stays. dangling lists
// those that do not exist, and waiting those that wait for their dependents to be deleted.
func (c *Controller) classify(ctx context.Context, o *object) (solid bool, dangling, waiting []types.UID, err error) {
	for i := range o.owners {
		r := &o.owners[i]
		owner, err := c.ownerOf(ctx, o, r)
		switch {
		case err != nil:
			return false, nil, nil, fmt.Errorf("%s: the owner %s %s: %w", o.key, r.Kind, r.Name, err)
		case owner == nil:
			dangling = append(dangling, r.UID)
		case owner.deleting && owner.foreground:
			waiting = append(waiting, r.UID)
		default:
			solid = true
		}
	}
	return solid, dangling, waiting, nil
}

// ownerOf returns an owner, nil if there is none.
func (c *Controller) ownerOf(ctx context.Context, o *object, r *metav1.OwnerReference) (*storedParts, error) {
	t := c.targets.ofKind(c.storages, schema.FromAPIVersionAndKind(r.APIVersion, r.Kind))
	switch {
	case t == nil && c.hasGone(o, r):
		return nil, nil
	case t == nil:
		return nil, errUnserved
	case t.namespaced && o.namespace == "":
		return nil, fmt.Errorf("%w: it would be in a namespace, and the object is in none", errNever)
	case strings.Contains(r.Name, "/"):
		return nil, nil // no object can have this name, and its key would be another object's
	}
	key := t.key(o.namespace, r.Name)
	if c.absent.has(key, r.UID) && !c.exists(r.UID) {
		return nil, nil
	}
	owner, _, err := c.read(ctx, key)
	if err == nil && (owner == nil || owner.uid != r.UID) {
		c.absent.add(key, r.UID)
		return nil, nil
	}
	return owner, err
}

// hasGone reports whether the watch has seen an owner go whose kind is no longer served. That needs no
// knowledge of the kind.
func (c *Controller) hasGone(o *object, r *metav1.OwnerReference) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	was, ok := c.index.gone[idOf(r.UID)]
	return ok && was.name == c.index.nameOf(groupOf(r.APIVersion), r.Kind, r.Name) && (was.namespace == "" || was.namespace == o.namespace)
}

// exists reports whether the watch has seen an object with a UID, and not its end.
func (c *Controller) exists(uid types.UID) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.index.byUID[idOf(uid)] != nil
}

// absent remembers owners that are gone. A UID comes back only by a rewind, and then the index has it. mu guards known.
type absent struct {
	mu    sync.Mutex
	known map[string]types.UID
}

// absentMost limits the remembered owners.
const absentMost = 500

func (a *absent) has(key string, uid types.UID) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	known, ok := a.known[key]
	return ok && known == uid
}

func (a *absent) add(key string, uid types.UID) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.known == nil || len(a.known) >= absentMost {
		a.known = map[string]types.UID{}
	}
	a.known[key] = uid
}

var (
	ownerLeaves = trace.Because("owner-leaves", "its owner is deleted without it", "它的属主被删除，但保留它")
	nobodyLeft  = trace.Because("nobody-left",
		"nobody names it as an owner any more",
		"不再有对象把它作为属主")
)

// release drops the references to an object that is being deleted with the finalizer orphan, and then removes
// the finalizer.
func (c *Controller) release(ctx context.Context, uid id, cause int64) error {
	c.mu.Lock()
	n := c.index.byUID[uid]
	if n == nil || !n.orphan {
		c.mu.Unlock()
		return nil
	}
	key := n.key
	var dependents []node
	for dependent := range c.index.dependents[uid].all {
		dependents = append(dependents, node{key: dependent.key, uid: dependent.uid})
	}
	c.mu.Unlock()
	owner, err := c.readPresent(ctx, uid, key, cause)
	if err != nil || owner == nil {
		return err
	}
	var group errgroup.Group
	group.SetLimit(mostAtOnce)
	for _, d := range dependents {
		group.Go(func() error {
			dependent, err := c.readPresent(ctx, d.uid, d.key, cause)
			if err != nil || dependent == nil {
				return err
			}
			return c.dropOwners(ctx, dependent, []types.UID{owner.uid}, newDecision(ownerLeaves))
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	return c.removeFinalizer(ctx, owner, metav1.FinalizerOrphanDependents, newDecision(nobodyLeft))
}

// remove deletes an object in the state in which it was judged. If it has changed, it is still deleted if its
// owners are the same.
func (c *Controller) remove(ctx context.Context, o *object, policy metav1.DeletionPropagation, why decision) error {
	err := c.delete(ctx, o, policy, true, why)
	if err == nil {
		return nil
	}
	if !apierrors.IsConflict(err) && !apierrors.IsNotFound(err) {
		return err
	}
	latest, readErr := c.readPresent(ctx, idOf(o.uid), o.key, o.cause)
	switch {
	case readErr != nil || latest == nil:
		return readErr
	case apierrors.IsConflict(err) && apiequality.Semantic.DeepEqual(latest.owners, o.owners):
		err = c.delete(ctx, o, policy, false, why)
	}
	if apierrors.IsConflict(err) || apierrors.IsNotFound(err) {
		return errChanged // or whatever serves it has
	}
	return err
}

// dropOwners removes references from an object.
func (c *Controller) dropOwners(ctx context.Context, o *object, gone []types.UID, why decision) error {
	return c.update(ctx, o, why, func(m metav1.Object) (changed bool) {
		owners := m.GetOwnerReferences()
		left := slices.DeleteFunc(slices.Clone(owners), func(r metav1.OwnerReference) bool { return slices.Contains(gone, r.UID) })
		m.SetOwnerReferences(left)
		return len(left) < len(owners)
	})
}

var ownersUnblocked = trace.Because("owners-unblocked",
	"its owners wait for it and it waits for them: it blocks them no longer",
	"它的属主在等它，它也在等属主：不再阻塞它们")

// unblock makes an object stop blocking the deletion of its owners.
func (c *Controller) unblock(ctx context.Context, o *object) error {
	return c.update(ctx, o, newDecision(ownersUnblocked), func(m metav1.Object) (changed bool) {
		owners := slices.Clone(m.GetOwnerReferences())
		for i := range owners {
			if blocks(&owners[i]) {
				owners[i].BlockOwnerDeletion, changed = new(false), true
			}
		}
		m.SetOwnerReferences(owners)
		return changed
	})
}

func (c *Controller) removeFinalizer(ctx context.Context, o *object, finalizer string, why decision) error {
	return c.update(ctx, o, why, func(m metav1.Object) (changed bool) {
		finalizers := m.GetFinalizers()
		left := slices.DeleteFunc(slices.Clone(finalizers), func(f string) bool { return f == finalizer })
		m.SetFinalizers(left)
		return len(left) < len(finalizers)
	})
}
