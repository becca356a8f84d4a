package transform

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	apiserverv1 "k8s.io/apiserver/pkg/apis/apiserver/v1"

	"github.com/kx-apiserver/kx/core/lines"
	"github.com/kx-apiserver/kx/store/transform/kms"
)

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
	first, err := parse(data)
	if err != nil {
		return nil, err
	}
	return newResources(first), nil
}

func parse(data []byte) (_ *configuration, err error) {
	defer func() { err = lines.Error(data, err) }()
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
	built, err := build(config)
	if err != nil {
		return nil, err
	}
	built.hash = fmt.Sprintf("sha256:%x", sha256.Sum256(data))
	return built, nil
}

func decodeConfig(data []byte) (*apiserverv1.EncryptionConfiguration, error) {
	scheme := runtime.NewScheme()
	if err := apiserverv1.AddToScheme(scheme); err != nil {
		return nil, err
	}
	// Strict, since a misspelled field could leave secrets unencrypted.
	obj, kind, err := serializer.NewCodecFactory(scheme, serializer.EnableStrict).UniversalDeserializer().Decode(data, nil, nil)
	switch {
	case runtime.IsMissingKind(err):
		return nil, errors.New("kind: it has none, and must be EncryptionConfiguration") // the library's error quotes the whole file
	case runtime.IsMissingVersion(err):
		return nil, fmt.Errorf("apiVersion: it has none, and must be %s", apiserverv1.SchemeGroupVersion)
	case err != nil:
		return nil, err
	}
	config, ok := obj.(*apiserverv1.EncryptionConfiguration)
	if !ok {
		return nil, fmt.Errorf("it holds a %s, not an EncryptionConfiguration of %s", kind, apiserverv1.SchemeGroupVersion)
	}
	return config, nil
}

// build follows the rules in order. A resource that several rules name has the providers of all of them.
func build(config *apiserverv1.EncryptionConfiguration) (_ *configuration, err error) {
	providers := map[schema.GroupResource][]PrefixTransformer{}
	out := &configuration{
		rules: map[schema.GroupResource]*prefixChain{}, prefixes: map[schema.GroupResource]string{},
		counting: map[schema.GroupResource]*prefixChain{},
	}
	defer func() {
		if err != nil {
			_ = out.close()
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

func (c *configuration) ruleProviders(rule apiserverv1.ResourceConfiguration) ([]PrefixTransformer, error) {
	providers := make([]PrefixTransformer, 0, len(rule.Providers))
	for i, p := range rule.Providers {
		provider, err := c.newProvider(p)
		if err != nil {
			return nil, fmt.Errorf("providers[%d]: %w", i, err)
		}
		providers = append(providers, provider)
	}
	return providers, nil
}

func (c *configuration) newProvider(p apiserverv1.ProviderConfiguration) (PrefixTransformer, error) {
	switch {
	case p.AESGCM != nil:
		return newKeyed("k8s:enc:aesgcm:v1:", p.AESGCM.Keys, NewAESGCM)
	case p.AESCBC != nil:
		return newKeyed("k8s:enc:aescbc:v1:", p.AESCBC.Keys, NewAESCBC)
	case p.Secretbox != nil:
		return newKeyed("k8s:enc:secretbox:v1:", p.Secretbox.Keys, func(key []byte) (Transformer, error) {
			return NewSecretbox([secretboxKeySize]byte(key)), nil
		})
	case p.KMS != nil:
		envelope, err := kms.New(kms.Config{Name: p.KMS.Name, Endpoint: p.KMS.Endpoint, Timeout: timeoutOf(p.KMS)})
		if err != nil {
			return PrefixTransformer{}, err
		}
		c.plugins = append(c.plugins, envelope)
		c.waits += timeoutOf(p.KMS)
		return PrefixTransformer{Prefix: []byte(kms.Prefix + p.KMS.Name + ":"), Transformer: envelopeTransformer{envelope}}, nil
	default:
		return PrefixTransformer{Transformer: NewIdentity()}, nil
	}
}

// timeoutOf returns the time limit for a call of a plugin.
func timeoutOf(p *apiserverv1.KMSConfiguration) time.Duration {
	if p.Timeout == nil {
		return 3 * time.Second
	}
	return p.Timeout.Duration
}

// envelopeTransformer is the transformer of a plugin.
type envelopeTransformer struct{ *kms.Envelope }

func (t envelopeTransformer) TransformFromStorage(ctx context.Context, data []byte, dataCtx Context) ([]byte, bool, error) {
	return t.Open(ctx, data, dataCtx.AuthenticatedData())
}

func (t envelopeTransformer) TransformToStorage(ctx context.Context, data []byte, dataCtx Context) ([]byte, error) {
	return t.Seal(ctx, data, dataCtx.AuthenticatedData())
}

// newKeyed makes the transformer of a provider with keys: the first key writes, all read.
func newKeyed(prefix string, keys []apiserverv1.Key, newTransformer func(key []byte) (Transformer, error)) (PrefixTransformer, error) {
	transformers := make([]PrefixTransformer, 0, len(keys))
	for _, key := range keys {
		secret, err := base64.StdEncoding.DecodeString(key.Secret)
		if err != nil {
			return PrefixTransformer{}, fmt.Errorf("key %q: %w", key.Name, err)
		}
		t, err := newTransformer(secret)
		if err != nil {
			return PrefixTransformer{}, fmt.Errorf("key %q: %w", key.Name, err)
		}
		transformers = append(transformers, PrefixTransformer{Prefix: []byte(key.Name + ":"), Transformer: t})
	}
	noMatch := fmt.Errorf("no key of the configuration matches a value that begins %q", prefix)
	return PrefixTransformer{
		Prefix:      []byte(prefix),
		Transformer: NewPrefixTransformer(noMatch, transformers[0], transformers[1:]...),
	}, nil
}
