package resourcequota

import (
	"bytes"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kx-apiserver/kx/server/builtin/scheme"
	"github.com/kx-apiserver/kx/server/controller/feed"
	"github.com/kx-apiserver/kx/server/quota"
	"github.com/kx-apiserver/kx/store/admin"
)

const (
	quotas      = "resourcequotas"
	definitions = "apiextensions.k8s.io/customresourcedefinitions"

	// soon is the time that a change waits for others that follow at once. between is the time between two
	// writes of a status.
	soon    = 50 * time.Millisecond
	between = time.Second
	// definitionsKnown is the time within which the storages know a newly served definition.
	definitionsKnown = 500 * time.Millisecond
)

// split splits the key of an object in a namespace.
func split(key string) (prefix, namespace, name string, ok bool) {
	at := strings.LastIndexByte(key, '/')
	if at < 0 {
		return "", "", "", false
	}
	before := strings.LastIndexByte(key[:at], '/')
	if before < 0 {
		return "", "", "", false
	}
	return key[:before], key[before+1 : at], key[at+1:], true
}

// Begin begins a look at all keys.
func (c *Controller) Begin() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.round++
}

// End drops the keys that were not put since Begin, and counts all quotas again.
func (c *Controller) End(revision int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for namespace, s := range c.spaces {
		for name, l := range s.quotas {
			if l.round != c.round {
				c.forget(namespace, name)
			}
		}
		for _, k := range s.kinds {
			if k.at >= revision {
				continue // it was read later
			}
			for name, o := range k.objects {
				if o.round != c.round {
					k.leave(name, o.group)
				}
			}
		}
		c.Add(namespace, 0)
	}
}

// Put applies the value of a key at a revision.
func (c *Controller) Put(p feed.Pair) {
	prefix, namespace, name, ok := split(p.Key)
	if !ok {
		return
	}
	if prefix == quotas {
		c.putQuota(namespace, name, p)
	}
	k := c.kindOfKey(prefix, namespace, p)
	if k == nil {
		return
	}
	e := event{usage: c.measure(k.resource, p.Key, p.Value), revision: p.Revision}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch s := c.spaces[namespace]; {
	case s == nil || s.kinds[prefix] != k:
		// No quota counts it any more.
	case !k.ready:
		k.early[name] = e
	case p.Revision <= k.at:
		// All objects were read while this one was measured: a later state is known.
	case k.set(name, e.usage, c.round):
		c.changed(namespace, s, p)
	case e.usage != nil && !e.usage.Until.IsZero():
		c.AddAfter(namespace, 0, max(time.Until(e.usage.Until), soon))
	}
}

// kindOfKey returns the kind of a key, if a quota counts it and the object is not known already. A changed
// definition may bring a resource that a quota names.
func (c *Controller) kindOfKey(prefix, namespace string, p feed.Pair) *kind {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.spaces) == 0 {
		return nil
	}
	if p.Changed && strings.HasPrefix(p.Key, definitions) {
		for namespace, s := range c.spaces {
			if s.unserved {
				c.AddAfter(namespace, 0, definitionsKnown)
			}
		}
	}
	s := c.spaces[namespace]
	if s == nil {
		return nil
	}
	if k := s.kinds[prefix]; k != nil && (!k.ready || p.Revision > k.at) {
		return k
	}
	return nil
}

// changed queues a namespace in which an amount has changed. The caller holds mu.
func (c *Controller) changed(namespace string, s *space, p feed.Pair) {
	cause := p.Revision
	if !p.Changed {
		cause = 0
	}
	c.AddAfter(namespace, cause, max(soon, time.Until(s.written.Add(between))))
}

// putQuota stores a quota. An unreadable one limits nothing.
func (c *Controller) putQuota(namespace, name string, p feed.Pair) {
	var spec *corev1.ResourceQuotaSpec
	var used corev1.ResourceList
	if p.Value != nil {
		if obj, ok := c.decode(corev1.Resource(quotas), p.Key, p.Value); ok {
			q := obj.(*corev1.ResourceQuota)
			spec, used = &q.Spec, q.Status.Used
		}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if spec == nil {
		c.forget(namespace, name)
		return
	}
	s := c.spaces[namespace]
	if s == nil {
		s = &space{quotas: map[string]*limits{}, kinds: map[string]*kind{}}
		c.spaces[namespace] = s
	}
	if l := s.quotas[name]; l != nil && equality.Semantic.DeepEqual(l.spec, *spec) {
		l.round = c.round
		l.says(used, time.Now())
		// Another writer may have changed its status: admission does so before the object exists.
		c.AddAfter(namespace, 0, between)
		return
	}
	l := &limits{spec: *spec, round: c.round}
	l.says(used, time.Now())
	s.quotas[name] = l
	c.Add(namespace, p.Revision)
}

// forget drops a quota, and with the last one of a namespace the whole namespace. The caller holds mu.
func (c *Controller) forget(namespace, name string) {
	s := c.spaces[namespace]
	if s == nil {
		return
	}
	if delete(s.quotas, name); len(s.quotas) == 0 {
		delete(c.spaces, namespace)
		return
	}
	c.Add(namespace, 0)
}

// measure returns the usage of a stored object, nil if it does not exist or can't be read.
func (c *Controller) measure(resource schema.GroupResource, key string, value []byte) *quota.Usage {
	if value == nil {
		return nil
	}
	obj, ok := c.decode(resource, key, value)
	if !ok {
		return nil
	}
	u, err := quota.Measure(resource, obj)
	if err != nil {
		c.unreadable(key, err)
		return nil
	}
	if !u.Until.IsZero() && !time.Now().Before(u.Until) {
		return u.AfterUntil()
	}
	return u
}

// decode decodes a stored value. For objects that are only counted, it checks that they can be read, and
// returns nil.
func (c *Controller) decode(resource schema.GroupResource, key string, value []byte) (obj runtime.Object, ok bool) {
	var err error
	if !quota.NeedsObjects(resource) && resource.Resource != quotas {
		_, err = c.decoder.Metadata(c.prefix+key, value)
	} else {
		obj, err = c.decodeTyped(resource, key, value)
	}
	if err != nil {
		c.unreadable(key, err)
	}
	return obj, err == nil
}

// decodeTyped decodes a value of a built-in resource into its stored version.
func (c *Controller) decodeTyped(resource schema.GroupResource, key string, value []byte) (runtime.Object, error) {
	plain, format, err := c.decoder.Plain(c.prefix+key, value)
	if err != nil {
		return nil, err
	}
	if format != admin.Protobuf && format != admin.JSON {
		return nil, &admin.DecodeError{Key: key, Reason: "it is neither protobuf nor JSON"}
	}
	codec, err := scheme.StorageCodec(resource, runtime.ContentTypeProtobuf)
	if err != nil {
		return nil, err
	}
	obj, _, err := codec.Decode(bytes.Clone(plain), nil, nil)
	return obj, err
}

func (c *Controller) unreadable(key string, err error) {
	c.log.Warn("an object can't be read: no quota counts it", "key", key, "error", err)
}
