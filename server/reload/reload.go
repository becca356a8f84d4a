package reload

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/kx-apiserver/kx/server/health"
)

// every is the pause between reads of the files. Reading is the only sign of a replaced file that works on all
// systems, also for files of volumes.
const every = 2 * time.Second

// ErrLater is returned by Take while it waits for something. It is no failure.
var ErrLater = errors.New("it is not time yet")

// Config describes a configuration to keep up to date.
type Config struct {
	Source Source
	// What names it, in the plural, as the start of sentences: "the authorizers".
	What string
	// Take applies the content of the files. An error, which names file and field, leaves the earlier
	// configuration.
	Take func(ctx context.Context, files []File, hash string) error

	// Metrics is the prefix of the metrics' names, such as "apiserver_authorization_config_controller"; empty for
	// none. Flag is the name of the files in their help. Process and Labels distinguish this process in them.
	Metrics, Flag, Process string
	Labels                 prometheus.Labels

	Registry prometheus.Registerer
	Log      *slog.Logger
}

// Keeper keeps one configuration up to date with its files. mu guards failed.
type Keeper struct {
	config  Config
	metrics *counts
	// taken is the hash of the last applied content. Only Run uses it.
	taken string

	mu     sync.Mutex
	failed error
}

// New creates a keeper for a configuration that is already applied and has this hash.
func New(c Config, hash string) *Keeper {
	k := &Keeper{config: c, metrics: newCounts(&c), taken: hash}
	k.metrics.setCurrent(hash)
	return k
}

// Run checks the files until ctx ends. A nil Keeper has none.
func (k *Keeper) Run(ctx context.Context) {
	if k == nil {
		return
	}
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			k.Look(ctx)
		case <-ctx.Done():
			return
		}
	}
}

// Look reads the files, and applies them if they have changed. Run calls it; other callers must not call Run.
func (k *Keeper) Look(ctx context.Context) {
	files, hash, err := k.config.Source.Read()
	if err == nil && hash == k.taken {
		return
	}
	k.taken = "" // if the earlier content comes back, it counts as changed, too
	if err == nil {
		err = k.config.Take(ctx, files, hash)
	}
	switch {
	case errors.Is(err, ErrLater), ctx.Err() != nil:
	case err == nil:
		k.recordTake(hash)
	default:
		k.recordFailure(err)
	}
}

func (k *Keeper) recordTake(hash string) {
	k.taken = hash
	k.fail(nil)
	k.metrics.count("success")
	k.metrics.setCurrent(hash)
	k.config.Log.Info(fmt.Sprintf("%s are as their %s says now", k.config.What, k.config.Source.noun()), k.config.Source.noun(),
		k.config.Source.Path)
}

func (k *Keeper) recordFailure(err error) {
	if before := k.fail(err); before != nil && before.Error() == err.Error() {
		return
	}
	k.metrics.count("failure")
	noun := k.config.Source.noun()
	k.config.Log.Error(fmt.Sprintf("%s stay as they were, since their %s is of no use", k.config.What, noun), noun, k.config.Source.Path,
		"error", err)
}

// fail stores the error of applying the files, and returns the previous one.
func (k *Keeper) fail(err error) (before error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	before, k.failed = k.failed, err
	return before
}

// Ready returns an error if the files were not applied.
func (k *Keeper) Ready(context.Context) error {
	if k == nil {
		return nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.failed == nil {
		return nil
	}
	return errors.Join(health.Reason(fmt.Sprintf("%s are not as their %s says: see the log", k.config.What, k.config.Source.noun())),
		k.failed)
}

// counts has the metrics of the Kubernetes API server.
type counts struct {
	reloads          *prometheus.CounterVec
	reloadedAt, info *prometheus.GaugeVec
}

// newCounts returns nil for a configuration without metrics.
func newCounts(c *Config) *counts {
	if c.Metrics == "" {
		return nil
	}
	labels := prometheus.Labels{"apiserver_id_hash": fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(c.Process)))}
	maps.Copy(labels, c.Labels)
	f := promauto.With(c.Registry)
	return &counts{
		reloads: f.NewCounterVec(prometheus.CounterOpts{
			Name: c.Metrics + "_automatic_reloads_total", ConstLabels: labels,
			Help: "How often what " + c.Flag + " names had changed, by whether it was of use.",
		}, []string{"status"}),
		reloadedAt: f.NewGaugeVec(prometheus.GaugeOpts{
			Name: c.Metrics + "_automatic_reload_last_timestamp_seconds", ConstLabels: labels,
			Help: "When what " + c.Flag + " names had last changed, by whether it was of use.",
		}, []string{"status"}),
		info: f.NewGaugeVec(prometheus.GaugeOpts{
			Name: c.Metrics + "_last_config_info", ConstLabels: labels,
			Help: "The hash of what " + c.Flag + " names, as far as it counts.",
		}, []string{"hash"}),
	}
}

func (c *counts) count(status string) {
	if c == nil {
		return
	}
	c.reloads.WithLabelValues(status).Inc()
	c.reloadedAt.WithLabelValues(status).SetToCurrentTime()
}

// setCurrent records the hash of the configuration in use.
func (c *counts) setCurrent(hash string) {
	if c == nil {
		return
	}
	c.info.Reset()
	c.info.WithLabelValues(hash).Set(1)
}
