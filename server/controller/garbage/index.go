package garbage

import (
	"crypto/sha256"
	"hash/maphash"
	"iter"
	"slices"
	"strings"

	"github.com/google/uuid"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kx-apiserver/kx/store/admin"
)

// id is a UID in 16 bytes.
type id [16]byte

// idOf returns the bytes of a UUID in its usual form. For any other text, which clients may write into
// references, it returns a hash.
func idOf(uid types.UID) id {
	if u, err := uuid.Parse(string(uid)); err == nil && u.String() == string(uid) {
		return id(u)
	}
	sum := sha256.Sum256([]byte(uid))
	return id(sum[:])
}

// node is an existing object.
type node struct {
	// key is the key below the prefix.
	key    string
	owners []owner
	kind   *schema.GroupKind
	uid    id
	// round is the number of the last look that found it.
	round uint32
	// deleting means that it is being deleted. orphan and foreground then select the treatment of its
	// dependents.
	deleting, orphan, foreground bool
}

// owner is a reference to an owner.
type owner struct {
	uid id
	// name is a hash of its kind and its name.
	name   uint64
	blocks bool
}

// absentOwner describes an owner that is gone. name is a hash of its kind and its name.
type absentOwner struct {
	namespace string
	name      uint64
}

// set is a set of nodes, usually a small one.
type set struct {
	few  []*node
	many map[*node]struct{}
}

// fewMost limits the nodes in the slice.
const fewMost = 16

func (s *set) add(n *node) {
	switch {
	case s.many != nil:
		s.many[n] = struct{}{}
		return
	case len(s.few) < fewMost:
		s.few = append(s.few, n)
		return
	}
	s.many = map[*node]struct{}{n: {}}
	for _, n := range s.few {
		s.many[n] = struct{}{}
	}
	s.few = nil
}

// remove reports whether the set is empty afterwards.
func (s *set) remove(n *node) bool {
	delete(s.many, n)
	for i := range s.few {
		if s.few[i] == n {
			last := len(s.few) - 1
			s.few[i], s.few[last] = s.few[last], nil
			s.few = s.few[:last]
			break
		}
	}
	return len(s.few)+len(s.many) == 0
}

func (s *set) all(yield func(*node) bool) {
	if s == nil {
		return
	}
	for _, n := range s.few {
		if !yield(n) {
			return
		}
	}
	for n := range s.many {
		if !yield(n) {
			return
		}
	}
}

// index holds the existing objects and their owners. The caller holds the controller's mu.
type index struct {
	byKey map[string]*node
	byUID map[id]*node
	// dependents maps the UID of an owner, existing or not, to its dependents.
	dependents map[id]*set
	// gone holds former owners that an object still names.
	gone  map[id]absentOwner
	kinds map[schema.GroupKind]*schema.GroupKind
	seed  maphash.Seed
	// wake is called with possible garbage.
	wake func(n *node)
	// release is called with an owner whose dependents are to be released, and invalid with a reference into
	// another namespace.
	release func(n *node)
	invalid func(n *node, owner id)
}

func newIndex() *index {
	return &index{
		byKey: map[string]*node{}, byUID: map[id]*node{}, dependents: map[id]*set{}, gone: map[id]absentOwner{},
		kinds: map[schema.GroupKind]*schema.GroupKind{}, seed: maphash.MakeSeed(),
	}
}

func (x *index) nameOf(group, kind, name string) uint64 {
	return maphash.Comparable(x.seed, [3]string{group, kind, name})
}

func (x *index) ownersOf(f *storedParts) []owner {
	if len(f.owners) == 0 {
		return nil
	}
	owners := make([]owner, 0, len(f.owners))
	for i := range f.owners {
		r := &f.owners[i]
		owners = append(owners, owner{
			uid: idOf(r.UID), name: x.nameOf(groupOf(r.APIVersion), r.Kind, r.Name), blocks: blocks(r),
		})
	}
	return owners
}

func blocks(r *metav1.OwnerReference) bool {
	return r.BlockOwnerDeletion != nil && *r.BlockOwnerDeletion
}

// groupOf returns the group of an apiVersion.
func groupOf(apiVersion string) string {
	group, _, ok := strings.Cut(apiVersion, "/")
	if !ok {
		return ""
	}
	return group
}

// kindOf returns the shared copy of a kind.
func (x *index) kindOf(f *storedParts) *schema.GroupKind {
	kind := schema.GroupKind{Group: groupOf(f.apiVersion), Kind: f.kind}
	if x.kinds[kind] == nil {
		kind := schema.GroupKind{Group: strings.Clone(kind.Group), Kind: strings.Clone(kind.Kind)}
		x.kinds[kind] = &kind
	}
	return x.kinds[kind]
}

// put stores the present state of a key. Without judge it wakes no object: a first look may find owners after
// their dependents.
func (x *index) put(key string, f *storedParts, round uint32, judge bool) {
	uid := idOf(f.uid)
	n := x.byKey[key]
	if n != nil && n.uid != uid {
		x.remove(key) // its name is used again, and no look came between the two
		n = nil
	}
	fresh := n == nil
	if fresh {
		n = &node{key: strings.Clone(key), uid: uid, kind: x.kindOf(f)}
		x.byKey[n.key] = n
		x.byUID[uid] = n
		delete(x.gone, uid)
	}
	n.round = round
	orphans, waits := f.deleting && f.orphan, f.deleting && f.foreground
	begins := judge && (orphans && !n.orphan || waits && !n.foreground)
	n.deleting, n.orphan, n.foreground = f.deleting, orphans, waits
	changed := x.setOwners(n, x.ownersOf(f))
	if !judge {
		return
	}
	if changed {
		x.check(n)
	}
	if begins {
		x.begin(n)
	}
	if fresh {
		// Dependents that name another kind, name or namespace may have considered it absent, rightly or
		// wrongly.
		for dependent := range x.dependents[uid].all {
			x.checkOwner(dependent, uid)
		}
	}
}

// setOwners reports whether the owners have changed. It wakes owners that waited for this object and no longer
// do.
func (x *index) setOwners(n *node, owners []owner) (changed bool) {
	old := n.owners
	if slices.Equal(old, owners) {
		return false
	}
	n.owners = owners
	for _, o := range old {
		x.forget(n, o.uid)
	}
	for _, o := range owners {
		s := x.dependents[o.uid]
		if s == nil {
			s = &set{}
			x.dependents[o.uid] = s
		}
		if !s.has(n) {
			s.add(n)
		}
	}
	x.tellOwners(old)
	return true
}

// tellOwners wakes the owners in foreground deletion that no dependent blocks any more. It does not wake them
// at each dependent that goes: an owner of thousands would be examined thousands of times.
func (x *index) tellOwners(owners []owner) {
	for _, o := range owners {
		if owner := x.byUID[o.uid]; owner != nil && owner.foreground && !x.blocked(owner) {
			x.wake(owner)
		}
	}
}

func (s *set) has(n *node) bool {
	if _, ok := s.many[n]; ok {
		return true
	}
	for _, m := range s.few {
		if m == n {
			return true
		}
	}
	return false
}

func (x *index) forget(dependent *node, owner id) {
	if s := x.dependents[owner]; s != nil && s.remove(dependent) {
		delete(x.dependents, owner)
		delete(x.gone, owner)
	}
}

// begin wakes the objects that the deletion of n affects.
func (x *index) begin(n *node) {
	if n.orphan {
		x.release(n)
	}
	if n.foreground {
		for dependent := range x.dependents[n.uid].all {
			x.wake(dependent)
		}
		x.wake(n)
	}
}

// check wakes n if one of its owners may be absent, or waits for its dependents to be deleted.
func (x *index) check(n *node) {
	for _, o := range n.owners {
		x.checkOwner(n, o.uid)
	}
}

func (x *index) checkOwner(n *node, uid id) {
	o := x.byUID[uid]
	if o == nil {
		x.wake(n)
		return
	}
	within := namespaceOf(o.key)
	if within != "" && within != namespaceOf(n.key) {
		x.invalid(n, uid)
		x.wake(n)
		return
	}
	if o.foreground {
		x.wake(n)
		return
	}
	actual := x.nameOf(o.kind.Group, o.kind.Kind, nameOf(o.key))
	for _, reference := range n.owners {
		if reference.uid == uid && reference.name != actual {
			x.wake(n)
			return
		}
	}
}

// remove removes a key.
func (x *index) remove(key string) {
	n := x.byKey[key]
	if n == nil {
		return
	}
	delete(x.byKey, key)
	if x.byUID[n.uid] == n {
		delete(x.byUID, n.uid)
	}
	for _, o := range n.owners {
		x.forget(n, o.uid)
	}
	x.tellOwners(n.owners)
	if x.dependents[n.uid] != nil {
		x.gone[n.uid] = absentOwner{strings.Clone(namespaceOf(n.key)), x.nameOf(n.kind.Group, n.kind.Kind, nameOf(n.key))}
	}
	for dependent := range x.dependents[n.uid].all {
		x.wake(dependent)
	}
}

// blocking yields the dependents that block the deletion of n.
func (x *index) blocking(n *node) iter.Seq[*node] {
	return func(yield func(*node) bool) {
		for dependent := range x.dependents[n.uid].all {
			if slices.ContainsFunc(dependent.owners, func(o owner) bool { return o.uid == n.uid && o.blocks }) && !yield(dependent) {
				return
			}
		}
	}
}

func (x *index) blocked(n *node) bool {
	for range x.blocking(n) {
		return true
	}
	return false
}

// locate returns the object of a key below the prefix.
func locate(key string) (admin.Location, bool) { return admin.Locate("", "/"+key) }

func namespaceOf(key string) string {
	l, _ := locate(key)
	return l.Namespace
}

func nameOf(key string) string { return key[strings.LastIndexByte(key, '/')+1:] }
