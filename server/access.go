package server

import (
	"context"
	"fmt"
	"slices"

	"github.com/kx-apiserver/kx/server/admission"
	"github.com/kx-apiserver/kx/server/admission/mirror"
	"github.com/kx-apiserver/kx/server/authn"
	"github.com/kx-apiserver/kx/server/authn/issuer"
	"github.com/kx-apiserver/kx/server/authz"
	"github.com/kx-apiserver/kx/server/authz/rbac"
	"github.com/kx-apiserver/kx/server/authz/roles"
	"github.com/kx-apiserver/kx/server/builtin/core"
	"github.com/kx-apiserver/kx/server/identity"
	"github.com/kx-apiserver/kx/server/service"
	"github.com/kx-apiserver/kx/server/serviceaccount"
)

// authentication finds the user of a request, and issues tokens of service accounts.
type authentication struct {
	*base
	home *home
	*authn.Authenticator
	// keys sign and verify the tokens. tokens configures how they are issued. secrets signs those that Secrets hold.
	keys    *serviceaccount.Keys
	tokens  core.Tokens
	secrets *serviceaccount.Signer
}

// start makes the authenticator and the signers of tokens.
func (a *authentication) start(context.Context) (err error) {
	if err := a.makeTokens(); err != nil {
		return err
	}
	o, tls := a.options, a.home.tls
	anonymous := o.Access.AnonymousAuth
	if anonymous && slices.Contains(o.Authorization.Modes, authz.AlwaysAllow) {
		a.log.Warn("requests without credentials get 401, since --authorization-mode=" + authz.AlwaysAllow +
			" would allow them everything")
		anonymous = false
	}
	proxy := &o.Access.RequestHeader
	a.Authenticator, err = authn.New(a.life, authn.Config{
		ClientCAs: tls.ClientCAs, TokenFile: o.Access.TokenAuthFile, Audiences: o.Tokens.Audiences(), Anonymous: anonymous,
		BootstrapTokens: o.Access.BootstrapTokens, AnonymousGiven: o.Access.AnonymousGiven, Webhook: o.Issuers.Webhook,
		Issuers: issuer.Config{
			File: o.Issuers.ConfigFile, Flags: o.Issuers.Flags(), Ours: o.Tokens.Issuers,
			Process: a.journeys.Process(), Registry: a.metrics.Registry, Log: a.log,
		},
		FrontProxy: authn.FrontProxy{
			CAs: tls.RequestHeaderCAs(), AllowedNames: proxy.AllowedNames,
			UsernameHeaders: proxy.UsernameHeaders, UIDHeaders: proxy.UIDHeaders, GroupHeaders: proxy.GroupHeaders,
			ExtraHeaderPrefixes: proxy.ExtraHeaderPrefixes,
		},
		AccountKeys: a.keys, AccountIssuers: o.Tokens.Issuers,
	})
	return err
}

// makeTokens reads the keys for tokens of service accounts, and configures their token subresource by the options.
// Without a signing key it creates one.
func (a *authentication) makeTokens() error {
	o := &a.options.Tokens
	signing, err := identity.TokenKey(a.home.dir, o.SigningKeyFile)
	if err != nil {
		return err
	}
	verifying, err := identity.VerificationKeys(o.KeyFiles)
	if err != nil {
		return err
	}
	if a.keys, err = serviceaccount.NewKeys(signing, verifying); err != nil {
		return err
	}
	signer, err := a.keys.Signer(o.Issuers[0])
	if err == nil {
		a.secrets, err = a.keys.Signer(serviceaccount.LegacyIssuer)
	}
	if err != nil {
		return fmt.Errorf("--service-account-signing-key-file: %s: %w", o.SigningKeyFile, err)
	}
	if o.ExtendExpiration && o.MaxExpiration != 0 && o.MaxExpiration < core.ExtendedLifetime {
		a.log.Warn("tokens that kubelets ask for live longer than --service-account-max-token-expiration, as "+
			"--service-account-extend-token-expiration says",
			"most", o.MaxExpiration, "theirs", core.ExtendedLifetime)
	}
	a.tokens = core.Tokens{
		Signer: signer, Audiences: o.Audiences(), MaxLifetime: o.MaxExpiration, Extend: o.ExtendExpiration,
	}
	return nil
}

// authorization decides who may do what.
type authorization struct {
	*base
	storage *storage
	*authz.Authorizer
	// roles keeps the roles and bindings that it decides by, unless the options say otherwise.
	roles *roles.Keeper
}

// start makes the authorizer.
func (a *authorization) start(context.Context) (err error) {
	o, byRoles, etcd := &a.options.Authorization, rbac.New(), a.storage.below
	if a.roles, err = roles.New(byRoles, etcd.Live, etcd.Decoder, a.log); err != nil {
		return err
	}
	a.Authorizer, err = authz.New(authz.Config{
		Modes: o.InOrder(), File: o.ConfigFile, Webhook: o.Webhook, RBAC: byRoles,
		Process: a.journeys.Process(), Registry: a.metrics.Registry, Log: a.log,
	})
	return err
}

// plugins are the admission plugins, with what they find on their own.
type plugins struct {
	*base
	home          *home
	storage       *storage
	authorization *authorization
	*admission.Plugins
	// objects mirrors the objects that configure admission.
	objects *mirror.Keeper
	// services finds services, for webhooks and APIServices.
	services *service.Finder
}

// start makes the plugins, which Initialize connects to the storages later.
func (p *plugins) start(context.Context) (err error) {
	o, etcd := &p.options.Admission, p.storage.below
	p.objects = mirror.New(etcd.Live, etcd.Decoder, p.log)
	p.services = &service.Finder{Addresses: o.Services, Endpoints: p.options.Aggregator.Endpoints, Self: p.home.address}
	p.Plugins, err = admission.New(admission.Config{
		Selection: o.Selection, Tolerations: o.Tolerations, Authorizer: p.authorization.Authorizer,
		Services: p.services, Kept: p.objects, File: o.File, Observe: p.options.Observe,
		Process: p.journeys.Process(), Registry: p.metrics.Registry, Log: p.log,
	})
	return err
}
