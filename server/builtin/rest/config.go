package rest

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kx-apiserver/kx/server/builtin"
	"github.com/kx-apiserver/kx/server/builtin/all"
)

// servable holds the versions that have resources, whether each is served by default, and their resources.
var servable = newServable(all.Groups(all.Needs{}))

type versions struct {
	onByDefault map[schema.GroupVersion]bool
	resources   map[schema.GroupVersion][]string
}

func newServable(groups []builtin.Group) versions {
	v := versions{map[schema.GroupVersion]bool{}, map[schema.GroupVersion][]string{}}
	for _, group := range groups {
		for _, resource := range group.Resources {
			for version := range resource.Versions() {
				v.resources[version] = append(v.resources[version], resource.Name())
			}
		}
		for _, version := range group.Versions {
			if v.resources[version.GroupVersion] != nil {
				v.onByDefault[version.GroupVersion] = !version.OffByDefault
			}
		}
	}
	return v
}

// APIResourceConfig decides which versions and resources are served.
type APIResourceConfig struct {
	versions map[schema.GroupVersion]bool
	// resources override versions.
	resources map[schema.GroupVersionResource]bool
}

// DefaultAPIResourceConfig returns the configuration without --runtime-config.
func DefaultAPIResourceConfig() *APIResourceConfig {
	return &APIResourceConfig{versions: maps.Clone(servable.onByDefault), resources: map[schema.GroupVersionResource]bool{}}
}

// ResourceEnabled reports whether a resource is served.
func (c *APIResourceConfig) ResourceEnabled(resource schema.GroupVersionResource) bool {
	if enabled, ok := c.resources[resource]; ok {
		return enabled
	}
	return c.versions[resource.GroupVersion()]
}

// AnyResourceForGroupEnabled reports whether anything of a group is served.
func (c *APIResourceConfig) AnyResourceForGroupEnabled(group string) bool {
	for version, enabled := range c.versions {
		if enabled && version.Group == group {
			return true
		}
	}
	for resource, enabled := range c.resources {
		if enabled && resource.Group == group {
			return true
		}
	}
	return false
}

// stages lists the keys of --runtime-config that name many versions, the most general first: a later stage overrides
// earlier ones.
var stages = []struct {
	key     string
	matches *regexp.Regexp
}{
	{"api/all", regexp.MustCompile(`^v\d+((alpha|beta)\d+)?$`)},
	{"api/ga", regexp.MustCompile(`^v\d+$`)},
	{"api/beta", regexp.MustCompile(`^v\d+beta\d+$`)},
	{"api/alpha", regexp.MustCompile(`^v\d+alpha\d+$`)},
}

// ParseRuntimeConfig reads the pairs of --runtime-config: api/all, api/ga, api/beta, api/alpha, a group/version ("v1"
// or "api/v1" for the core group), or a group/version/resource, each true, false, or nothing for true.
func ParseRuntimeConfig(pairs map[string]string) (*APIResourceConfig, error) {
	c := DefaultAPIResourceConfig()
	rest := maps.Clone(pairs)
	for _, stage := range stages {
		value, ok := rest[stage.key]
		if !ok {
			continue
		}
		delete(rest, stage.key)
		enabled, err := parseEnabled(stage.key, value)
		if err != nil {
			return nil, err
		}
		for version := range c.versions {
			if stage.matches.MatchString(version.Version) {
				c.versions[version] = enabled
			}
		}
	}
	if len(pairs) == 1 && pairs["api/all"] == "false" {
		return nil, fmt.Errorf("--runtime-config: invalid key with only api/all=false: nothing would be served; enable something beside it")
	}
	for _, key := range slices.Sorted(maps.Keys(rest)) {
		enabled, err := parseEnabled(key, rest[key])
		if err != nil {
			return nil, err
		}
		if err := c.set(key, enabled); err != nil {
			return nil, err
		}
	}
	return c, nil
}

func parseEnabled(key, value string) (bool, error) {
	if value == "" {
		return true, nil
	}
	enabled, err := strconv.ParseBool(value)
	if err != nil {
		return false, fmt.Errorf("--runtime-config: invalid value of %s: %s: use true or false", key, value)
	}
	return enabled, nil
}

// set applies one group/version or group/version/resource.
func (c *APIResourceConfig) set(key string, enabled bool) error {
	name, resource := key, ""
	if parts := strings.Split(key, "/"); parts[0] == "v1" || len(parts) > 1 && parts[0] == "api" && parts[1] == "v1" {
		// The core group has no name: v1 and api/v1 both mean it.
		name, resource, _ = strings.Cut(strings.TrimPrefix(key, "api/"), "/")
	} else if len(parts) > 2 {
		name, resource = parts[0]+"/"+parts[1], strings.Join(parts[2:], "/")
	}
	version, err := schema.ParseGroupVersion(name)
	resources, known := servable.resources[version]
	if err != nil || !known {
		return fmt.Errorf("--runtime-config: %s: no such version: known are %s", key, knownVersions())
	}
	if resource == "" {
		c.versions[version] = enabled
		return nil
	}
	if !slices.Contains(resources, resource) {
		return fmt.Errorf("--runtime-config: %s: %s has no resource %q: known are %s", key, version, resource,
			strings.Join(resources, ", "))
	}
	c.resources[version.WithResource(resource)] = enabled
	return nil
}

func knownVersions() string {
	var names []string
	for version := range servable.resources {
		names = append(names, version.String())
	}
	slices.Sort(names)
	return strings.Join(names, ", ")
}
