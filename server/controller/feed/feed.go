package feed

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"
	"strings"
	"sync/atomic"

	clientv3 "go.etcd.io/etcd/client/v3"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kx-apiserver/kx/server/controller/work"
	"github.com/kx-apiserver/kx/store/admin"
	"github.com/kx-apiserver/kx/store/backend"
	"github.com/kx-apiserver/kx/store/transform"
)

// Pair is a key below the prefix, such as configmaps/default/a, with what is stored there as of a revision.
type Pair struct {
	Key      string
	Value    []byte // nil if the key is gone
	Revision int64
	// Changed says that a change brought this, and not a look at what is there.
	Changed bool
}

// Name splits a key of a resource into namespace and name. The namespace is empty for resources without.
func (p *Pair) Name(resource schema.GroupResource) (namespace, name string) {
	rest := strings.TrimPrefix(p.Key, backend.ResourcePrefix(resource)+"/")
	if namespace, name, ok := strings.Cut(rest, "/"); ok {
		return namespace, name
	}
	return "", rest
}

// Follower is told of keys and values. It may not keep a value.
type Follower interface {
	Begin()
	Put(Pair)
	// End says that all has been put as of a revision.
	End(revision int64)
}

// Feed follows etcd for its followers.
type Feed struct {
	etcd *admin.Live
	// keys are those with which followers read values.
	keys *transform.Resources
	// prefix begins all keys and ends in a slash, and part is how the rest of those begins that are followed.
	prefix    string
	part      string
	log       *slog.Logger
	all       []Follower
	resources map[string][]Follower
	looked    atomic.Bool
}

// Looked says whether all keys have been looked at once.
func (f *Feed) Looked() bool { return f.looked.Load() }

// New makes a feed of the keys below the prefix of a decoder, by which followers read values.
func New(etcd *admin.Live, decoder *admin.Decoder, log *slog.Logger) *Feed {
	return &Feed{
		etcd: etcd, keys: decoder.Encryption, prefix: strings.TrimSuffix(decoder.Prefix, "/") + "/", log: log,
		resources: map[string][]Follower{},
	}
}

// Only has the feed read nothing but keys whose part after the prefix begins with part. It must not be called after
// Run.
func (f *Feed) Only(part string) *Feed {
	f.part = part
	return f
}

// Follow adds a follower of resources, or of all of them if none is named. It must not be called after Run.
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

// Run looks at all keys and then watches them, again and again, until ctx ends. It looks again when there are other
// keys of encryption: what no follower could read may be readable by then.
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
	defer recovered(&err)
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
		f.put(kv.Key, Pair{Value: stored(kv.Value), Revision: revision})
	}
	for _, to := range f.all {
		to.End(revision)
	}
	f.looked.Store(true)
	return revision, nil
}

// watch tells of changes until etcd ends the watch, or there are other keys.
func (f *Feed) watch(ctx context.Context, revision int64, otherKeys <-chan struct{}) (err error) {
	defer recovered(&err)
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	changes := f.etcd.Client.Watch(clientv3.WithRequireLeader(ctx), f.prefix+f.part, clientv3.WithPrefix(), clientv3.WithRev(revision+1))
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
		p := Pair{Value: stored(event.Kv.Value), Revision: event.Kv.ModRevision, Changed: true}
		if event.Type == clientv3.EventTypeDelete {
			p.Value = nil
		}
		f.put(string(event.Kv.Key), p)
	}
}

// stored is the value of a key that exists. etcd's client has nil for an empty one.
func stored(value []byte) []byte {
	if value == nil {
		return []byte{}
	}
	return value
}

// put tells the followers of a key.
func (f *Feed) put(key string, p Pair) {
	p.Key = strings.TrimPrefix(key, f.prefix)
	for _, to := range f.resources[""] {
		to.Put(p)
	}
	// The prefix of a resource has one part or two: of a built-in one, or with its group.
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

// recovered turns a panic, which would end the process, into an error.
func recovered(err *error) {
	if reason := recover(); reason != nil {
		*err = fmt.Errorf("panic: %v\n%s", reason, debug.Stack())
	}
}
