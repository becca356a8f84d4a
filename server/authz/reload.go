package authz

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"k8s.io/apiserver/pkg/apis/apiserver"

	"github.com/kx-apiserver/kx/server/reload"
)

// keeper keeps the authorizers as their file says, which has this hash now.
func (a *Authorizer) keeper(hash string) *reload.Keeper {
	return reload.New(reload.Config{
		Source: reload.OneFile(a.config.File), What: "the authorizers", Take: a.take,
		Metrics: "apiserver_authorization_config_controller", Flag: "--authorization-config", Process: a.config.Process,
		Registry: a.config.Registry, Log: a.config.Log,
	}, hash)
}

// Run reads the file again when it changes, until ctx ends.
func (a *Authorizer) Run(ctx context.Context) { a.reload.Run(ctx) }

// take makes the authorizers that the file wants. Those without a webhook stay: what they need is made at the start.
func (a *Authorizer) take(_ context.Context, files []reload.File, _ string) error {
	configuration, err := parse(files[0].Data)
	if err != nil {
		return err
	}
	next, err := a.newChain(configuration)
	if err != nil {
		return err
	}
	for _, l := range a.chain.Load().links {
		if l.kind != apiserver.TypeWebhook && !next.has(l.kind) {
			return fmt.Errorf("authorizers: the one of type %s is gone, which needs another start of the server", l.kind)
		}
	}
	a.chain.Store(next)
	return nil
}

func (c *chain) has(kind apiserver.AuthorizerType) bool {
	return slices.ContainsFunc(c.links, func(l link) bool { return l.kind == kind })
}

// Ready says why the server is not ready: roles have not been read, or the file was not taken over.
func (a *Authorizer) Ready(ctx context.Context) error {
	if a.chain.Load().has(RBAC) && !a.config.RBAC.Known() {
		return errors.New("the roles and bindings have not been read from etcd yet")
	}
	return a.reload.Ready(ctx)
}

// counts are named as those of the Kubernetes API server.
type counts struct{ decisions *prometheus.CounterVec }

func newCounts(reg prometheus.Registerer) *counts {
	return &counts{promauto.With(reg).NewCounterVec(prometheus.CounterOpts{
		Name: "apiserver_authorization_decisions_total", Help: "Decisions that an authorizer made alone, by its type and name.",
	}, []string{"type", "name", "decision"})}
}

func (c *counts) of(one *apiserver.AuthorizerConfiguration, decision string) prometheus.Counter {
	return c.decisions.WithLabelValues(string(one.Type), one.Name, decision)
}
