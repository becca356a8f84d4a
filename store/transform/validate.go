package transform

import (
	"encoding/base64"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	apiserverv1 "k8s.io/apiserver/pkg/apis/apiserver/v1"

	"github.com/kx-apiserver/kx/store/transform/kms"
)

var (
	aesKeySizes       = []int{16, 24, 32}
	secretboxKeySizes = []int{secretboxKeySize}
)

// validateConfig refuses the same files as a kube-apiserver, so that a file works in both or in neither.
func validateConfig(config *apiserverv1.EncryptionConfiguration) field.ErrorList {
	root := field.NewPath("resources")
	if len(config.Resources) == 0 {
		return field.ErrorList{field.Required(root, "at least one rule is required")}
	}
	var errs field.ErrorList
	plugins := map[string]bool{}
	for i, rule := range config.Resources {
		resources, providers := root.Index(i).Child("resources"), root.Index(i).Child("providers")
		if len(rule.Resources) == 0 {
			errs = append(errs, field.Required(resources, "at least one resource is required"))
		}
		errs = append(errs, validateOverlaps(rule.Resources, resources)...)
		for j, name := range rule.Resources {
			if why := resourceNameError(name); why != "" {
				errs = append(errs, field.Invalid(resources.Index(j), name, why))
			}
		}
		if len(rule.Providers) == 0 {
			errs = append(errs, field.Required(providers, "at least one provider is required"))
		}
		for j, provider := range rule.Providers {
			errs = append(errs, validateProvider(provider, providers.Index(j))...)
			if provider.KMS == nil {
				continue
			}
			if name := provider.KMS.Name; plugins[name] {
				errs = append(errs, field.Invalid(providers.Index(j).Child("kms", "name"), name,
					fmt.Sprintf("duplicate KMS provider name %s, names must be unique", name)))
			}
			plugins[provider.KMS.Name] = true
		}
	}
	return errs
}

// validateOverlaps refuses a list in which an entry has no effect.
func validateOverlaps(names []string, path *field.Path) field.ErrorList {
	var duplicate, overlap bool
	for i, name := range names {
		a := schema.ParseGroupResource(name)
		for _, other := range names[:i] {
			b := schema.ParseGroupResource(other)
			switch {
			case a == b:
				duplicate = true
			case a == anyResource || b == anyResource:
				overlap = true
			case a.Group == b.Group && (a.Resource == "*" || b.Resource == "*"):
				overlap = true
			}
		}
	}
	var errs field.ErrorList
	if duplicate {
		errs = append(errs, field.Invalid(path, names, "the same resource cannot be specified multiple times"))
	}
	if overlap {
		errs = append(errs, field.Invalid(path, names,
			"using overlapping resources such as 'secrets' and '*.' in the same resource list is not allowed as they will be masked"))
	}
	return errs
}

// withoutAPI are resources that an API server stores and does not serve, so no rule can apply to them.
var withoutAPI = []string{"apiserveripinfo", "serviceipallocations", "servicenodeportallocations"}

// resourceNameError returns what is wrong with the name of a resource, or "".
func resourceNameError(name string) string {
	resource := schema.ParseGroupResource(name)
	switch {
	case strings.ToLower(name) != name:
		return "resource name should not contain capital letters"
	case name == "*":
		return "use '*.' to encrypt all the resources from core API group or *.* to encrypt all resources"
	case slices.Contains(withoutAPI, name):
		return "resources which do not have REST API/s cannot be encrypted"
	case resource.Group == "events.k8s.io":
		return "'*.events.k8s.io' objects are stored using the 'events' API group in etcd. Use 'events' instead in the config file"
	case resource.Group == "extensions":
		return "'extensions' group has been removed and cannot be used for encryption"
	case resource.Group == "*" && resource.Resource != "*":
		return "encrypting the same resource across groups is not supported"
	}
	return ""
}

func validateProvider(p apiserverv1.ProviderConfiguration, path *field.Path) field.ErrorList {
	var kinds []string
	for _, kind := range []struct {
		name string
		set  bool
	}{
		{"kms", p.KMS != nil}, {"aesgcm", p.AESGCM != nil}, {"aescbc", p.AESCBC != nil},
		{"secretbox", p.Secretbox != nil}, {"identity", p.Identity != nil},
	} {
		if kind.set {
			kinds = append(kinds, kind.name)
		}
	}
	switch {
	case len(kinds) == 0:
		return field.ErrorList{field.Required(path, "one of kms, aesgcm, aescbc, secretbox, identity is required")}
	case len(kinds) > 1:
		return field.ErrorList{field.Invalid(path, strings.Join(kinds, ", "),
			"more than one provider specified in a single element, should split into different list elements")}
	case p.KMS != nil:
		return validateKMS(p.KMS, path.Child("kms"))
	case p.AESGCM != nil:
		return validateKeys(p.AESGCM.Keys, path.Child("aesgcm", "keys"), aesKeySizes)
	case p.AESCBC != nil:
		return validateKeys(p.AESCBC.Keys, path.Child("aescbc", "keys"), aesKeySizes)
	case p.Secretbox != nil:
		return validateKeys(p.Secretbox.Keys, path.Child("secretbox", "keys"), secretboxKeySizes)
	}
	return nil
}

func validateKMS(c *apiserverv1.KMSConfiguration, path *field.Path) field.ErrorList {
	switch c.APIVersion {
	case "v2":
	case "", "v1":
		return field.ErrorList{field.Forbidden(path,
			fmt.Sprintf("KMS v1 provider %q is not supported: values encrypted through it can be neither read nor written; "+
				"use a plugin of v2 with apiVersion: v2, or aesgcm, secretbox, aescbc or identity", c.Name))}
	default:
		return field.ErrorList{field.Invalid(path.Child("apiVersion"), c.APIVersion,
			"unsupported apiVersion apiVersion for KMS provider, only v1 and v2 are supported")}
	}
	var errs field.ErrorList
	switch {
	case c.Name == "":
		errs = append(errs, field.Required(path.Child("name"), "name is a mandatory field for a provider"))
	case strings.Contains(c.Name, ":"):
		errs = append(errs, field.Invalid(path.Child("name"), c.Name,
			fmt.Sprintf("invalid KMS provider name %s, must not contain ':'", c.Name)))
	}
	if c.Timeout != nil && c.Timeout.Duration <= 0 {
		errs = append(errs, field.Invalid(path.Child("timeout"), c.Timeout, "timeout should be a positive value"))
	}
	if c.Endpoint == "" {
		errs = append(errs, field.Invalid(path.Child("endpoint"), "", "endpoint is a mandatory field for a kms"))
	} else if _, err := kms.SocketOf(c.Endpoint); err != nil {
		errs = append(errs, field.Invalid(path.Child("endpoint"), c.Endpoint, err.Error()))
	}
	if c.CacheSize != nil {
		errs = append(errs, field.Invalid(path.Child("cachesize"), *c.CacheSize, "cachesize is not supported in v2"))
	}
	return errs
}

func validateKeys(keys []apiserverv1.Key, path *field.Path, sizes []int) field.ErrorList {
	if len(keys) == 0 {
		return field.ErrorList{field.Required(path, "at least one key is required")}
	}
	var errs field.ErrorList
	for i, key := range keys {
		errs = append(errs, validateKey(key, path.Index(i), sizes)...)
	}
	return errs
}

func validateKey(key apiserverv1.Key, path *field.Path, sizes []int) field.ErrorList {
	var errs field.ErrorList
	if key.Name == "" {
		errs = append(errs, field.Required(path.Child("name"), "name is a mandatory field for a key"))
	}
	secret, err := base64.StdEncoding.DecodeString(key.Secret)
	switch {
	case key.Secret == "":
		errs = append(errs, field.Required(path.Child("secret"), "secret is a mandatory field for a key"))
	case err != nil:
		errs = append(errs, field.Invalid(path.Child("secret"), "REDACTED", "secrets must be base64 encoded"))
	case !slices.Contains(sizes, len(secret)):
		errs = append(errs, field.Invalid(path.Child("secret"), "REDACTED",
			fmt.Sprintf("secret is not of the expected length, got %d, expected one of %v", len(secret), sizes)))
	}
	return errs
}
