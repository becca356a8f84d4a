package admission

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/kx-apiserver/kx/server/admission/plugin"
	"github.com/kx-apiserver/kx/server/admission/policy"
	"github.com/kx-apiserver/kx/server/reload"
)

// take applies the manifests of a plugin. An error leaves the earlier ones in effect.
type take func(ctx context.Context, files []reload.File, hash string) error

// static returns the function that creates a plugin whose configuration may name a directory of manifests. They are
// read at once, and again when they change.
func static(name string, dirOf func(*Plugins, []byte) (string, error), takeOf func(*Plugins) take,
	pluginOf func(*Plugins) plugin.Plugin) func(*Plugins, *Config, []byte) (plugin.Plugin, error) {
	return func(p *Plugins, c *Config, data []byte) (plugin.Plugin, error) {
		dir, err := dirOf(p, data)
		if err != nil || dir == "" {
			return pluginOf(p), err
		}
		source, apply := reload.Directory(dir), takeOf(p)
		files, hash, err := source.Read()
		if err == nil {
			err = apply(context.Background(), files, hash)
		}
		if err != nil {
			return plugin.Plugin{}, fmt.Errorf("staticManifestsDir: %w", err)
		}
		p.manifests = append(p.manifests, reload.New(reload.Config{
			Source: source, What: "the manifests of " + name, Take: apply,
			Metrics: "apiserver_manifest_admission_config_controller", Flag: "staticManifestsDir", Process: c.Process,
			Labels: prometheus.Labels{"plugin": name}, Registry: c.Registry, Log: c.Log,
		}, hash))
		return pluginOf(p), nil
	}
}

// ofPolicies adapts the reader of a configuration that names only the directory of manifests.
func ofPolicies(dirOf func([]byte) (string, error)) func(*Plugins, []byte) (string, error) {
	return func(_ *Plugins, data []byte) (string, error) { return dirOf(data) }
}

var (
	mutatingPolicies = static("MutatingAdmissionPolicy", ofPolicies(policy.MutatingDir),
		func(p *Plugins) take { return p.policies.TakeMutating }, func(p *Plugins) plugin.Plugin { return p.policies.Mutating() })
	validatingPolicies = static("ValidatingAdmissionPolicy", ofPolicies(policy.ValidatingDir),
		func(p *Plugins) take { return p.policies.TakeValidating }, func(p *Plugins) plugin.Plugin { return p.policies.Validating() })
	mutatingWebhooks = static("MutatingAdmissionWebhook",
		func(p *Plugins, data []byte) (string, error) { return p.webhooks.ConfigureMutating(data) },
		func(p *Plugins) take { return p.webhooks.TakeMutating }, func(p *Plugins) plugin.Plugin { return p.webhooks.Mutating() })
	validatingWebhooks = static("ValidatingAdmissionWebhook",
		func(p *Plugins, data []byte) (string, error) { return p.webhooks.ConfigureValidating(data) },
		func(p *Plugins) take { return p.webhooks.TakeValidating }, func(p *Plugins) plugin.Plugin { return p.webhooks.Validating() })
)

// Run reads manifests again when they change, until ctx ends.
func (p *Plugins) Run(ctx context.Context) {
	var running sync.WaitGroup
	for _, k := range p.manifests {
		running.Go(func() { k.Run(ctx) })
	}
	running.Wait()
}

// Static reports whether any plugin reads a directory of manifests.
func (p *Plugins) Static() bool { return len(p.manifests) > 0 }

// Ready returns an error for each directory of manifests that was not applied.
func (p *Plugins) Ready(ctx context.Context) error {
	var errs []error
	for _, k := range p.manifests {
		errs = append(errs, k.Ready(ctx))
	}
	return errors.Join(errs...)
}
