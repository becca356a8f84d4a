package options

import (
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/kx-apiserver/kx/server/authz"
)

// Authorization configures the authorizers.
type Authorization struct {
	// Modes are the authorizers in their order. Empty stands for RBAC, or for the authorizers of the ConfigFile if
	// there is one.
	Modes      []string
	ConfigFile string
	// Webhook configures the mode Webhook.
	Webhook authz.Webhook
}

// defaultAuthorization returns the defaults of a Kubernetes API server.
func defaultAuthorization() Authorization {
	return Authorization{Webhook: authz.Webhook{Version: "v1beta1", AuthorizedTTL: 5 * time.Minute, UnauthorizedTTL: 30 * time.Second}}
}

// InOrder returns the modes, or RBAC as the default.
func (a *Authorization) InOrder() []string {
	if len(a.Modes) == 0 && a.ConfigFile == "" {
		return []string{authz.RBAC}
	}
	return a.Modes
}

func (a *Authorization) addFlags(fs *pflag.FlagSet) {
	fs.StringSliceVar(&a.Modes, "authorization-mode", a.Modes,
		"who decides who may do what, asked in this order: "+
			strings.Join(authz.Modes, ", ")+" (default RBAC, unless --authorization-config says it); members of system:masters may do all")
	fs.StringVar(&a.ConfigFile, "authorization-config", a.ConfigFile,
		"file with an AuthorizationConfiguration, instead of --authorization-mode and --authorization-webhook-*; read again "+
			"when it changes")
	fs.StringVar(&a.Webhook.File, "authorization-webhook-config-file", a.Webhook.File,
		"kubeconfig that reaches the authorizer of the mode Webhook")
	fs.StringVar(&a.Webhook.Version, "authorization-webhook-version", a.Webhook.Version,
		"version of the SubjectAccessReviews that it gets: v1 or v1beta1")
	fs.DurationVar(&a.Webhook.AuthorizedTTL, "authorization-webhook-cache-authorized-ttl", a.Webhook.AuthorizedTTL,
		"how long it is not asked again after it allowed something; 0 to ask every time")
	fs.DurationVar(&a.Webhook.UnauthorizedTTL, "authorization-webhook-cache-unauthorized-ttl", a.Webhook.UnauthorizedTTL,
		"how long it is not asked again after it did not")
}

// validate calls bad for each error.
func (a *Authorization) validate(bad func(format string, args ...any)) {
	usual := defaultAuthorization()
	if a.ConfigFile != "" {
		if len(a.Modes) > 0 || a.Webhook != usual.Webhook {
			bad("--authorization-config says it all: leave out --authorization-mode and --authorization-webhook-*")
		}
		return
	}
	for i, mode := range a.Modes {
		if err := authz.CheckMode(mode); err != nil {
			bad("--authorization-mode: %v", err)
		} else if slices.Contains(a.Modes[:i], mode) {
			bad("--authorization-mode: %s is there twice", mode)
		}
	}
	webhook := slices.Contains(a.Modes, authz.WebhookMode)
	if webhook && a.Webhook.File == "" {
		bad("--authorization-mode=%s: --authorization-webhook-config-file has to say where it is", authz.WebhookMode)
	}
	if !webhook && a.Webhook != usual.Webhook {
		bad("--authorization-webhook-*: nobody is asked without --authorization-mode=%s", authz.WebhookMode)
	}
	if a.Webhook.Version != "v1" && a.Webhook.Version != "v1beta1" {
		bad("--authorization-webhook-version: %q is neither v1 nor v1beta1", a.Webhook.Version)
	}
	if a.Webhook.AuthorizedTTL < 0 || a.Webhook.UnauthorizedTTL < 0 {
		bad("--authorization-webhook-cache-*-ttl can't be negative")
	}
}
