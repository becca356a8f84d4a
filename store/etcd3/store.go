package etcd3

import (
	"context"
	"errors"
	"fmt"
	"path"
	"strings"
	"sync/atomic"

	"go.etcd.io/etcd/client/v3/kubernetes"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/kx-apiserver/kx/core/object"
	"github.com/kx-apiserver/kx/core/steps"
	"github.com/kx-apiserver/kx/core/trace"
	storage "github.com/kx-apiserver/kx/store"
	"github.com/kx-apiserver/kx/store/etcd3/metrics"
	"github.com/kx-apiserver/kx/store/transform"
)

// Options configure a store.
type Options struct {
	// Client is etcd. Give each store one of its own: a progress request is lost while any watch on the same client
	// catches up. [NewClient] makes one of a clientv3.Client.
	Client *kubernetes.Client
	// Compactor reports compacted revisions; nil reports none. It belongs to the caller.
	Compactor Compactor

	// Codec encodes objects into their storage version and decodes them.
	Codec runtime.Codec
	// NewFunc makes an empty object of the resource.
	NewFunc func() runtime.Object
	// Prefix begins all keys in etcd, normally "/registry".
	Prefix string
	// ResourcePrefix begins all keys that the store is called with, such as "/configmaps/". It begins with a slash.
	ResourcePrefix string
	// GroupResource is for metrics and messages.
	GroupResource schema.GroupResource

	// Transformer changes the bytes on their way to and from etcd; nil stores them as they are.
	Transformer transform.Transformer
	// Leases say how objects with a TTL share leases; the zero value shares none for longer than it must.
	Leases LeaseManagerConfig
	// Decoder makes objects of bytes; nil is [NewDefaultDecoder] of Codec and Versioner.
	Decoder Decoder
	// Versioner keeps revisions in objects; nil is object.APIObjectVersioner.
	Versioner storage.Versioner

	// Gate is passed by each write, for all storages of a server; nil makes one of this store alone.
	Gate *Gate
	// Metrics count for all storages of a server; nil makes unregistered metrics of this store alone.
	Metrics *metrics.Metrics
	// Forms bound the bytes that encoders leave with objects, for all storages of a server; nil bounds this store's
	// alone.
	Forms *object.Forms
}

// NewClient makes of an etcd client what [Options] want.
func NewClient(client *clientv3.Client) *kubernetes.Client {
	c := &kubernetes.Client{Client: client}
	c.Kubernetes = c
	return c
}

type store struct {
	kv            *kv
	metrics       *metrics.Resource
	revisions     revisionReader
	codec         runtime.Codec
	decoder       Decoder
	versioner     storage.Versioner
	transformer   transform.Transformer
	newFunc       func() runtime.Object
	groupResource schema.GroupResource
	leases        *leaseManager
	compactor     Compactor

	// pathPrefix is the options' Prefix with a slash at both ends.
	pathPrefix     string
	resourcePrefix string

	// format is the stored form of objects here.
	format *object.Format
	// onWrite, if set, is called with each object that this process writes.
	onWrite atomic.Pointer[func(context.Context, *object.Encoded)]

	estimator atomic.Pointer[resourceSizeEstimator]
	pages     pages
}

var _ storage.Interface = (*store)(nil)

// New returns a store. The caller closes it after its last use; the client and the compactor stay the caller's.
func New(o Options) (*store, error) {
	switch {
	case o.Client == nil:
		return nil, errors.New("etcd3: no client given")
	case o.Codec == nil || o.NewFunc == nil:
		return nil, fmt.Errorf("etcd3: %s needs a codec and a function that makes an empty object", o.GroupResource)
	case o.ResourcePrefix == "":
		return nil, fmt.Errorf("resourcePrefix cannot be empty")
	case o.ResourcePrefix == "/":
		return nil, fmt.Errorf("resourcePrefix cannot be /")
	case !strings.HasPrefix(o.ResourcePrefix, "/"):
		return nil, fmt.Errorf("resourcePrefix needs to start from /")
	}
	if o.Versioner == nil {
		o.Versioner = object.APIObjectVersioner{}
	}
	if o.Transformer == nil {
		o.Transformer = transform.NewIdentity()
	}
	if o.Decoder == nil {
		o.Decoder = NewDefaultDecoder(o.Codec, o.Versioner)
	}
	if o.Metrics == nil {
		o.Metrics = metrics.New(nil)
	}
	if o.Forms == nil {
		o.Forms = object.NewForms()
	}
	if o.Gate == nil {
		o.Gate = &Gate{}
	}
	counts := o.Metrics.For(o.GroupResource)
	pathPrefix := path.Join("/", o.Prefix)
	if !strings.HasSuffix(pathPrefix, "/") {
		pathPrefix += "/"
	}
	s := &store{
		kv:             &kv{client: o.Client, gate: o.Gate, metrics: counts},
		metrics:        counts,
		codec:          o.Codec,
		decoder:        o.Decoder,
		versioner:      o.Versioner,
		transformer:    o.Transformer,
		newFunc:        o.NewFunc,
		groupResource:  o.GroupResource,
		leases:         newLeaseManager(o.Client.Client, o.Leases, counts),
		compactor:      o.Compactor,
		pathPrefix:     pathPrefix,
		resourcePrefix: o.ResourcePrefix,
	}
	s.revisions.kv = s.kv
	s.format = &object.Format{New: o.NewFunc, KeyPrefix: len(pathPrefix) - 1, Decode: s.decodeEncoded, Forms: o.Forms}
	return s, nil
}

// Close ends the goroutines of the store.
func (s *store) Close() {
	if estimator := s.estimator.Load(); estimator != nil {
		estimator.close()
	}
}

func (s *store) Versioner() storage.Versioner { return s.versioner }

// Get reads the object at key and decodes it.
func (s *store) Get(ctx context.Context, key string, opts storage.GetOptions, out runtime.Object) error {
	_, err := s.get(ctx, key, opts, out)
	return err
}

// GetEncoded reads the object at key.
func (s *store) GetEncoded(ctx context.Context, key string, opts storage.GetOptions) (*object.Encoded, error) {
	return s.get(ctx, key, opts, nil)
}

// get reads the object at key, and decodes it into out unless that is nil.
func (s *store) get(ctx context.Context, key string, opts storage.GetOptions, out runtime.Object) (obj *object.Encoded, err error) {
	key, err = s.prepareKey(key, false)
	if err != nil {
		return nil, err
	}
	ctx, step := trace.Start(ctx, steps.Etcd3Get, key)
	defer step.End(&err)
	obj, err = s.getEncoded(ctx, step, key, opts)
	switch {
	case err != nil || out == nil:
		return obj, err
	case obj == nil:
		return nil, runtime.SetZeroValue(out)
	}
	return obj, s.decode(ctx, key, obj.Stored(), out, obj.Revision())
}

// noteText notes an option unless it is unset.
func noteText(step *trace.Step, name, value string) {
	if value != "" {
		step.Text(name, value)
	}
}

// validateMinimumResourceVersion refuses an answer at revision actual if minimum asks for a newer one.
func (s *store) validateMinimumResourceVersion(minimum string, actual uint64) error {
	if minimum == "" {
		return nil
	}
	revision, err := s.versioner.ParseResourceVersion(minimum)
	if err != nil {
		return apierrors.NewBadRequest(fmt.Sprintf("invalid resource version: %v", err))
	}
	if revision > actual {
		return storage.NewTooLargeResourceVersionError(revision, actual, 0)
	}
	return nil
}

func (s *store) Stats(ctx context.Context) (storage.Stats, error) {
	if estimator := s.estimator.Load(); estimator != nil {
		return estimator.stats(ctx)
	}
	prefix, err := s.prepareKey(s.resourcePrefix, true)
	if err != nil {
		return storage.Stats{}, err
	}
	count, err := s.kv.count(ctx, prefix)
	return storage.Stats{ObjectCount: count}, err
}

func (s *store) EnableResourceSizeEstimation(keys storage.KeysFunc) error {
	if keys == nil {
		return errors.New("KeysFunc cannot be nil")
	}
	estimator := newResourceSizeEstimator(s.pathPrefix, keys)
	if !s.estimator.CompareAndSwap(nil, estimator) {
		return errors.New("resourceSizeEstimator already enabled")
	}
	estimator.start()
	return nil
}

// ReadinessCheck implements storage.Interface: there is nothing to wait for.
func (s *store) ReadinessCheck() error { return nil }

func (s *store) RequestWatchProgress(ctx context.Context) error { return s.kv.requestProgress(ctx) }

func (s *store) GetCurrentResourceVersion(ctx context.Context) (uint64, error) {
	// Any linearizable read tells the revision; the key of the resource itself holds nothing.
	key, err := s.prepareKey(s.resourcePrefix, false)
	if err != nil {
		return 0, err
	}
	resp, err := s.kv.get(ctx, metrics.OperationGetRevision, key, 0)
	if err != nil {
		return 0, err
	}
	if resp.Revision == 0 {
		return 0, fmt.Errorf("the current resource version must be greater than 0")
	}
	return uint64(resp.Revision), nil
}

func (s *store) CompactRevision() int64 {
	if s.compactor == nil {
		return 0
	}
	return s.compactor.CompactRevision()
}

// prepareKey checks a caller's key and makes it one of etcd's.
func (s *store) prepareKey(key string, recursive bool) (string, error) {
	key, err := storage.PrepareKey(s.resourcePrefix, key, recursive)
	if err != nil {
		return "", err
	}
	return s.pathPrefix + strings.TrimPrefix(key, "/"), nil
}
