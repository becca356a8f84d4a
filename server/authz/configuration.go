package authz

import (
	"errors"
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/apiserver/pkg/apis/apiserver"
	"k8s.io/apiserver/pkg/apis/apiserver/load"
	"k8s.io/apiserver/pkg/apis/apiserver/validation"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/authorization/authorizerfactory"
	authorizationcel "k8s.io/apiserver/pkg/authorization/cel"
	"k8s.io/apiserver/plugin/pkg/authorizer/webhook"
	webhookmetrics "k8s.io/apiserver/plugin/pkg/authorizer/webhook/metrics"

	"github.com/kx-apiserver/kx/core/lines"
	"github.com/kx-apiserver/kx/server/reload"
	kxwebhook "github.com/kx-apiserver/kx/server/webhook"
)

// The modes, which are also the types of authorizers in a file.
const (
	RBAC        = "RBAC"
	WebhookMode = "Webhook"
	AlwaysAllow = "AlwaysAllow"
	alwaysDeny  = "AlwaysDeny"
)

// Modes lists all modes.
var Modes = []string{RBAC, WebhookMode, AlwaysAllow, alwaysDeny}

// missing lists the modes of a Kubernetes API server that kx lacks, with advice for each.
var missing = map[string]string{
	"Node": "leave Node out: kubelets get their rights by roles here",
	"ABAC": "leave ABAC out, and write its policies as roles and bindings",
}

// CheckMode returns an error with advice if a mode is not available.
func CheckMode(mode string) error {
	if what, ok := missing[mode]; ok {
		return fmt.Errorf("the mode %s is not available: %s", mode, what)
	}
	if !sets.New(Modes...).Has(mode) {
		return fmt.Errorf("there is no mode %q: there are %s", mode, strings.Join(Modes, ", "))
	}
	return nil
}

// retries has the values of upstream's webhooks.
var retries = wait.Backoff{Duration: 500 * time.Millisecond, Factor: 1.5, Jitter: 0.2, Steps: 5}

// webhookTimeout is the timeout of the mode Webhook. A file sets its own.
const webhookTimeout = 30 * time.Second

// mostAnswerBytes limits the answer of a webhook, as for admission.
const mostAnswerBytes = 3 << 20

// configuration returns the configuration in the file, with its hash, or else the one of the flags.
func (a *Authorizer) configuration() (_ *apiserver.AuthorizationConfiguration, hash string, err error) {
	if a.config.File == "" {
		return a.config.ofModes(), "", nil
	}
	files, hash, err := reload.OneFile(a.config.File).Read()
	if err != nil {
		return nil, "", fmt.Errorf("--authorization-config: %w", err)
	}
	configuration, err := parse(files[0].Data)
	if err != nil {
		return nil, "", fmt.Errorf("--authorization-config: %s: %w", a.config.File, err)
	}
	return configuration, hash, nil
}

// parse parses a file. Errors name the line and the field.
func parse(data []byte) (_ *apiserver.AuthorizationConfiguration, err error) {
	defer func() { err = lines.Error(data, err) }()
	configuration, err := load.LoadFromData(data)
	if err != nil {
		return nil, err
	}
	var errs []error
	for i, one := range configuration.Authorizers {
		kind := string(one.Type)
		if _, ok := missing[kind]; ok {
			errs = append(errs, fmt.Errorf("authorizers[%d].type: %w", i, CheckMode(kind)))
		} else if want := strings.ToLower(kind); kind != WebhookMode && one.Name != want {
			errs = append(errs, fmt.Errorf("authorizers[%d].name: %q must be %q, the name of the authorizer %s", i, one.Name, want, kind))
		}
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	bad := validation.ValidateAuthorizationConfiguration(authorizationcel.NewDefaultCompiler(), nil, configuration,
		sets.New(Modes...), sets.New(WebhookMode))
	return configuration, bad.ToAggregate()
}

// ofModes returns the configuration that the flags abbreviate.
func (c *Config) ofModes() *apiserver.AuthorizationConfiguration {
	out := &apiserver.AuthorizationConfiguration{}
	for _, mode := range c.Modes {
		one := apiserver.AuthorizerConfiguration{Type: apiserver.AuthorizerType(mode), Name: strings.ToLower(mode)}
		if mode == WebhookMode {
			one.Name = "default"
			one.Webhook = &apiserver.WebhookConfiguration{
				AuthorizedTTL: metav1.Duration{Duration: c.Webhook.AuthorizedTTL}, CacheAuthorizedRequests: c.Webhook.AuthorizedTTL != 0,
				UnauthorizedTTL:           metav1.Duration{Duration: c.Webhook.UnauthorizedTTL},
				CacheUnauthorizedRequests: c.Webhook.UnauthorizedTTL != 0,
				Timeout:                   metav1.Duration{Duration: webhookTimeout}, FailurePolicy: apiserver.FailurePolicyNoOpinion,
				SubjectAccessReviewVersion: c.Webhook.Version,
				ConnectionInfo: apiserver.WebhookConnectionInfo{
					Type: apiserver.AuthorizationWebhookConnectionInfoTypeKubeConfigFile, KubeConfigFile: &c.Webhook.File,
				},
			}
		}
		out.Authorizers = append(out.Authorizers, one)
	}
	return out
}

// newChain makes the authorizers of a configuration.
func (a *Authorizer) newChain(configuration *apiserver.AuthorizationConfiguration) (*chain, error) {
	c := &chain{}
	for i := range configuration.Authorizers {
		one := &configuration.Authorizers[i]
		l := link{name: one.Name, kind: one.Type, allowed: a.metrics.counter(one, "allowed"), denied: a.metrics.counter(one, "denied")}
		switch string(one.Type) {
		case RBAC:
			l.authorizer, l.rbac = a.config.RBAC, a.config.RBAC
		case AlwaysAllow:
			l.authorizer = authorizerfactory.NewAlwaysAllowAuthorizer()
		case alwaysDeny:
			l.authorizer = authorizerfactory.NewAlwaysDenyAuthorizer()
		case WebhookMode:
			var err error
			if l.authorizer, err = newWebhook(one); err != nil {
				return nil, fmt.Errorf("the authorizer %s: %w", one.Name, err)
			}
		}
		c.links = append(c.links, l)
	}
	c.rules = c.resolvers()
	return c, nil
}

// webhookCounts counts in the library's own metrics.
type webhookCounts struct {
	webhookmetrics.NoopRequestMetrics
	webhookmetrics.WebhookMetrics
	authorizationcel.MatcherMetrics
}

func newWebhook(one *apiserver.AuthorizerConfiguration) (authorizer.Authorizer, error) {
	c := one.Webhook
	file := ""
	if c.ConnectionInfo.KubeConfigFile != nil {
		file = *c.ConnectionInfo.KubeConfigFile // else the configuration of a pod
	}
	client, err := kxwebhook.Kubeconfig(file)
	if err != nil {
		return nil, err
	}
	client.Timeout = c.Timeout.Duration
	client = kxwebhook.LimitAnswers(client, func(int64) int64 { return mostAnswerBytes })
	onError := authorizer.DecisionNoOpinion
	if c.FailurePolicy == apiserver.FailurePolicyDeny {
		onError = authorizer.DecisionDeny
	}
	ttl := func(cached bool, lasts metav1.Duration) time.Duration {
		if !cached {
			return 0
		}
		return lasts.Duration
	}
	return webhook.New(client, c.SubjectAccessReviewVersion, ttl(c.CacheAuthorizedRequests, c.AuthorizedTTL),
		ttl(c.CacheUnauthorizedRequests, c.UnauthorizedTTL), retries, onError, c.MatchConditions, one.Name,
		webhookCounts{WebhookMetrics: webhookmetrics.NewWebhookMetrics(), MatcherMetrics: authorizationcel.NewMatcherMetrics()},
		authorizationcel.NewDefaultCompiler())
}
