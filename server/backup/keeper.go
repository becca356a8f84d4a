package backup

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/kx-apiserver/kx/server/health"
	"github.com/kx-apiserver/kx/server/identity"
	"github.com/kx-apiserver/kx/server/options"
	"github.com/kx-apiserver/kx/store/admin"
	"github.com/kx-apiserver/kx/store/backup"
)

// Config configures a Keeper.
type Config struct {
	Options options.Backup
	// DataDir is the server's data directory, and Record describes its start.
	DataDir string
	Record  *Record
	Live    *admin.Live

	Registry prometheus.Registerer
	Log      *slog.Logger
}

const (
	// retryWait is the pause after a failure, unless the interval is shorter.
	retryWait = 5 * time.Minute
	// failuresMost is the number of consecutive failures that makes a server not ready.
	failuresMost = 2

	// Names sort by time: kx-20261127T030608.123Z-1a2b3c4d.tar. The server's mark follows the time.
	nameBegins, nameEnds = "kx-", ".tar"
	nameTime             = "20060102T150405.000Z"
	// temporaryEnds is the suffix of unfinished archives.
	temporaryEnds = ".part"
)

// Keeper makes archives while the server runs. mu guards failures, last and since.
type Keeper struct {
	config  Config
	mark    string
	metrics *counts

	mu       sync.Mutex
	failures int
	last     error
	// since is the time of the last archive, or of the Keeper's creation.
	since time.Time
}

// New creates the keeper of a directory, and the directory if it is missing. Without a directory it returns
// nil.
func New(c Config) (*Keeper, error) {
	if c.Options.Dir == "" {
		return nil, nil
	}
	if err := os.MkdirAll(c.Options.Dir, 0o700); err != nil {
		return nil, fmt.Errorf("--backup-dir: %w", err)
	}
	needed, _ := identity.KeptFiles()
	key, err := os.ReadFile(filepath.Join(c.DataDir, needed[len(needed)-1]))
	if err != nil {
		return nil, fmt.Errorf("--backup-dir: %w", err)
	}
	k := &Keeper{config: c, mark: fmt.Sprintf("%x", sha256.Sum256(key))[:8], metrics: newCounts(c.Registry), since: time.Now()}
	all, err := k.archives()
	if err != nil {
		return nil, fmt.Errorf("--backup-dir: %w", err)
	}
	if len(all) > 0 {
		k.since = all[len(all)-1].made
		k.metrics.success.Set(float64(k.since.Unix()))
	}
	return k, k.removeHalf()
}

// removeHalf removes the unfinished archive of a killed server.
func (k *Keeper) removeHalf() error {
	left, err := filepath.Glob(filepath.Join(k.config.Options.Dir, "."+nameBegins+"*-"+k.mark+nameEnds+".*"+temporaryEnds))
	for _, path := range left {
		err = errors.Join(err, os.Remove(path))
	}
	return err
}

// archive is an archive of this server.
type archive struct {
	path string
	made time.Time
}

// archives lists this server's archives, the oldest first.
func (k *Keeper) archives() (all []archive, err error) {
	entries, err := os.ReadDir(k.config.Options.Dir)
	for _, entry := range entries {
		text, ok := strings.CutPrefix(entry.Name(), nameBegins)
		if !ok {
			continue
		}
		text, ok = strings.CutSuffix(text, "-"+k.mark+nameEnds)
		if made, err := time.Parse(nameTime, text); ok && err == nil && entry.Type().IsRegular() {
			all = append(all, archive{filepath.Join(k.config.Options.Dir, entry.Name()), made})
		}
	}
	return all, err
}

// Run makes archives until ctx ends. The first one is due when the newest in the directory is as old as the
// interval, so that a server with many restarts does not replace all old archives by new ones. A nil Keeper
// makes none.
func (k *Keeper) Run(ctx context.Context) {
	if k == nil {
		return
	}
	wait := time.Duration(0)
	if all, err := k.archives(); err == nil && len(all) > 0 {
		// The clock may have been wrong.
		wait = min(max(k.config.Options.Interval-time.Since(all[len(all)-1].made), 0), k.config.Options.Interval)
	}
	for {
		timer := time.NewTimer(wait)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			return
		}
		wait = k.config.Options.Interval
		if err := k.saveOne(ctx); err != nil && ctx.Err() == nil {
			wait = min(wait, retryWait)
		}
	}
}

// saveOne makes an archive and deletes the oldest.
func (k *Keeper) saveOne(ctx context.Context) error {
	begun := time.Now()
	saved, err := k.save(ctx, begun)
	if ctx.Err() != nil {
		return err // the server stops
	}
	k.result(begun, err)
	if err != nil {
		k.metrics.failures.Inc()
		k.config.Log.Error("no backup was made", "directory", k.config.Options.Dir, "error", err)
		return err
	}
	k.metrics.success.Set(float64(begun.Unix()))
	k.metrics.size.Set(float64(saved.Size))
	k.metrics.duration.Set(time.Since(begun).Seconds())
	etcd := saved.Manifest.Etcd
	k.config.Log.Info("made a backup", "file", saved.File, "revision", etcd.Revision, "keys", etcd.Keys, "bytes", saved.Size)
	k.deleteOldest()
	return nil
}

func (k *Keeper) save(ctx context.Context, now time.Time) (*backup.Summary, error) {
	parts, err := k.config.Record.Parts(k.config.DataDir)
	if err != nil {
		return nil, err
	}
	// The directory may be on a disk that was not mounted at the start.
	if err := os.MkdirAll(k.config.Options.Dir, 0o700); err != nil {
		return nil, err
	}
	save := backup.Save{Live: k.config.Live, Parts: parts, Describe: k.config.Record.Describe()}
	return save.File(ctx, filepath.Join(k.config.Options.Dir, nameBegins+now.UTC().Format(nameTime)+"-"+k.mark+nameEnds))
}

// deleteOldest deletes surplus archives. Its failure is logged, and does not count as a failure of the backup.
func (k *Keeper) deleteOldest() {
	all, err := k.archives()
	for len(all) > k.config.Options.Keep {
		err = errors.Join(err, os.Remove(all[0].path))
		all = all[1:]
	}
	if err != nil {
		k.config.Log.Warn("old backups could not be deleted", "directory", k.config.Options.Dir, "error", err)
	}
}

// result stores the result of the last attempt.
func (k *Keeper) result(at time.Time, err error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.last = err; err != nil {
		k.failures++
		return
	}
	k.failures, k.since = 0, at
}

// Ready fails after two failures in a row.
func (k *Keeper) Ready(context.Context) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.failures < failuresMost {
		return nil
	}
	return health.Reason(fmt.Sprintf("%d backups in a row failed, and none was made since %s: %v",
		k.failures, k.since.UTC().Format(time.RFC3339), k.last))
}

// counts are the metrics of backups.
type counts struct {
	success, duration, size prometheus.Gauge
	failures                prometheus.Counter
}

func newCounts(registry prometheus.Registerer) *counts {
	f := promauto.With(registry)
	return &counts{
		success: f.NewGauge(prometheus.GaugeOpts{
			Name: "kx_backup_last_success_timestamp_seconds", Help: "When the newest backup was begun that is complete."}),
		duration: f.NewGauge(prometheus.GaugeOpts{
			Name: "kx_backup_last_duration_seconds", Help: "How long the last backup took that this process made."}),
		size: f.NewGauge(prometheus.GaugeOpts{
			Name: "kx_backup_last_size_bytes", Help: "How large the last backup is that this process made."}),
		failures: f.NewCounter(prometheus.CounterOpts{
			Name: "kx_backup_failures_total", Help: "Backups that could not be made."}),
	}
}
