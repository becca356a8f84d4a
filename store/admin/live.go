package admin

import (
	"context"
	"crypto/x509"
	"errors"
	"fmt"
	"iter"
	"os"
	"strings"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	"go.etcd.io/etcd/client/pkg/v3/transport"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"google.golang.org/grpc/status"
)

const (
	connectTimeout = 5 * time.Second

	// pageBytes is the intended size of a page of values. The first page is a guess; each further one is sized by the
	// one before. mostPageValues bounds a page of large values that follow small ones: etcd makes a page as a whole.
	pageBytes      = 4 << 20
	firstPageKeys  = 256
	mostPageKeys   = 10_000
	mostPageValues = 1_000

	// maxSendBytes is more than etcd accepts, so that etcd and not the client refuses large values.
	maxSendBytes = 32 << 20

	// requestTimeout bounds one read: an etcd without a leader never answers a linearizable one.
	requestTimeout = 30 * time.Second

	// progressRetry is the interval of requests for a watch's progress. etcd ignores them while the watch catches up.
	progressRetry = 50 * time.Millisecond
)

// Endpoint says how to reach an etcd.
type Endpoint struct {
	// URLs are client URLs of members, or unix:///path of a socket.
	URLs []string
	// CAFile, CertFile and KeyFile are PEM files.
	CAFile, CertFile, KeyFile string
}

// Live is a running etcd.
type Live struct {
	Client *clientv3.Client
	name   string
	// urls are the members that Status, Defragment and Hashes ask. A Live of NewLive has none.
	urls []string
}

var _ Source = &Live{}

// Connect connects to an etcd, or says why it can't.
func Connect(ctx context.Context, e Endpoint) (*Live, error) {
	name := "etcd at " + strings.Join(e.URLs, ", ")
	config := clientv3.Config{
		Endpoints:          e.URLs,
		DialTimeout:        connectTimeout,
		MaxCallSendMsgSize: maxSendBytes,
		Logger:             zap.NewNop(),
	}
	if e.CAFile != "" {
		// etcd's own reader accepts any file, and then every handshake fails.
		pem, err := os.ReadFile(e.CAFile)
		if err != nil {
			return nil, fmt.Errorf("%s: CA file: %w", name, err)
		}
		if !x509.NewCertPool().AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("%s: CA file %s holds no certificate", name, e.CAFile)
		}
	}
	if e.CAFile != "" || e.CertFile != "" || e.KeyFile != "" {
		info := transport.TLSInfo{CertFile: e.CertFile, KeyFile: e.KeyFile, TrustedCAFile: e.CAFile}
		tls, err := info.ClientConfig()
		if err != nil {
			return nil, fmt.Errorf("%s: TLS files: %w", name, err)
		}
		config.TLS = tls
	}
	client, err := clientv3.New(config)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	l := &Live{Client: client, name: name, urls: e.URLs}
	if err := l.probe(ctx); err != nil {
		_ = client.Close()
		return nil, fmt.Errorf("%s cannot be reached: check that it runs, the URLs and the TLS files: %w", name, err)
	}
	return l, nil
}

// NewLive wraps a client that is connected already. Errors and headings call the etcd name. The Live names no members,
// so Status, Defragment and Hashes return nothing.
func NewLive(client *clientv3.Client, name string) *Live { return &Live{Client: client, name: name} }

// probe asks one member after another until one answers. A member without a leader answers too.
func (l *Live) probe(ctx context.Context) error {
	var errs []error
	for _, url := range l.urls {
		ctx, cancel := context.WithTimeout(ctx, connectTimeout)
		_, err := l.Client.Status(ctx, url)
		cancel()
		if err == nil {
			return nil
		}
		errs = append(errs, fmt.Errorf("%s: %s", url, status.Convert(err).Message()))
	}
	return errors.Join(errs...)
}

func (l *Live) Name() string { return l.name }

func (l *Live) Close() error { return l.Client.Close() }

func (l *Live) Head(ctx context.Context) (Head, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	resp, err := l.Client.Get(ctx, compactRevKey, clientv3.WithKeysOnly())
	if err != nil {
		return Head{}, fmt.Errorf("%s: read the revision: %w", l.Name(), noAnswer(err))
	}
	head := Head{Revision: resp.Header.Revision}
	_, err = l.Client.Get(ctx, compactRevKey, clientv3.WithKeysOnly(), clientv3.WithRev(1))
	if err == nil {
		return head, nil
	} else if !errors.Is(err, rpctypes.ErrCompacted) {
		return Head{}, fmt.Errorf("%s: read the oldest revision: %w", l.Name(), noAnswer(err))
	}
	// Only the error of a watch that starts at a compacted revision names the oldest one.
	for resp := range l.Client.Watch(ctx, compactRevKey, clientv3.WithRev(1)) {
		if resp.CompactRevision > 0 {
			head.Compacted = resp.CompactRevision
			return head, nil
		}
		if err := resp.Err(); err != nil {
			return Head{}, fmt.Errorf("%s: ask for the oldest revision: %w", l.Name(), noAnswer(err))
		}
	}
	return Head{}, fmt.Errorf("%s: ask for the oldest revision: %w", l.Name(), noAnswer(watchEnd(ctx)))
}

// watchEnd says why a watch ended without an error of its own.
func watchEnd(ctx context.Context) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	return errors.New("the connection to etcd was closed")
}

// Revision returns the newest revision, read from a majority of the members.
func (l *Live) Revision(ctx context.Context) (int64, error) {
	resp, err := l.get(ctx, compactRevKey, clientv3.WithCountOnly())
	if err != nil {
		return 0, fmt.Errorf("%s: read the revision: %w", l.Name(), noAnswer(err))
	}
	return resp.Header.Revision, nil
}

func (l *Live) Get(ctx context.Context, key string, revision int64) (*KV, error) {
	resp, err := l.get(ctx, key, clientv3.WithRev(revision))
	if err != nil {
		return nil, readError(key, revision, err)
	}
	if len(resp.Kvs) == 0 {
		return nil, nil
	}
	kv := fromProto(resp.Kvs[0])
	return &kv, nil
}

// Range implements Source. All pages show the revision of the first.
func (l *Live) Range(ctx context.Context, r Range) iter.Seq2[KV, error] {
	return func(yield func(KV, error) bool) {
		from, end := r.Prefix, clientv3.GetPrefixRangeEnd(r.Prefix)
		if r.Prefix == "" {
			from, end = "\x00", "\x00"
		}
		limit := int64(firstPageKeys)
		if r.KeysOnly {
			limit = mostPageKeys
		}
		for revision := r.Revision; ; {
			opts := []clientv3.OpOption{clientv3.WithRange(end), clientv3.WithRev(revision), clientv3.WithLimit(limit)}
			if r.KeysOnly {
				opts = append(opts, clientv3.WithKeysOnly())
			}
			resp, err := l.get(ctx, from, opts...)
			if err != nil {
				yield(KV{}, readError(r.Prefix, revision, err))
				return
			}
			var size int64
			for _, kv := range resp.Kvs {
				size += int64(len(kv.Value))
				if !yield(fromProto(kv), nil) {
					return
				}
			}
			if !resp.More || len(resp.Kvs) == 0 {
				return
			}
			if !r.KeysOnly {
				limit = min(max(pageBytes*int64(len(resp.Kvs))/max(size, 1), 1), mostPageValues)
			}
			from = string(resp.Kvs[len(resp.Kvs)-1].Key) + "\x00"
			if revision == 0 { // the header of a later page has the newest revision, not the page's
				revision = resp.Header.Revision
			}
		}
	}
}

// get reads once, for requestTimeout at most.
func (l *Live) get(ctx context.Context, key string, opts ...clientv3.OpOption) (*clientv3.GetResponse, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	return l.Client.Get(ctx, key, opts...)
}

// History reads the key where history begins, and then watches from there to now.
func (l *Live) History(ctx context.Context, key string) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		head, err := l.Head(ctx)
		if err != nil {
			yield(Event{}, err)
			return
		}
		if head.Compacted > 0 {
			base, err := l.Get(ctx, key, head.Compacted)
			if err != nil {
				yield(Event{}, err)
				return
			}
			if base != nil && !yield(Event{KV: *base}, nil) {
				return
			}
		}
		for e, err := range l.events(ctx, key, head.Compacted+1, head.Revision) {
			if !yield(e, err) {
				return
			}
		}
	}
}

// events streams the changes of a key between two revisions, both included.
func (l *Live) events(ctx context.Context, key string, from, to int64) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		if from > to {
			return
		}
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		events := l.Client.Watch(ctx, key, clientv3.WithRev(from), clientv3.WithCreatedNotify())
		// Without a later change of the key, only a progress notification shows that the watch has reached the end.
		ask := time.NewTicker(progressRetry)
		defer ask.Stop()
		for {
			select {
			case <-ask.C:
				if err := l.Client.RequestProgress(ctx); err != nil {
					yield(Event{}, readError(key, from, err))
					return
				}
			case resp, ok := <-events:
				if !ok {
					yield(Event{}, readError(key, from, watchEnd(ctx)))
					return
				}
				if err := resp.Err(); err != nil {
					yield(Event{}, readError(key, from, err))
					return
				}
				for _, e := range resp.Events {
					if e.Kv.ModRevision > to || !yield(fromEvent(e), nil) {
						return
					}
				}
				if resp.IsProgressNotify() && resp.Header.Revision >= to {
					return
				}
			}
		}
	}
}

// Watch streams the changes at path and below from a revision on, 0 for now, until ctx ends. ready, if not nil, is
// called once no later change can be missed.
func (l *Live) Watch(ctx context.Context, path string, revision int64, ready func()) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		for e, err := range l.WatchPrefix(ctx, path, revision, ready) {
			if err == nil && path != "" && e.Key != path && !strings.HasPrefix(e.Key, strings.TrimSuffix(path, "/")+"/") {
				continue
			}
			if !yield(e, err) {
				return
			}
		}
	}
}

// WatchPrefix is Watch for all keys that begin with prefix, which may end within a name.
func (l *Live) WatchPrefix(ctx context.Context, prefix string, revision int64, ready func()) iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		opts := []clientv3.OpOption{clientv3.WithPrefix(), clientv3.WithRev(revision), clientv3.WithCreatedNotify()}
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		for resp := range l.Client.Watch(clientv3.WithRequireLeader(ctx), prefix, opts...) {
			if err := resp.Err(); err != nil {
				if ctx.Err() == nil {
					yield(Event{}, readError(prefix, revision, err))
				}
				return
			}
			if resp.Created && ready != nil {
				ready()
			}
			for _, e := range resp.Events {
				if !yield(fromEvent(e), nil) {
					return
				}
			}
		}
	}
}

func fromProto(kv *mvccpb.KeyValue) KV {
	return KV{
		Key: string(kv.Key), Value: kv.Value, Lease: kv.Lease,
		CreateRevision: kv.CreateRevision, ModRevision: kv.ModRevision, Version: kv.Version,
	}
}

func fromEvent(e *clientv3.Event) Event {
	return Event{KV: fromProto(e.Kv), Deleted: e.Type == mvccpb.Event_DELETE}
}

// readError says which key could not be read, and what to do if that is known.
func readError(key string, revision int64, err error) error {
	switch {
	case errors.Is(err, rpctypes.ErrCompacted):
		err = fmt.Errorf("revision %d: %w", revision, ErrCompacted)
	case errors.Is(err, rpctypes.ErrFutureRev):
		err = fmt.Errorf("revision %d: %w", revision, ErrFuture)
	}
	if key == "" {
		key = "all keys"
	}
	return fmt.Errorf("read %s: %w", key, noAnswer(err))
}

// noAnswer explains a read that took too long.
func noAnswer(err error) error {
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("no answer in %s, as when a majority of the members does not run (kx etcd status): %w", requestTimeout, err)
	}
	return err
}
