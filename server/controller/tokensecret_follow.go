package controller

import (
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/kx-apiserver/kx/server/controller/feed"
	"github.com/kx-apiserver/kx/server/controller/work"
	"github.com/kx-apiserver/kx/store/backend"
)

// secretIndex maps the Secrets of the type, by namespace and name, to their accounts.
type secretIndex map[string]map[string]secretOwner

func (i secretIndex) put(namespace, name string, of secretOwner) {
	if i[namespace] == nil {
		i[namespace] = map[string]secretOwner{}
	}
	i[namespace][name] = of
}

// drop removes a Secret, and returns its account.
func (i secretIndex) drop(namespace, name string) (of secretOwner, known bool) {
	of, known = i[namespace][name]
	delete(i[namespace], name)
	if len(i[namespace]) == 0 {
		delete(i, namespace)
	}
	return of, known
}

// secretLook holds the findings of a look at all keys so far.
type secretLook struct {
	known secretIndex
	// queued lists the Secrets that lack something.
	queued []secretKey
	// accounts maps the accounts, by namespace and name, to their UIDs.
	accounts map[secretKey]string
}

// Begin begins a look at all keys.
func (c *tokenKeeper) Begin() {
	c.look = &secretLook{known: secretIndex{}, accounts: map[secretKey]string{}}
}

// End queues the Secrets that lack something, those whose account was not put, and known ones that were not
// put.
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

// Put takes the value of a key at a revision.
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
		c.keep(namespace, name) // unreadable until it is written again
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

// keep preserves the known state of a Secret that can't be read now.
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

// drop records that a key no longer holds such a Secret.
func (c *tokenKeeper) drop(namespace, name string, revision int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if of, known := c.known.drop(namespace, name); known {
		c.Add(secretKey{namespace: namespace, name: name, of: of}, revision)
	}
}

// putAccount queues the Secrets of a deleted account. If an account is created again, its deletion comes first.
func (c *tokenKeeper) putAccount(p feed.Pair) {
	namespace, name := p.Name(accounts.GroupResource())
	if c.look != nil {
		// If it can't be read, its Secrets are queued, and their look fails and reports the error.
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
