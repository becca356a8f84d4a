package kxapi

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/store/admin"
)

// Etcd gives access to the storage below the API, and decodes it.
type Etcd struct {
	Live    *admin.Live
	Decoder *admin.Decoder
}

const (
	// keysAPage limits the keys and directories in a list.
	keysAPage = 1000
	// These limit what a list reads to measure directories, to well below a second of etcd's time.
	measuredKeys  = 50_000
	measuredBytes = 64 << 20
)

const keysPlural = "keys"

// keys are the keys of etcd with their stored values. They bypass all protection of objects: a user who may read keys
// may read all objects, whatever their roles allow.
type keys struct {
	*Etcd
	journeys *trace.Recorder // has the journeys of the writes in a key's history
}

func (k *keys) resource() *anyResource {
	return declare(resource[*v1alpha1.Key]{
		plural: keysPlural, singular: "key", empty: &v1alpha1.KeyList{}, columns: keyColumns, row: keyRow, fields: keyFields,
		query: readKeyQuery, get: k.get, list: k.list, watch: k.watch,
	})
}

// keyQuery holds the query parameters that only keys have.
type keyQuery struct{ prefix, key, revision string }

type keyQueryKey struct{}

// readKeyQuery reads ?prefix=, ?key= and ?revision=.
func readKeyQuery(ctx context.Context, query url.Values) (context.Context, error) {
	q := keyQuery{prefix: query.Get("prefix"), key: query.Get("key"), revision: query.Get("revision")}
	if q.prefix != "" && q.key != "" {
		return ctx, apierrors.NewBadRequest("either prefix, for what lies below it, or key, for one")
	}
	return context.WithValue(ctx, keyQueryKey{}, q), nil
}

func keyQueryOf(ctx context.Context) keyQuery {
	q, _ := ctx.Value(keyQueryKey{}).(keyQuery)
	return q
}

// keyError converts an error of etcd for clients.
func keyError(err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, admin.ErrCompacted):
		return apierrors.NewResourceExpired(err.Error())
	case errors.Is(err, admin.ErrFuture):
		return apierrors.NewBadRequest(err.Error())
	case errors.Is(err, context.DeadlineExceeded):
		return apierrors.NewTimeoutError(err.Error(), 1)
	}
	return apierrors.NewInternalError(err)
}

// revision parses the revision that a client asks for; an empty text stands for the current one.
func (e *Etcd) revision(text string, head admin.Head) (int64, error) {
	if text == "" || text == "0" {
		return head.Revision, nil
	}
	revision, err := admin.ParseRevision(text, head)
	if err == nil || errors.Is(err, admin.ErrCompacted) || errors.Is(err, admin.ErrFuture) {
		return revision, keyError(err)
	}
	return 0, apierrors.NewBadRequest(err.Error())
}

// open returns the key of a name, and the revisions that etcd has.
func (k *keys) open(ctx context.Context, name string) (key string, head admin.Head, err error) {
	if key, err = v1alpha1.KeyOfName(name); err != nil {
		return "", head, apierrors.NewBadRequest(err.Error())
	}
	head, err = k.Live.Head(ctx)
	return key, head, keyError(err)
}

// get returns a key with its value, now or at ?revision=.
func (k *keys) get(ctx context.Context, name string) (*v1alpha1.Key, error) {
	key, head, err := k.open(ctx, name)
	if err != nil {
		return nil, err
	}
	return k.read(ctx, key, keyQueryOf(ctx).revision, head)
}

// read returns a key; nil if it does not exist.
//
// A compacted revision can still be read if the key has not changed between it and the compaction. So every revision in
// a key's history is readable.
func (e *Etcd) read(ctx context.Context, key, text string, head admin.Head) (*v1alpha1.Key, error) {
	asked, err := e.revision(text, head)
	at := asked
	if number, numberErr := strconv.ParseInt(text, 10, 64); numberErr == nil && number > 0 && number < head.Compacted {
		asked, at, err = number, head.Compacted, nil
	}
	if err != nil {
		return nil, err
	}
	kv, err := e.Live.Get(ctx, key, at)
	if err != nil {
		return nil, keyError(err)
	}
	if asked < at && (kv == nil || kv.ModRevision > asked) {
		_, err := e.revision(text, head)
		return nil, err
	}
	if kv == nil {
		return nil, nil
	}
	out := e.keyOf(kv, int64(len(kv.Value)), asked)
	out.Status.Value = e.valueOf(kv)
	return out, nil
}

// keyOf converts a key for clients, without its value.
func (e *Etcd) keyOf(kv *admin.KV, bytes, revision int64) *v1alpha1.Key {
	k := &v1alpha1.Key{
		ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.KeyName(kv.Key), ResourceVersion: strconv.FormatInt(kv.ModRevision, 10)},
		Spec:       v1alpha1.KeySpec{Key: kv.Key},
		Status: v1alpha1.KeyStatus{
			Revision: revision, Keys: 1, Bytes: bytes, Measured: 1,
			ModRevision: kv.ModRevision, CreateRevision: kv.CreateRevision, Version: kv.Version, Lease: lease(kv.Lease),
		},
	}
	if l, ok := admin.Locate(e.Decoder.Prefix, kv.Key); ok {
		k.Spec.Group, k.Spec.Resource, k.Spec.Namespace, k.Spec.Name = l.Resource.Group, l.Resource.Resource, l.Namespace, l.Name
	}
	return k
}

func lease(id int64) string {
	if id == 0 {
		return ""
	}
	return strconv.FormatInt(id, 16)
}

// directoryOf converts a directory for clients.
func (e *Etcd) directoryOf(c admin.Child, revision int64) *v1alpha1.Key {
	k := &v1alpha1.Key{
		ObjectMeta: metav1.ObjectMeta{Name: v1alpha1.KeyName(c.Path)},
		Spec:       v1alpha1.KeySpec{Key: c.Path, Directory: true},
		Status:     v1alpha1.KeyStatus{Revision: revision, Keys: c.Keys, Bytes: c.Bytes, Measured: c.Measured, ModRevision: c.Revision},
	}
	// The path of any key below it shows their resource.
	some := c.Path + "x"
	if _, rest, ok := admin.SplitKey(e.Decoder.Prefix, some); ok && len(rest) > 0 {
		if l, ok := admin.Locate(e.Decoder.Prefix, some); ok {
			k.Spec.Group, k.Spec.Resource, k.Spec.Namespace = l.Resource.Group, l.Resource.Resource, l.Namespace
		}
	}
	return k
}

// keyPage is a continue token: the place and the revision at which a list continues.
type keyPage struct {
	Prefix   []byte `json:"p"`
	From     []byte `json:"f"`
	Revision int64  `json:"r"`
}

func (p keyPage) token() string {
	data, _ := json.Marshal(p) // bytes and a number
	return base64.RawURLEncoding.EncodeToString(data)
}

func readKeyPage(token, prefix string) (p keyPage, err error) {
	data, err := base64.RawURLEncoding.DecodeString(token)
	if err == nil {
		err = json.Unmarshal(data, &p)
	}
	if err == nil && (string(p.Prefix) != prefix || p.Revision < 1) {
		err = fmt.Errorf("it is of the prefix %q", p.Prefix)
	}
	if err != nil {
		return p, apierrors.NewBadRequest("invalid continue token: " + err.Error())
	}
	return p, nil
}

// list returns the entries directly below ?prefix=, or below the root: keys without their values, and directories with
// the number and size of their keys. With ?key= it returns that key with its value, or nothing. All pages of a list
// have the revision of the first.
func (k *keys) list(ctx context.Context, options *metainternalversion.ListOptions) (runtime.Object, error) {
	q := keyQueryOf(ctx)
	head, err := k.Live.Head(ctx)
	if err != nil {
		return nil, keyError(err)
	}
	list := &v1alpha1.KeyList{
		Prefix: q.prefix, Items: []v1alpha1.Key{},
		Etcd: v1alpha1.EtcdHead{Revision: head.Revision, Compacted: head.Compacted},
	}
	if q.key != "" {
		return k.listOne(ctx, q, head, options, list)
	}
	page := keyPage{Prefix: []byte(q.prefix)}
	if options.Continue != "" {
		page, err = readKeyPage(options.Continue, q.prefix)
	} else {
		page.Revision, err = k.listRevision(q, options, head)
	}
	if err != nil {
		return nil, err
	}
	limit := int64(keysAPage)
	if options.Limit > 0 {
		limit = min(limit, options.Limit)
	}
	budget := admin.Budget{Keys: measuredKeys, Bytes: measuredBytes}
	resource := k.resource()
	section := admin.Section{Prefix: q.prefix, From: string(page.From), Revision: page.Revision, Most: limit}
	next, err := k.Live.Level(ctx, section, &budget, func(c admin.Child) {
		if key := k.child(c, page.Revision); resource.selects(options, key) {
			list.Items = append(list.Items, *key)
		}
	})
	if err != nil {
		return nil, keyError(err)
	}
	list.ResourceVersion = strconv.FormatInt(page.Revision, 10)
	if next != "" {
		page.From = []byte(next)
		list.Continue = page.token()
	}
	return list, nil
}

// listRevision returns the revision of a list. A resourceVersion is a revision of etcd. The current revision satisfies
// every resourceVersion that does not ask for an exact match.
func (k *keys) listRevision(q keyQuery, options *metainternalversion.ListOptions, head admin.Head) (int64, error) {
	text := q.revision
	if options.ResourceVersion != "" && options.ResourceVersion != "0" {
		asked, err := k.revision(options.ResourceVersion, head)
		if options.ResourceVersionMatch == metav1.ResourceVersionMatchExact && text == "" {
			return asked, err
		}
		if err != nil && !apierrors.IsResourceExpired(err) {
			return 0, err
		}
	}
	return k.revision(text, head)
}

func (e *Etcd) child(c admin.Child, revision int64) *v1alpha1.Key {
	if c.KV == nil {
		return e.directoryOf(c, revision)
	}
	return e.keyOf(c.KV, c.Bytes, revision)
}

// listOne lists the key of ?key=.
func (k *keys) listOne(ctx context.Context, q keyQuery, head admin.Head, options *metainternalversion.ListOptions,
	list *v1alpha1.KeyList) (runtime.Object, error) {
	found, err := k.read(ctx, q.key, q.revision, head)
	if err != nil {
		return nil, err
	}
	list.ResourceVersion = strconv.FormatInt(head.Revision, 10)
	if resource := k.resource(); found != nil && resource.selects(options, found) {
		list.Items = append(list.Items, *found)
	}
	return list, nil
}

// keyFields returns the fields for field selectors.
func keyFields(k *v1alpha1.Key) fields.Set {
	return fields.Set{
		"metadata.name": k.Name, "spec.group": k.Spec.Group, "spec.resource": k.Spec.Resource,
		"spec.namespace": k.Spec.Namespace, "spec.name": k.Spec.Name, "spec.directory": strconv.FormatBool(k.Spec.Directory),
	}
}
