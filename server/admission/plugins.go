package admission

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/server/admission/plugin"
)

// Config says which plugins there are, and what they need.
type Config struct {
	Selection
	Authorizer authorizer.Authorizer
	Tolerations
}

// Plugins is the server's admission.
type Plugins struct {
	kit       *plugin.Kit
	lifecycle *NamespaceLifecycle
	chain     []plugin.Plugin
}

var (
	_ admission.MutationInterface   = &Plugins{}
	_ admission.ValidationInterface = &Plugins{}
)

// New makes the plugins. They must be initialized before the first write.
func New(c Config) *Plugins {
	p := &Plugins{kit: &plugin.Kit{Authorizer: c.Authorizer}, lifecycle: &NamespaceLifecycle{}}
	for _, known := range table {
		if !c.runs(known) {
			continue
		}
		made := known.make(p, &c)
		made.Name = known.name
		p.chain = append(p.chain, made)
	}
	return p
}

// Initialize gives the plugins the storages that they read.
func (p *Plugins) Initialize(storage func(schema.GroupVersionResource) rest.Storage) {
	p.kit.Storage = storage
	p.lifecycle.namespaces, _ = storage(corev1.SchemeGroupVersion.WithResource("namespaces")).(rest.Getter)
}

// Namespace reads a namespace, for others than the plugins that need one.
func (p *Plugins) Namespace(ctx context.Context, name string) (*corev1.Namespace, error) {
	return p.lifecycle.get(ctx, name)
}

// Handles says whether any plugin is about writes of this kind.
func (p *Plugins) Handles(operation admission.Operation) bool {
	return slices.ContainsFunc(p.chain, func(one plugin.Plugin) bool { return slices.Contains(one.Operations, operation) })
}

// Concerns says whether any plugin is about such a write. If not, nobody needs to be asked.
func (p *Plugins) Concerns(a admission.Attributes) bool {
	return slices.ContainsFunc(p.chain, func(one plugin.Plugin) bool { return one.Concerns(a) })
}

// Admit lets the plugins change the object of a write, or refuse it, one after the other.
func (p *Plugins) Admit(ctx context.Context, a admission.Attributes, o admission.ObjectInterfaces) error {
	for i := range p.chain {
		if one := &p.chain[i]; one.Admit != nil && one.Concerns(a) {
			if err := admit(ctx, one, a, o); err != nil {
				return err
			}
		}
	}
	return nil
}

// admit asks one plugin. It has its own step in journeys, so that a field's change can be attributed to it.
func admit(ctx context.Context, one *plugin.Plugin, a admission.Attributes, o admission.ObjectInterfaces) (err error) {
	ctx, step := trace.Start(ctx, trace.HandlerAdmit, one.Name)
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

// Validate lets the plugins refuse a write, one after the other.
func (p *Plugins) Validate(ctx context.Context, a admission.Attributes, o admission.ObjectInterfaces) error {
	for i := range p.chain {
		if one := &p.chain[i]; one.Validate != nil && one.Concerns(a) {
			if err := validate(ctx, one, a, o); err != nil {
				return err
			}
		}
	}
	return nil
}

func validate(ctx context.Context, one *plugin.Plugin, a admission.Attributes, o admission.ObjectInterfaces) (err error) {
	ctx, step := trace.Start(ctx, trace.HandlerApprove, one.Name)
	defer step.End(&err)
	if err := step.Err(); err != nil {
		return err
	}
	return one.Validate(ctx, plugin.Write{Attributes: a, Objects: o, Step: step})
}

// Selection says which plugins run, beside those that are on by default.
type Selection struct {
	Enabled, Disabled []string
}

func (s Selection) runs(known entry) bool {
	if slices.Contains(s.Disabled, known.name) {
		return false
	}
	return !known.off || slices.Contains(s.Enabled, known.name)
}

// Check says which names are wrong. The plugins of a Kubernetes API server that are not here can be turned off, but not on.
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
