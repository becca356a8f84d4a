package webhook

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	admissionv1 "k8s.io/api/admission/v1"
	admissionv1beta1 "k8s.io/api/admission/v1beta1"
	registrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/admission/plugin/cel"
	library "k8s.io/apiserver/pkg/admission/plugin/webhook"
	"k8s.io/apiserver/pkg/admission/plugin/webhook/predicates/rules"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/cel/environment"
	webhookutil "k8s.io/apiserver/pkg/util/webhook"

	"github.com/kx-apiserver/kx/server/admission/kept"
	"github.com/kx-apiserver/kx/server/admission/match"
	"github.com/kx-apiserver/kx/server/admission/plugin"
	kxwebhook "github.com/kx-apiserver/kx/server/webhook"
)

// mostBytes is the most that is read of an answer, as much as a client may send.
const mostBytes = 3 << 20

// Config is what webhooks need.
type Config struct {
	// Namespace reads a namespace, no older than the request.
	Namespace  func(ctx context.Context, name string) (*corev1.Namespace, error)
	Authorizer authorizer.UnconditionalAuthorizer
	// Services finds services.
	Services webhookutil.ServiceResolver
}

// Webhooks are those of all configurations.
type Webhooks struct {
	config Config
	// clients reach the webhooks of a side.
	clients map[side]*webhookutil.ClientManager
	// compiler compiles match conditions. It is made when the first one is needed.
	compiler func() cel.ConditionCompiler
	// keeper knows when the configurations are known.
	keeper *kept.Keeper
	// mutating and validating are in the order in which they are asked.
	mutating, validating hooks
}

// hooks are those of one side. api is nil until they are known, and static are those of files, which come first.
type hooks struct {
	api    atomic.Pointer[configured]
	static atomic.Pointer[[]library.WebhookAccessor]
}

// configured are the webhooks of the API.
type configured struct {
	all []library.WebhookAccessor
	// unreadable are the keys of configurations that can't be read.
	unreadable []string
}

// New makes the webhooks. They must follow a keeper before the first write.
func New(c Config) (*Webhooks, error) {
	compiler := sync.OnceValue(func() cel.ConditionCompiler {
		return cel.NewConditionCompiler(environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()))
	})
	w := &Webhooks{config: c, compiler: compiler, clients: map[side]*webhookutil.ClientManager{}}
	return w, errors.Join(w.authenticate(mutatingSide, ""), w.authenticate(validatingSide, ""))
}

// authenticate has the server show webhooks of a side what a kubeconfig has for them. It is empty for nothing.
func (w *Webhooks) authenticate(s side, kubeconfig string) error {
	clients, err := webhookutil.NewClientManager(
		[]schema.GroupVersion{admissionv1beta1.SchemeGroupVersion, admissionv1.SchemeGroupVersion}, admissionv1beta1.AddToScheme, admissionv1.AddToScheme)
	if err != nil {
		return fmt.Errorf("make a client for admission webhooks: %w", err)
	}
	resolver, err := webhookutil.NewDefaultAuthenticationInfoResolver(kubeconfig)
	if err != nil {
		return fmt.Errorf("make a client for admission webhooks: %w", err)
	}
	clients.SetAuthenticationInfoResolver(resolver)
	clients.SetAuthenticationInfoResolverWrapper(kxwebhook.Distrust(func(int64) int64 { return mostBytes }))
	clients.SetServiceResolver(w.config.Services)
	w.clients[s] = &clients
	return clients.Validate()
}

// Follow has the keeper tell of the configurations.
func (w *Webhooks) Follow(k *kept.Keeper) error {
	w.keeper = k
	return errors.Join(
		kept.Follow(k, registrationv1.Resource("mutatingwebhookconfigurations"), follow(&w.mutating.api, ofMutating)),
		kept.Follow(k, registrationv1.Resource("validatingwebhookconfigurations"), follow(&w.validating.api, ofValidating)))
}

func ofMutating(c *registrationv1.MutatingWebhookConfiguration) (all []library.WebhookAccessor) {
	for i := range c.Webhooks {
		all = append(all, library.NewMutatingWebhookAccessor(fmt.Sprintf("%s/%d", c.Name, i), c.Name, &c.Webhooks[i]))
	}
	return all
}

func ofValidating(c *registrationv1.ValidatingWebhookConfiguration) (all []library.WebhookAccessor) {
	for i := range c.Webhooks {
		all = append(all, library.NewValidatingWebhookAccessor(fmt.Sprintf("%s/%d", c.Name, i), c.Name, &c.Webhooks[i]))
	}
	return all
}

// follow keeps in hooks what of makes of the configurations. Those that did not change keep their selectors, conditions and clients.
func follow[C comparable](hooks *atomic.Pointer[configured], of func(C) []library.WebhookAccessor) func([]C, []string) {
	made := map[C][]library.WebhookAccessor{}
	return func(all []C, unreadable []string) {
		before := made
		made = make(map[C][]library.WebhookAccessor, len(all))
		next := configured{unreadable: unreadable}
		for _, c := range all {
			accessors, ok := before[c]
			if !ok {
				accessors = of(c)
			}
			made[c] = accessors
			next.all = append(next.all, accessors...)
		}
		hooks.Store(&next)
	}
}

// Mutating is the plugin MutatingAdmissionWebhook.
func (w *Webhooks) Mutating() plugin.Plugin {
	return plugin.Plugin{Operations: allOperations, When: w.when(&w.mutating), Admit: w.mutate}
}

// Validating is the plugin ValidatingAdmissionWebhook.
func (w *Webhooks) Validating() plugin.Plugin {
	return plugin.Plugin{Operations: allOperations, When: w.when(&w.validating), Validate: w.validate}
}

var allOperations = []admission.Operation{admission.Create, admission.Update, admission.Delete, admission.Connect}

// when says that there may be a webhook that is about a write. Nobody knows before all configurations are known.
func (w *Webhooks) when(h *hooks) func(admission.Attributes) bool {
	return func(a admission.Attributes) bool {
		if static := h.static.Load(); static != nil && len(*static) > 0 {
			return !match.Exempt(a)
		}
		api := h.api.Load()
		return (api == nil || len(api.all)+len(api.unreadable) > 0) && !match.Exempt(a) && !rules.IsExemptAdmissionConfigurationResource(a)
	}
}

// all returns the webhooks that may be about a write, once they are known. What configures admission is judged by those of files alone:
// what the API configures could not be repaired otherwise.
func (w *Webhooks) all(ctx context.Context, a admission.Attributes, h *hooks) (all []library.WebhookAccessor, err error) {
	if static := h.static.Load(); static != nil {
		all = *static
	}
	if rules.IsExemptAdmissionConfigurationResource(a) {
		return all, nil
	}
	if err := w.keeper.Await(ctx, a); err != nil {
		return nil, err
	}
	api := h.api.Load()
	if err := kept.Readable(a, api.unreadable); err != nil {
		return nil, err
	}
	if len(all) == 0 {
		return api.all, nil
	}
	return slices.Concat(all, api.all), nil
}
