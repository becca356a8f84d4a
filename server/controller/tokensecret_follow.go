package controller

import (
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/kx-apiserver/kx/server/controller/feed"
	"github.com/kx-apiserver/kx/server/controller/work"
	"github.com/kx-apiserver/kx/store/backend"
)

// secretIndex has the Secrets of the type, by namespace and name, and whose they are.
type secretIndex map[string]map[string]secretOwner

func (i secretIndex) put(namespace, name string, of secretOwner) {
	if i[namespace] == nil {
		i[namespace] = map[string]secretOwner{}
	}
	i[namespace][name] = of
}

// drop drops a Secret, and returns whose it was.
func (i secretIndex) drop(namespace, name string) (of secretOwner, known bool) {
	of, known = i[namespace][name]
	delete(i[namespace], name)
	if len(i[namespace]) == 0 {
		delete(i, namespace)
	}
	return of, known
}

// secretLook is what a look at all keys has shown so far.
type secretLook struct {
	known secretIndex
	// queued are Secrets that lack something.
	queued []secretKey
	// accounts are the UIDs of the accounts, by namespace and name.
	accounts map[secretKey]string
}

// Begin begins a look at all keys.
func (c *tokenKeeper) Begin() {
	c.look = &secretLook{known: secretIndex{}, accounts: map[secretKey]string{}}
}

// End queues the Secrets that lack something or whose account was not put, and those that were known and were not put.
func (c *tokenKeeper) End(int64) {
	seen := c.look
	c.look = nil
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, k := range seen.queued {
		c.Add(k, 0)
	}
	for namespace, secrets := range seen.known {
		for name, of := range secrets {
			if uid, ok := seen.accounts[secretKey{namespace: namespace, name: of.name}]; !ok || !of.is(uid) {
				c.Add(secretKey{namespace: namespace, name: name}, 0)
			}
		}
	}
	for namespace, secrets := range c.known {
		for name, of := range secrets {
			if _, ok := seen.known[namespace][name]; !ok {
				c.Add(secretKey{namespace: namespace, name: name, of: of}, 0)
			}
		}
	}
	c.known = seen.known
}

var accountKeys = backend.ResourcePrefix(accounts.GroupResource()) + "/"

// Put takes what a key has at a revision.
func (c *tokenKeeper) Put(p feed.Pair) {
	if strings.HasPrefix(p.Key, accountKeys) {
		c.putAccount(p)
		return
	}
	namespace, name := p.Name(secrets.GroupResource())
	if p.Value == nil {
		c.drop(namespace, name, p.Revision)
		return
	}
	s, err := work.Value[*corev1.Secret](c.kit, p.Key, p.Value)
	if err != nil {
		c.keep(namespace, name) // whoever damaged it has to mend it first
		return
	}
	if s.Type != corev1.SecretTypeServiceAccountToken || secretOwnerOf(s).name == "" {
		c.drop(namespace, name, p.Revision)
		return
	}
	k := secretKey{namespace: namespace, name: name}
	if c.look != nil {
		c.look.known.put(namespace, name, secretOwnerOf(s))
		if len(c.missing(s)) > 0 {
			c.look.queued = append(c.look.queued, k)
		}
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.known.put(namespace, name, secretOwnerOf(s))
	c.Add(k, p.Revision)
}

// keep has a Secret that can't be read now stay what it was.
func (c *tokenKeeper) keep(namespace, name string) {
	if c.look == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if of, known := c.known[namespace][name]; known {
		c.look.known.put(namespace, name, of)
	}
}

// drop takes note that a key has no such Secret any more.
func (c *tokenKeeper) drop(namespace, name string, revision int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if of, known := c.known.drop(namespace, name); known {
		c.Add(secretKey{namespace: namespace, name: name, of: of}, revision)
	}
}

// putAccount queues the Secrets of an account that has gone. Of one that was made anew, the deletion comes first.
func (c *tokenKeeper) putAccount(p feed.Pair) {
	namespace, name := p.Name(accounts.GroupResource())
	if c.look != nil {
		// One that can't be read leaves its Secrets to be looked at, which then fails and says so.
		if m, err := c.kit.Decoder.Metadata(strings.TrimSuffix(c.kit.Decoder.Prefix, "/")+"/"+p.Key, p.Value); err == nil {
			c.look.accounts[secretKey{namespace: namespace, name: name}] = string(m.UID)
		}
		return
	}
	if p.Value != nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for secret, of := range c.known[namespace] {
		if of.name == name {
			c.Add(secretKey{namespace: namespace, name: secret}, p.Revision)
		}
	}
}
