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

	"github.com/kx-apiserver/kx/server/admission/match"
	"github.com/kx-apiserver/kx/server/admission/mirror"
	"github.com/kx-apiserver/kx/server/admission/plugin"
	kxwebhook "github.com/kx-apiserver/kx/server/webhook"
)

// mostBytes limits the size of an answer, to what a client may send.
const mostBytes = 3 << 20

// Config holds what webhooks need from the server.
type Config struct {
	// Namespace reads a namespace, no older than the request.
	Namespace  func(ctx context.Context, name string) (*corev1.Namespace, error)
	Authorizer authorizer.UnconditionalAuthorizer
	// Services finds services.
	Services webhookutil.ServiceResolver
}

// Webhooks calls the webhooks of all configurations.
type Webhooks struct {
	config Config
	// clients connect to the webhooks of a side.
	clients map[side]*webhookutil.ClientManager
	// compiler compiles match conditions. It is created when the first one is needed.
	compiler func() cel.ConditionCompiler
	// keeper tracks when the configurations are known.
	keeper *mirror.Keeper
	// mutating and validating are in the order of the calls.
	mutating, validating hooks
}

// hooks holds the webhooks of one side. api is nil until they are known. static holds webhooks from files,
// which come first.
type hooks struct {
	api    atomic.Pointer[apiWebhooks]
	static atomic.Pointer[[]library.WebhookAccessor]
}

// apiWebhooks holds the webhooks of the API.
type apiWebhooks struct {
	all []library.WebhookAccessor
	// unreadable holds the keys of configurations that can't be read.
	unreadable []string
}

// New creates Webhooks. They must follow a keeper before the first write.
func New(c Config) (*Webhooks, error) {
	compiler := sync.OnceValue(func() cel.ConditionCompiler {
		return cel.NewConditionCompiler(environment.MustBaseEnvSet(environment.DefaultCompatibilityVersion()))
	})
	w := &Webhooks{config: c, compiler: compiler, clients: map[side]*webhookutil.ClientManager{}}
	return w, errors.Join(w.authenticate(mutatingSide, ""), w.authenticate(validatingSide, ""))
}

// authenticate reads the credentials for the webhooks of a side from a kubeconfig. Empty means none.
func (w *Webhooks) authenticate(s side, kubeconfig string) error {
	clients, err := webhookutil.NewClientManager(
		[]schema.GroupVersion{admissionv1beta1.SchemeGroupVersion,
			admissionv1.SchemeGroupVersion}, admissionv1beta1.AddToScheme, admissionv1.AddToScheme)
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

// Follow registers with the keeper for the configurations.
func (w *Webhooks) Follow(k *mirror.Keeper) error {
	w.keeper = k
	return errors.Join(
		mirror.Follow(k, registrationv1.Resource("mutatingwebhookconfigurations"), follow(&w.mutating.api, ofMutating)),
		mirror.Follow(k, registrationv1.Resource("validatingwebhookconfigurations"), follow(&w.validating.api, ofValidating)))
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

// follow keeps hooks up to date with the configurations. of turns a configuration into webhooks; unchanged ones
// keep their selectors, conditions and clients.
func follow[C comparable](hooks *atomic.Pointer[apiWebhooks], of func(C) []library.WebhookAccessor) func([]C, []string) {
	made := map[C][]library.WebhookAccessor{}
	return func(all []C, unreadable []string) {
		before := made
		made = make(map[C][]library.WebhookAccessor, len(all))
		next := apiWebhooks{unreadable: unreadable}
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

// Mutating returns the plugin MutatingAdmissionWebhook.
func (w *Webhooks) Mutating() plugin.Plugin {
	return plugin.Plugin{Operations: allOperations, When: w.mayMatch(&w.mutating), Admit: w.mutate}
}

// Validating returns the plugin ValidatingAdmissionWebhook.
func (w *Webhooks) Validating() plugin.Plugin {
	return plugin.Plugin{Operations: allOperations, When: w.mayMatch(&w.validating), Validate: w.validate}
}

var allOperations = []admission.Operation{admission.Create, admission.Update, admission.Delete, admission.Connect}

// mayMatch reports whether a webhook may match a write. Until all configurations are known, the answer is yes.
func (w *Webhooks) mayMatch(h *hooks) func(admission.Attributes) bool {
	return func(a admission.Attributes) bool {
		if static := h.static.Load(); static != nil && len(*static) > 0 {
			return !match.Exempt(a)
		}
		api := h.api.Load()
		return (api == nil || len(api.all)+len(api.unreadable) > 0) && !match.Exempt(a) && !rules.IsExemptAdmissionConfigurationResource(a)
	}
}

// all waits until webhooks are known, and returns those that may match a write. Only webhooks from files judge
// writes that configure admission: otherwise a bad webhook of the API could not be repaired.
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
	if err := mirror.Readable(a, api.unreadable); err != nil {
		return nil, err
	}
	if len(all) == 0 {
		return api.all, nil
	}
	return slices.Concat(all, api.all), nil
}
