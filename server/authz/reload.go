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

// keeper reloads the file of the authorizers. hash is the hash of the current one.
func (a *Authorizer) keeper(hash string) *reload.Keeper {
	return reload.New(reload.Config{
		Source: reload.OneFile(a.config.File), What: "the authorizers", Take: a.take,
		Metrics: "apiserver_authorization_config_controller", Flag: "--authorization-config", Process: a.config.Process,
		Registry: a.config.Registry, Log: a.config.Log,
	}, hash)
}

// Run reloads the file when it changes, until ctx ends.
func (a *Authorizer) Run(ctx context.Context) { a.reload.Run(ctx) }

// take puts the authorizers of a changed file into use. It refuses a file that drops an authorizer without a webhook,
// because the parts of those are made at the start.
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

// Ready returns an error if roles have not been read, or if the current file is not in use.
func (a *Authorizer) Ready(ctx context.Context) error {
	if a.chain.Load().has(RBAC) && !a.config.RBAC.Known() {
		return errors.New("the roles and bindings have not been read from etcd yet")
	}
	return a.reload.Ready(ctx)
}

// counts holds metrics with the names of a Kubernetes API server.
type counts struct{ decisions *prometheus.CounterVec }

func newCounts(reg prometheus.Registerer) *counts {
	return &counts{promauto.With(reg).NewCounterVec(prometheus.CounterOpts{
		Name: "apiserver_authorization_decisions_total", Help: "Decisions that an authorizer made alone, by its type and name.",
	}, []string{"type", "name", "decision"})}
}

func (c *counts) counter(one *apiserver.AuthorizerConfiguration, decision string) prometheus.Counter {
	return c.decisions.WithLabelValues(string(one.Type), one.Name, decision)
}
