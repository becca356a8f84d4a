package admin

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kx-apiserver/kx/store/transform"
	"github.com/kx-apiserver/kx/store/transform/kms"
)

// EncryptedBy counts the objects of a resource that one provider's key encrypted.
type EncryptedBy struct {
	Resource string `json:"resource"`
	// Provider and Key say how. Provider "identity" without a key means in the clear.
	Provider string `json:"provider"`
	Key      string `json:"key,omitempty"`
	Objects  int64  `json:"objects"`
	Bytes    int64  `json:"bytes"`
	// Write says that the configuration encrypts new writes this way. It is false without a configuration.
	Write bool `json:"write,omitempty"`
	// Remaining counts the objects that an API server with the configuration would write differently.
	Remaining int64 `json:"remaining,omitempty"`
	// Unreadable counts those that it could not read. They are part of Remaining.
	Unreadable int64 `json:"unreadable,omitempty"`
}

// identity is the provider that stores values in the clear.
const identity = "identity"

// Encryptions counts the objects at a path and below by resource, provider and key. With an encryption configuration in
// d, each value is decrypted: only that tells two keys of one name apart. progress, if not nil, is called for each key.
func Encryptions(ctx context.Context, s Source, d *Decoder, below string, progress func(keys int)) ([]EncryptedBy, error) {
	counts := map[EncryptedBy]*EncryptedBy{}
	for kv, err := range Subtree(ctx, s, below, Range{}) {
		if err != nil {
			return nil, err
		}
		if progress != nil {
			progress(1)
		}
		l, ok := Locate(d.Prefix, kv.Key)
		if !ok {
			continue
		}
		provider, key := storedBy(kv.Value)
		_, ofPlugin := kms.KeyID(kv.Value)
		of := EncryptedBy{Resource: l.Resource.String(), Provider: provider, Key: key}
		c := counts[of]
		if c == nil {
			c = &EncryptedBy{Resource: of.Resource, Provider: provider, Key: key, Write: !ofPlugin &&
				d.writesLike(l.Resource, provider, key)}
			counts[of] = c
		}
		c.Objects++
		c.Bytes += int64(len(kv.Value))
		if current := d.judge(ctx, l.Resource, &kv, c); current && ofPlugin {
			c.Write = true // the plugin says which key it writes with, not the configuration
		}
	}
	all := make([]EncryptedBy, 0, len(counts))
	for _, c := range counts {
		all = append(all, *c)
	}
	slices.SortFunc(all, func(a, b EncryptedBy) int {
		return cmp.Or(cmp.Compare(a.Resource, b.Resource), cmp.Compare(b.Objects, a.Objects),
			cmp.Compare(a.Provider+a.Key, b.Provider+b.Key))
	})
	return all, nil
}

// judge counts a value that the configuration would write differently or can't read, and says whether it would write
// like that.
func (d *Decoder) judge(ctx context.Context, resource schema.GroupResource, kv *KV, c *EncryptedBy) (current bool) {
	if d.Encryption == nil {
		return false
	}
	_, stale, err := d.Encryption.ForResource(resource).TransformFromStorage(ctx, kv.Value, transform.DefaultContext(kv.Key))
	if err != nil {
		c.Unreadable++
	}
	if stale || err != nil {
		c.Remaining++
	}
	return !stale && err == nil
}

// writesLike says whether the configuration writes a resource with a provider's key.
func (d *Decoder) writesLike(resource schema.GroupResource, provider, key string) bool {
	if d.Encryption == nil {
		return false
	}
	p, k := storedBy([]byte(d.Encryption.Prefix(resource)))
	return p == provider && k == key
}

// storedBy returns the provider and the key that a value names.
func storedBy(value []byte) (provider, key string) {
	if id, ok := kms.KeyID(value); ok {
		provider, _, _ = strings.Cut(strings.TrimPrefix(string(value[:min(len(value), 256)]), kms.Prefix), ":")
		return "kms v2 " + provider, id
	}
	head := string(value[:min(len(value), 256)])
	rest, ok := strings.CutPrefix(head, string(encryptedMagic))
	if !ok {
		return identity, ""
	}
	parts := strings.SplitN(rest, ":", 4)
	if len(parts) < 4 {
		return "unknown", ""
	}
	if parts[0] == "kms" {
		return "kms " + parts[1], parts[2]
	}
	return parts[0], parts[2]
}
