package roles

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"strings"
	"sync"

	clientv3 "go.etcd.io/etcd/client/v3"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kx-apiserver/kx/core/escape"
	"github.com/kx-apiserver/kx/server/authz/rbac"
	"github.com/kx-apiserver/kx/server/builtin/scheme"
	"github.com/kx-apiserver/kx/server/controller/feed"
	"github.com/kx-apiserver/kx/store/admin"
	"github.com/kx-apiserver/kx/store/backend"
)

// Keeper passes roles and bindings from etcd to an authorizer.
type Keeper struct {
	to      *rbac.Authorizer
	etcd    *admin.Live
	decoder *admin.Decoder
	log     *slog.Logger
	feeds   []*feed.Feed
	// wake holds at most one signal that there are changes to pass on.
	wake chan struct{}

	// told is true once the authorizer has got everything. Only Run uses it.
	told bool

	// mu guards the fields below it.
	mu      sync.Mutex
	changes []rbac.Change
	missing int // resources that have not been read yet
	// seen and known map each part of resources to a revision: seen to the latest one of the changes so far, known to
	// the latest one that the authorizer has. progress closes when known grows.
	seen, known map[string]int64
	progress    chan struct{}
}

// resources maps the prefix of their keys to the kinds that are followed.
var resources = map[string][]rbac.Kind{
	"clusterrole": {rbac.ClusterRole, rbac.ClusterRoleBinding},
	"role":        {rbac.Role, rbac.RoleBinding},
}

func resourceOf(kind rbac.Kind) schema.GroupResource {
	return rbacv1.Resource([...]string{"clusterroles", "roles", "clusterrolebindings", "rolebindings"}[kind])
}

// New returns a keeper that does nothing until Run.
func New(to *rbac.Authorizer, etcd *admin.Live, decoder *admin.Decoder, log *slog.Logger) (*Keeper, error) {
	k := &Keeper{
		to: to, etcd: etcd, decoder: decoder, log: log, wake: make(chan struct{}, 1),
		seen: map[string]int64{}, known: map[string]int64{}, progress: make(chan struct{}),
	}
	for part, kinds := range resources {
		from := feed.New(etcd, decoder, log).Only(part)
		for _, kind := range kinds {
			f, err := k.follower(part, kind)
			if err != nil {
				return nil, err
			}
			from.Follow(f, resourceOf(kind))
			k.missing++
		}
		k.feeds = append(k.feeds, from)
	}
	return k, nil
}

// Run follows etcd until ctx ends.
func (k *Keeper) Run(ctx context.Context) {
	var running sync.WaitGroup
	defer running.Wait()
	for _, from := range k.feeds {
		running.Go(func() { from.Run(ctx) })
	}
	for {
		select {
		case <-k.wake:
			k.tell()
		case <-ctx.Done():
			return
		}
	}
}

// tell passes all pending changes on.
func (k *Keeper) tell() {
	k.mu.Lock()
	changes, seen := k.changes, maps.Clone(k.seen)
	if k.missing == 0 {
		k.changes = nil
	}
	early := k.missing > 0
	k.mu.Unlock()
	switch {
	case early:
		return
	case k.told && len(changes) == 0:
	case k.told:
		k.to.Apply(changes)
	default:
		k.to.Replace(changes)
		k.told = true
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.known = seen
	close(k.progress)
	k.progress = make(chan struct{})
}

// Ready returns an error until the authorizer has all roles and bindings that etcd had at the start.
func (k *Keeper) Ready(context.Context) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.known) == 0 {
		return errors.New("roles and bindings have not been read yet")
	}
	return nil
}

// Await waits until the authorizer has all roles and bindings that etcd has now.
func (k *Keeper) Await(ctx context.Context) error {
	for part, kinds := range resources {
		for _, kind := range kinds {
			revision, err := k.newest(ctx, kind)
			if err != nil {
				return fmt.Errorf("ask etcd for the newest role: %w", err)
			}
			if err := k.await(ctx, part, revision); err != nil {
				return err
			}
		}
	}
	return nil
}

// newest returns the revision of a kind's newest object, or 0. It asks only for the keys of this
// resource: those of a custom resource whose group begins with "role" have the same first letters, and no follower.
func (k *Keeper) newest(ctx context.Context, kind rbac.Kind) (int64, error) {
	prefix := strings.TrimSuffix(k.decoder.Prefix, "/") + "/" + backend.ResourcePrefix(resourceOf(kind)) + "/"
	found, err := k.etcd.Client.Get(ctx, prefix, clientv3.WithPrefix(), clientv3.WithKeysOnly(), clientv3.WithLimit(1),
		clientv3.WithSort(clientv3.SortByModRevision, clientv3.SortDescend))
	if err != nil || len(found.Kvs) == 0 {
		return 0, err
	}
	return found.Kvs[0].ModRevision, nil
}

func (k *Keeper) await(ctx context.Context, part string, revision int64) error {
	for {
		k.mu.Lock()
		known, progress := k.known[part], k.progress
		k.mu.Unlock()
		if known >= revision {
			return nil
		}
		select {
		case <-progress:
		case <-ctx.Done():
			return fmt.Errorf("wait until roles and bindings are known: %w", context.Cause(ctx))
		}
	}
}

// add queues changes up to a revision of a part. looked is true if they are the last ones of the first pass over a
// resource.
func (k *Keeper) add(part string, revision int64, looked bool, changes ...rbac.Change) {
	k.mu.Lock()
	k.changes = append(k.changes, changes...)
	k.seen[part] = max(k.seen[part], revision)
	if looked {
		k.missing--
	}
	k.mu.Unlock()
	select {
	case k.wake <- struct{}{}:
	default: // it is awake
	}
}

type name struct{ namespace, name string }

// follower follows one resource.
type follower struct {
	keeper *Keeper
	part   string
	kind   rbac.Kind
	codec  runtime.Codec
	// names holds the existing objects, with false for those that the current pass has not read yet. Only the feed's
	// goroutine uses it.
	names  map[name]bool
	looked bool
}

func (k *Keeper) follower(part string, kind rbac.Kind) (*follower, error) {
	codec, err := scheme.StorageCodec(resourceOf(kind), runtime.ContentTypeProtobuf)
	return &follower{keeper: k, part: part, kind: kind, codec: codec, names: map[name]bool{}}, err
}

// Begin begins a pass over all objects.
func (f *follower) Begin() {
	for n := range f.names {
		f.names[n] = false
	}
}

// Put queues the change or the deletion of an object.
func (f *follower) Put(p feed.Pair) {
	var n name
	n.namespace, n.name = p.Name(resourceOf(f.kind))
	c := rbac.Change{Kind: f.kind, Namespace: n.namespace, Name: n.name, Gone: p.Value == nil}
	if c.Gone {
		delete(f.names, n)
	} else {
		f.names[n] = true
		if err := f.read(&p, &c); err != nil {
			c.Damaged = true
			f.keeper.log.Error("a role or binding cannot be read: it allows nothing until it can be, or is gone",
				"key", escape.Line(p.Key), "error", escape.Line(err.Error()))
		}
	}
	// A pass gets its revision only at its end, because objects that it reads later may be as new.
	revision := int64(0)
	if p.Changed {
		revision = p.Revision
	}
	f.keeper.add(f.part, revision, false, c)
}

// End queues the deletion of the objects that the pass has not read.
func (f *follower) End(revision int64) {
	var gone []rbac.Change
	for n, there := range f.names {
		if !there {
			delete(f.names, n)
			gone = append(gone, rbac.Change{Kind: f.kind, Namespace: n.namespace, Name: n.name, Gone: true})
		}
	}
	f.keeper.add(f.part, revision, !f.looked, gone...)
	f.looked = true
}

// read decodes an object.
func (f *follower) read(p *feed.Pair, c *rbac.Change) error {
	plain, _, err := f.keeper.decoder.Plain(p.Path, p.Value)
	if err != nil {
		return err
	}
	obj, err := runtime.Decode(f.codec, plain)
	if err != nil {
		return err
	}
	var kind rbac.Kind
	switch o := obj.(type) {
	case *rbacv1.ClusterRole:
		kind, c.Rules = rbac.ClusterRole, o.Rules
	case *rbacv1.Role:
		kind, c.Rules = rbac.Role, o.Rules
	case *rbacv1.ClusterRoleBinding:
		kind, c.To, c.Subjects = rbac.ClusterRoleBinding, o.RoleRef, o.Subjects
	case *rbacv1.RoleBinding:
		kind, c.To, c.Subjects = rbac.RoleBinding, o.RoleRef, o.Subjects
	default:
		return fmt.Errorf("there is a %T where a %v must be", obj, f.kind)
	}
	if kind != f.kind {
		return fmt.Errorf("there is a %v where a %v must be", kind, f.kind)
	}
	return nil
}
