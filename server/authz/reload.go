package authz

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
	"k8s.io/apiserver/pkg/apis/apiserver"

	"github.com/kx-apiserver/kx/server/health"
)

// reloadEvery is how often the file is read again. A file that is replaced as those of a volume are has no other sign that all systems
// have in common.
const reloadEvery = 2 * time.Second

// reload is how the file is kept.
type reload struct {
	// data is what the file had when it was last read. Only Run uses it.
	data []byte

	mu     sync.Mutex
	failed error
}

// Run reads the file again when it changes, until ctx ends.
func (a *Authorizer) Run(ctx context.Context) {
	if a.config.File == "" {
		return
	}
	ticker := time.NewTicker(reloadEvery)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			a.look()
		case <-ctx.Done():
			return
		}
	}
}

// look reads the file, and takes over what has changed. If that is not possible, all stays as it was.
func (a *Authorizer) look() {
	data, err := os.ReadFile(a.config.File)
	if err == nil && bytes.Equal(data, a.reload.data) {
		return
	}
	if err == nil {
		a.reload.data = data
		err = a.take(data)
	} else {
		a.reload.data = nil // it counts as changed when it is back
	}
	before := a.failed(err)
	switch {
	case err == nil:
		a.metrics.reloaded("success")
		a.config.Log.Info("the authorizers are as their file says now", "file", a.config.File)
	case before == nil || before.Error() != err.Error():
		a.metrics.reloaded("failure")
		a.config.Log.Error("the authorizers stay as they were, since their file is of no use", "file", a.config.File, "error", err)
	}
}

// take makes the authorizers that the file wants. Those without a webhook stay: what they need is made at the start.
func (a *Authorizer) take(data []byte) error {
	configuration, err := parse(data)
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

// failed sets why the file was not taken over, and returns why it was not before.
func (a *Authorizer) failed(err error) (before error) {
	a.reload.mu.Lock()
	defer a.reload.mu.Unlock()
	before, a.reload.failed = a.reload.failed, err
	return before
}

// Ready says why the server is not ready: roles have not been read, or the file was not taken over.
func (a *Authorizer) Ready(context.Context) error {
	if a.chain.Load().has(RBAC) && !a.config.RBAC.Known() {
		return errors.New("the roles and bindings have not been read from etcd yet")
	}
	a.reload.mu.Lock()
	defer a.reload.mu.Unlock()
	if a.reload.failed == nil {
		return nil
	}
	return errors.Join(health.Reason("the authorizers are not as their file says: see the log"), a.reload.failed)
}

// counts are named as those of the Kubernetes API server.
type counts struct {
	decisions, reloads *prometheus.CounterVec
	reloadedAt         *prometheus.GaugeVec
}

func newCounts(reg prometheus.Registerer) *counts {
	f := promauto.With(reg)
	return &counts{
		decisions: f.NewCounterVec(prometheus.CounterOpts{
			Name: "apiserver_authorization_decisions_total", Help: "Decisions that an authorizer made alone, by its type and name.",
		}, []string{"type", "name", "decision"}),
		reloads: f.NewCounterVec(prometheus.CounterOpts{
			Name: "apiserver_authorization_config_controller_automatic_reloads_total", Help: "How often the file of --authorization-config had changed, by whether it was of use.",
		}, []string{"status"}),
		reloadedAt: f.NewGaugeVec(prometheus.GaugeOpts{
			Name: "apiserver_authorization_config_controller_automatic_reload_last_timestamp_seconds", Help: "When the file of --authorization-config had last changed, by whether it was of use.",
		}, []string{"status"}),
	}
}

func (c *counts) of(one *apiserver.AuthorizerConfiguration, decision string) prometheus.Counter {
	return c.decisions.WithLabelValues(string(one.Type), one.Name, decision)
}

func (c *counts) reloaded(status string) {
	c.reloads.WithLabelValues(status).Inc()
	c.reloadedAt.WithLabelValues(status).SetToCurrentTime()
}
