package transform

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	apiserverv1 "k8s.io/apiserver/pkg/apis/apiserver/v1"

	"github.com/kx-apiserver/kx/store/transform/kms"
)

// anyResource is the rule "*.*".
var anyResource = schema.GroupResource{Group: "*", Resource: "*"}

// Resources has the transformers of all resources. A nil Resources encrypts nothing.
type Resources struct {
	rules map[schema.GroupResource]*prefixed
	// prefixes has the prefix that each rule's transformer writes.
	prefixes map[schema.GroupResource]string
	plugins  []*kms.Envelope

	metrics *Metrics
}

// Measure has metrics count what the transformers of ForResource do, which it is called before.
func (r *Resources) Measure(m *Metrics) {
	r.metrics = m
	for _, p := range r.plugins {
		p.Observe(m)
	}
}

// Plugins returns the KMS plugins, in the order of the configuration.
func (r *Resources) Plugins() []*kms.Envelope {
	if r == nil {
		return nil
	}
	return r.plugins
}

// Close ends the connections to the KMS plugins. Nothing that a plugin encrypted can be read or written then.
func (r *Resources) Close() error {
	var errs []error
	for _, p := range r.Plugins() {
		errs = append(errs, p.Close())
	}
	return errors.Join(errs...)
}

// Prefix returns the prefix with which values of a resource are written, such as "k8s:enc:aescbc:v1:key1:". It is empty for
// values in the clear.
func (r *Resources) Prefix(resource schema.GroupResource) string {
	if rule, ok := r.ruleFor(resource); ok {
		return r.prefixes[rule]
	}
	return ""
}

// ForResource returns the transformer of a resource: that of the rule for the resource, for its group, or for everything, or
// else the identity. Metrics count what a rule's transformer does for the resource.
func (r *Resources) ForResource(resource schema.GroupResource) Transformer {
	rule, ok := r.ruleFor(resource)
	switch {
	case !ok:
		return NewIdentity()
	case r.metrics == nil:
		return r.rules[rule]
	}
	return r.rules[rule].of(resource.String(), r.metrics)
}

// ruleFor returns the rule that applies to a resource.
func (r *Resources) ruleFor(resource schema.GroupResource) (rule schema.GroupResource, ok bool) {
	if r == nil {
		return rule, false
	}
	for _, rule := range []schema.GroupResource{resource, {Group: resource.Group, Resource: "*"}, anyResource} {
		if _, ok := r.rules[rule]; ok {
			return rule, true
		}
	}
	return rule, false
}

// LoadConfig reads an EncryptionConfiguration file.
func LoadConfig(file string) (*Resources, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("encryption configuration: %w", err)
	}
	resources, err := ParseConfig(data)
	if err != nil {
		return nil, fmt.Errorf("encryption configuration %s: %w", file, err)
	}
	return resources, nil
}

// ParseConfig reads an EncryptionConfiguration in YAML or JSON.
func ParseConfig(data []byte) (*Resources, error) {
	if len(data) == 0 {
		return nil, errors.New("the file is empty")
	}
	config, err := decodeConfig(data)
	if err != nil {
		return nil, err
	}
	if errs := validateConfig(config); len(errs) > 0 {
		return nil, errs.ToAggregate()
	}
	return buildResources(config)
}

func decodeConfig(data []byte) (*apiserverv1.EncryptionConfiguration, error) {
	scheme := runtime.NewScheme()
	if err := apiserverv1.AddToScheme(scheme); err != nil {
		return nil, err
	}
	// Strict, since a misspelled field could leave secrets unencrypted.
	obj, kind, err := serializer.NewCodecFactory(scheme, serializer.EnableStrict).UniversalDeserializer().Decode(data, nil, nil)
	if err != nil {
		return nil, err
	}
	config, ok := obj.(*apiserverv1.EncryptionConfiguration)
	if !ok {
		return nil, fmt.Errorf("it holds a %s, not an EncryptionConfiguration of %s", kind, apiserverv1.SchemeGroupVersion)
	}
	return config, nil
}

// buildResources follows the rules in order. A resource that several rules name has the providers of all of them.
func buildResources(config *apiserverv1.EncryptionConfiguration) (_ *Resources, err error) {
	providers := map[schema.GroupResource][]Prefixed{}
	out := &Resources{rules: map[schema.GroupResource]*prefixed{}, prefixes: map[schema.GroupResource]string{}}
	defer func() {
		if err != nil {
			_ = out.Close()
		}
	}()
	for i, rule := range config.Resources {
		own, err := out.ruleProviders(rule)
		if err != nil {
			return nil, fmt.Errorf("resources[%d]: %w", i, err)
		}
		for _, name := range rule.Resources {
			resource := schema.ParseGroupResource(name)
			for _, earlier := range []schema.GroupResource{{Group: resource.Group, Resource: "*"}, anyResource} {
				if _, masked := providers[earlier]; masked {
					return nil, fmt.Errorf("resources[%d]: resource %q is masked by earlier rule %q: put the narrower rule first",
						i, ruleName(resource), ruleName(earlier))
				}
			}
			if len(providers[resource]) == 0 {
				out.prefixes[resource] = string(own[0].Prefix) + firstKey(rule.Providers[0])
			}
			providers[resource] = append(providers[resource], own...)
		}
	}
	for resource, p := range providers {
		out.rules[resource] = newPrefixed(errors.New("no matching prefix found"), p[0], p[1:]...)
	}
	return out, nil
}

// firstKey is the part of the prefix behind the provider's name: that of its first key.
func firstKey(p apiserverv1.ProviderConfiguration) string {
	switch {
	case p.AESGCM != nil:
		return p.AESGCM.Keys[0].Name + ":"
	case p.AESCBC != nil:
		return p.AESCBC.Keys[0].Name + ":"
	case p.Secretbox != nil:
		return p.Secretbox.Keys[0].Name + ":"
	}
	return ""
}

func ruleName(rule schema.GroupResource) string {
	if rule.Group == "" && rule.Resource == "*" {
		return "*."
	}
	return rule.String()
}

func (r *Resources) ruleProviders(rule apiserverv1.ResourceConfiguration) ([]Prefixed, error) {
	providers := make([]Prefixed, 0, len(rule.Providers))
	for i, p := range rule.Providers {
		provider, err := r.newProvider(p)
		if err != nil {
			return nil, fmt.Errorf("providers[%d]: %w", i, err)
		}
		providers = append(providers, provider)
	}
	return providers, nil
}

func (r *Resources) newProvider(p apiserverv1.ProviderConfiguration) (Prefixed, error) {
	switch {
	case p.AESGCM != nil:
		return keyed("k8s:enc:aesgcm:v1:", p.AESGCM.Keys, NewAESGCM)
	case p.AESCBC != nil:
		return keyed("k8s:enc:aescbc:v1:", p.AESCBC.Keys, NewAESCBC)
	case p.Secretbox != nil:
		return keyed("k8s:enc:secretbox:v1:", p.Secretbox.Keys, func(key []byte) (Transformer, error) {
			return NewSecretbox([secretboxKeySize]byte(key)), nil
		})
	case p.KMS != nil:
		envelope, err := kms.New(kms.Config{Name: p.KMS.Name, Endpoint: p.KMS.Endpoint, Timeout: timeoutOf(p.KMS)})
		if err != nil {
			return Prefixed{}, err
		}
		r.plugins = append(r.plugins, envelope)
		return Prefixed{Prefix: []byte(kms.Prefix + p.KMS.Name + ":"), Transformer: sealed{envelope}}, nil
	default:
		return Prefixed{Transformer: NewIdentity()}, nil
	}
}

// timeoutOf is how long a call of a plugin may take.
func timeoutOf(p *apiserverv1.KMSConfiguration) time.Duration {
	if p.Timeout == nil {
		return 3 * time.Second
	}
	return p.Timeout.Duration
}

// sealed is the transformer of a plugin.
type sealed struct{ *kms.Envelope }

func (t sealed) TransformFromStorage(ctx context.Context, data []byte, dataCtx Context) ([]byte, bool, error) {
	return t.Open(ctx, data, dataCtx.AuthenticatedData())
}

func (t sealed) TransformToStorage(ctx context.Context, data []byte, dataCtx Context) ([]byte, error) {
	return t.Seal(ctx, data, dataCtx.AuthenticatedData())
}

// keyed makes the transformer of a provider with keys: the first key writes, all read.
func keyed(prefix string, keys []apiserverv1.Key, newTransformer func(key []byte) (Transformer, error)) (Prefixed, error) {
	transformers := make([]Prefixed, 0, len(keys))
	for _, key := range keys {
		secret, err := base64.StdEncoding.DecodeString(key.Secret)
		if err != nil {
			return Prefixed{}, fmt.Errorf("key %q: %w", key.Name, err)
		}
		t, err := newTransformer(secret)
		if err != nil {
			return Prefixed{}, fmt.Errorf("key %q: %w", key.Name, err)
		}
		transformers = append(transformers, Prefixed{Prefix: []byte(key.Name + ":"), Transformer: t})
	}
	noMatch := fmt.Errorf("no key of the configuration matches a value that begins %q", prefix)
	return Prefixed{
		Prefix:      []byte(prefix),
		Transformer: NewPrefixed(noMatch, transformers[0], transformers[1:]...),
	}, nil
}
