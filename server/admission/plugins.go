package admission

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	webhookutil "k8s.io/apiserver/pkg/util/webhook"

	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/core/steps"
	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/server/admission/mirror"
	"github.com/kx-apiserver/kx/server/admission/plugin"
	"github.com/kx-apiserver/kx/server/admission/policy"
	"github.com/kx-apiserver/kx/server/admission/webhook"
	"github.com/kx-apiserver/kx/server/coverage"
	"github.com/kx-apiserver/kx/server/handler"
	"github.com/kx-apiserver/kx/server/reload"
	"github.com/kx-apiserver/kx/store"
)

// Config selects the plugins and holds what they need.
type Config struct {
	Selection
	Authorizer authorizer.Authorizer
	Tolerations
	// Services finds the services of webhooks.
	Services webhookutil.ServiceResolver
	// Kept follows the objects that configure admission.
	Kept *mirror.Keeper
	// Observe (optional) is called after each evaluation of an expression of a policy.
	Observe coverage.Observer
	// File is the path of the plugins' configuration.
	File string
	// Process distinguishes this process in metrics.
	Process  string
	Registry prometheus.Registerer
	Log      *slog.Logger
}

// Plugins is the admission chain of a server.
type Plugins struct {
	kit       *plugin.Kit
	lifecycle *namespaceLifecycle
	webhooks  *webhook.Webhooks
	policies  *policy.Policies
	chain     []plugin.Plugin
	// manifests keep the objects that plugins read from directories.
	manifests []*reload.Keeper
}

var (
	_ admission.MutationInterface   = &Plugins{}
	_ admission.ValidationInterface = &Plugins{}
)

// New creates the plugins. Initialize must be called before the first write.
func New(c Config) (_ *Plugins, err error) {
	documents, err := readConfiguration(c.File)
	if err != nil {
		return nil, err
	}
	p := &Plugins{kit: &plugin.Kit{Authorizer: plugin.TrustAuthorizer(c.Authorizer)}, lifecycle: &namespaceLifecycle{}}
	if p.webhooks, err = webhook.New(webhook.Config{Namespace: p.Namespace, Authorizer: c.Authorizer, Services: c.Services}); err != nil {
		return nil, err
	}
	p.policies = policy.New(policy.Config{Namespace: p.Namespace, Authorizer: c.Authorizer, Observe: c.Observe})
	if err := errors.Join(p.webhooks.Follow(c.Kept), p.policies.Follow(c.Kept)); err != nil {
		return nil, err
	}
	for _, known := range table {
		if !c.runs(known) {
			continue
		}
		made, err := known.newPlugin(p, &c, documents)
		if err != nil {
			return nil, err
		}
		made.Name = known.name
		p.chain = append(p.chain, made)
	}
	return p, nil
}

// newPlugin creates the plugin.
func (known *entry) newPlugin(p *Plugins, c *Config, documents map[string]document) (plugin.Plugin, error) {
	if known.configure == nil {
		return known.make(p, c), nil
	}
	doc := documents[known.name]
	made, err := known.configure(p, c, doc.data)
	if err != nil {
		err = fmt.Errorf("--admission-control-config-file: %s: %w", doc.source, doc.lines.Error(err))
	}
	return made, err
}

// Initialize connects the plugins to the installed API. storage returns the storage of a built-in resource.
// ofKind returns the params of policies for any kind that is served. all returns every storage. scope returns
// the scope with which plugins run admission on objects that they create.
func (p *Plugins) Initialize(storage func(schema.GroupVersionResource) rest.Storage,
	ofKind func(schema.GroupVersionKind) (policy.Params, bool),
	all func() map[schema.GroupVersionResource]rest.Storage, scope func(schema.GroupVersionResource) *handler.RequestScope) {
	p.policies.Initialize(ofKind)
	p.kit.Storage, p.kit.Storages, p.kit.Scope = storage, all, scope
	p.lifecycle.namespaces, _ = storage(corev1.SchemeGroupVersion.WithResource("namespaces")).(rest.Getter)
	if stored, ok := p.lifecycle.namespaces.(interface{ Etcd() store.Etcd }); ok {
		p.lifecycle.etcd = stored.Etcd()
	}
}

// BeginWrite returns the context of one write, for all plugins to share one read of its namespace.
func (p *Plugins) BeginWrite(ctx context.Context) context.Context { return withNamespace(ctx) }

// Namespace returns a namespace, no older than the request.
func (p *Plugins) Namespace(ctx context.Context, name string) (*corev1.Namespace, error) {
	found, err := p.lifecycle.latest(ctx, name)
	return found.Namespace, err
}

// Handles reports whether any plugin handles this operation.
func (p *Plugins) Handles(operation admission.Operation) bool {
	return slices.ContainsFunc(p.chain, func(one plugin.Plugin) bool { return slices.Contains(one.Operations, operation) })
}

// Concerns reports whether any plugin handles the write. If not, the caller can skip admission.
func (p *Plugins) Concerns(a admission.Attributes) bool {
	return slices.ContainsFunc(p.chain, func(one plugin.Plugin) bool { return one.Concerns(a) })
}

// Changes reports whether any plugin that handles the write may change an object. If not, the caller need not copy
// the object for admission.
func (p *Plugins) Changes(a admission.Attributes) bool {
	return slices.ContainsFunc(p.chain, func(one plugin.Plugin) bool { return !one.ReadOnly && one.Concerns(a) })
}

// Admit calls the plugins one after the other; each may change the object of a write or refuse it. If a webhook
// changed the object, all run once more, because the defaults that they add may be missing in the change.
// Webhooks run again only if they ask for that.
func (p *Plugins) Admit(ctx context.Context, a admission.Attributes, o admission.ObjectInterfaces) error {
	if err := p.admitOnce(ctx, a, o); err != nil {
		return err
	}
	again := a.GetReinvocationContext()
	if !again.ShouldReinvoke() {
		return nil
	}
	again.SetIsReinvoke()
	return p.admitOnce(ctx, a, o)
}

func (p *Plugins) admitOnce(ctx context.Context, a admission.Attributes, o admission.ObjectInterfaces) error {
	for i := range p.chain {
		if one := &p.chain[i]; one.Admit != nil && one.Concerns(a) {
			if err := admit(ctx, one, a, o); err != nil {
				return err
			}
		}
	}
	return nil
}

// admit calls one plugin. It has its own step in journeys, so that a field's change can be attributed to it.
func admit(ctx context.Context, one *plugin.Plugin, a admission.Attributes, o admission.ObjectInterfaces) (err error) {
	ctx, step := trace.Start(ctx, steps.HandlerAdmit, one.Name)
	defer step.End(&err)
	if err := step.Err(); err != nil {
		return err
	}
	before := a.GetObject()
	if before != nil {
		step.Before(before)
	}
	if err := one.Admit(ctx, plugin.Write{Attributes: a, Objects: o, Step: step}); err != nil {
		return err
	}
	if before != nil {
		step.After(a.GetObject())
	}
	return nil
}

// Validate calls the plugins one after the other; each may refuse a write.
func (p *Plugins) Validate(ctx context.Context, a admission.Attributes, o admission.ObjectInterfaces) error {
	for i := range p.chain {
		one := &p.chain[i]
		if !one.Concerns(a) {
			continue
		}
		check := one.Validate
		if one.Find != nil {
			check = one.Find(ctx, a)
		}
		if check == nil {
			continue
		}
		if err := validate(ctx, one.Name, check, a, o); err != nil {
			return err
		}
	}
	return nil
}

func validate(ctx context.Context, name string, check plugin.Func, a admission.Attributes, o admission.ObjectInterfaces) (err error) {
	ctx, step := trace.Start(ctx, steps.HandlerApprove, name)
	defer step.End(&err)
	if err := step.Err(); err != nil {
		return err
	}
	return check(ctx, plugin.Write{Attributes: a, Objects: o, Step: step})
}

// Selection enables and disables plugins, relative to the defaults.
type Selection struct {
	Enabled, Disabled []string
}

func (s Selection) runs(known entry) bool {
	if slices.Contains(s.Disabled, known.name) {
		return false
	}
	return !known.off || slices.Contains(s.Enabled, known.name)
}

// Check returns an error for a wrong name. Plugins of a Kubernetes API server that kx lacks can be disabled,
// but not enabled.
func (s Selection) Check() error {
	for _, name := range s.Enabled {
		switch {
		case slices.Contains(s.Disabled, name):
			return fmt.Errorf("--enable-admission-plugins: %s is in --disable-admission-plugins, too: leave it out of one of them", name)
		case slices.Contains(missing, name):
			return fmt.Errorf("--enable-admission-plugins: kx does not have %s; it has %s", name, strings.Join(Names(), ", "))
		case !slices.Contains(Names(), name):
			return fmt.Errorf("--enable-admission-plugins: there is no plugin %q; kx has %s", name, strings.Join(Names(), ", "))
		}
	}
	for _, name := range s.Disabled {
		if !slices.Contains(Names(), name) && !slices.Contains(missing, name) {
			return fmt.Errorf("--disable-admission-plugins: there is no plugin %q; kx has %s", name, strings.Join(Names(), ", "))
		}
	}
	return nil
}
