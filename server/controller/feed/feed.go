package feed

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"

	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kx-apiserver/kx/server/controller/work"
	"github.com/kx-apiserver/kx/store/admin"
	"github.com/kx-apiserver/kx/store/backend"
	"github.com/kx-apiserver/kx/store/etcd3"
	"github.com/kx-apiserver/kx/store/transform"
)

// Pair is a key below the prefix, such as configmaps/default/a, with its stored value at a revision.
type Pair struct {
	// Key is the key below the prefix, and Path the whole key.
	Key, Path string
	Value     []byte // nil if the key is gone
	Revision  int64
	// Changed is true for a change, and false for a key found by a look at all keys.
	Changed bool
}

// Name splits a key of a resource into namespace and name. The namespace is empty for cluster-scoped resources.
func (p *Pair) Name(resource schema.GroupResource) (namespace, name string) {
	rest := strings.TrimPrefix(p.Key, backend.ResourcePrefix(resource)+"/")
	if namespace, name, ok := strings.Cut(rest, "/"); ok {
		return namespace, name
	}
	return "", rest
}

// Follower receives keys and values. It may not keep a value.
type Follower interface {
	Begin()
	Put(Pair)
	// End follows the last key of a look, as of a revision.
	End(revision int64)
}

// Feed follows etcd for its followers.
type Feed struct {
	etcd *admin.Live
	// keys are the encryption keys with which followers read values.
	keys *transform.Resources
	// prefix is the common prefix of all keys, with a slash at its end. The feed follows the keys that continue
	// with part.
	prefix    string
	part      string
	log       *slog.Logger
	all       []Follower
	resources map[string][]Follower
	looked    atomic.Bool

	// mu guards revision, up to which the followers have all changes, and more, which is closed when it rises. more is
	// nil while nobody waits for that.
	mu       sync.Mutex
	revision int64
	more     chan struct{}
}

// Looked reports whether all keys have been read once.
func (f *Feed) Looked() bool { return f.looked.Load() }

// Learn returns when the followers have all changes up to a revision, at which a key of the feed was written.
func (f *Feed) Learn(ctx context.Context, revision int64) error {
	for {
		f.mu.Lock()
		reached := f.revision
		if reached >= revision {
			f.mu.Unlock()
			return nil
		}
		if f.more == nil {
			f.more = make(chan struct{})
		}
		more := f.more
		f.mu.Unlock()
		select {
		case <-more:
		case <-ctx.Done():
			return fmt.Errorf("they have seen the changes up to revision %d, not %d: %w", reached, revision, ctx.Err())
		}
	}
}

// reach notes that the followers have all changes up to a revision.
func (f *Feed) reach(revision int64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.revision = max(f.revision, revision)
	if f.more != nil {
		close(f.more)
		f.more = nil
	}
}

// New creates a feed of the keys below the prefix of a decoder, which followers use to read values.
func New(etcd *admin.Live, decoder *admin.Decoder, log *slog.Logger) *Feed {
	return &Feed{
		etcd: etcd, keys: decoder.Encryption, prefix: strings.TrimSuffix(decoder.Prefix, "/") + "/", log: log,
		resources: map[string][]Follower{},
	}
}

// Only limits the feed to keys that begin with part after the prefix. It must not be called after Run.
func (f *Feed) Only(part string) *Feed {
	f.part = part
	return f
}

// Follow adds a follower of resources, or of all if none is named. It must not be called after Run.
func (f *Feed) Follow(to Follower, resources ...schema.GroupResource) {
	f.all = append(f.all, to)
	if len(resources) == 0 {
		f.resources[""] = append(f.resources[""], to)
	}
	for _, r := range resources {
		prefix := backend.ResourcePrefix(r)
		f.resources[prefix] = append(f.resources[prefix], to)
	}
}

// Run reads all keys and then watches them, again and again, until ctx ends. It also reads them again when the
// encryption keys change: values that no follower could read may be readable by then.
func (f *Feed) Run(ctx context.Context) {
	if len(f.all) == 0 {
		return
	}
	var pause work.Backoff
	for ctx.Err() == nil {
		otherKeys := f.keys.Changed()
		revision, err := f.look(ctx)
		if err == nil {
			pause = work.Backoff{}
			err = f.watch(ctx, revision, otherKeys)
		}
		if err != nil && ctx.Err() == nil {
			f.log.Warn("cannot follow what changes in etcd: looking again", "prefix", f.prefix+f.part, "error", err)
		}
		pause.Wait(ctx)
	}
}

func (f *Feed) look(ctx context.Context) (revision int64, err error) {
	defer recoverPanic(&err)
	if revision, err = f.etcd.Revision(ctx); err != nil {
		return 0, err
	}
	for _, to := range f.all {
		to.Begin()
	}
	for kv, err := range f.etcd.Range(ctx, admin.Range{Prefix: f.prefix + f.part, Revision: revision}) {
		if err != nil {
			return 0, err
		}
		f.put(kv.Key, Pair{Value: nonNil(kv.Value), Revision: revision})
	}
	for _, to := range f.all {
		to.End(revision)
	}
	f.looked.Store(true)
	f.reach(revision)
	return revision, nil
}

// watch passes on changes until etcd ends the watch, the connection is lost, or the encryption keys change. On another
// connection the watch would go on as if nothing had happened, but an etcd that was restored from a backup may have
// passed the revision in another way.
func (f *Feed) watch(ctx context.Context, revision int64, otherKeys <-chan struct{}) (err error) {
	defer recoverPanic(&err)
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	ctx = clientv3.WithRequireLeader(etcd3.OnConnection(ctx, "feeds"))
	changes := f.etcd.Client.Watch(ctx, f.prefix+f.part, clientv3.WithPrefix(), clientv3.WithRev(revision+1))
	for {
		select {
		case resp, open := <-changes:
			if !open {
				return ctx.Err()
			}
			if err := resp.Err(); err != nil {
				return err
			}
			f.changed(resp.Events)
		case <-otherKeys:
			return nil
		}
	}
}

func (f *Feed) changed(events []*clientv3.Event) {
	for _, event := range events {
		p := Pair{Value: nonNil(event.Kv.Value), Revision: event.Kv.ModRevision, Changed: true}
		if event.Type == clientv3.EventTypeDelete {
			p.Value = nil
		}
		f.put(string(event.Kv.Key), p)
	}
	if n := len(events); n > 0 {
		f.reach(events[n-1].Kv.ModRevision)
	}
}

// nonNil returns the value of an existing key, never nil. etcd's client returns nil for an empty value.
func nonNil(value []byte) []byte {
	if value == nil {
		return []byte{}
	}
	return value
}

// put passes a key to its followers.
func (f *Feed) put(key string, p Pair) {
	p.Key, p.Path = strings.TrimPrefix(key, f.prefix), key
	for _, to := range f.resources[""] {
		to.Put(p)
	}
	// The prefix of a resource has one part (built-in resources) or two (with the group).
	for at, parts := 0, 0; parts < 2; parts++ {
		next := strings.IndexByte(p.Key[at:], '/')
		if next < 0 {
			return
		}
		at += next
		for _, to := range f.resources[p.Key[:at]] {
			to.Put(p)
		}
		at++
	}
}

// recoverPanic turns a panic, which would end the process, into an error.
func recoverPanic(err *error) {
	if reason := recover(); reason != nil {
		*err = fmt.Errorf("panic: %v\n%s", reason, debug.Stack())
	}
}
