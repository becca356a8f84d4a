package options

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"github.com/kx-apiserver/kx/server/audit"
)

// Audit configures which requests are recorded, and where.
type Audit struct {
	// PolicyFile is the path of the policy. If it is empty, the metadata of every write is recorded.
	PolicyFile string
	Log        audit.LogFile
	Webhook    audit.Webhook
}

// defaultAudit returns the defaults of a Kubernetes API server.
func defaultAudit() Audit {
	delivery := audit.Delivery{
		Version: audit.Version, BufferSize: 10000, MaxEventBytes: 100 << 10, MaxBatchBytes: 10 << 20,
	}
	a := Audit{
		Log:     audit.LogFile{MaxAge: 366, MaxBackups: 100, MaxSize: 100, Format: audit.FormatJSON, Delivery: delivery},
		Webhook: audit.Webhook{InitialBackoff: 10 * time.Second, Delivery: delivery},
	}
	a.Log.Mode, a.Log.BatchMaxSize = audit.ModeBlocking, 1
	w := &a.Webhook
	w.Mode, w.BatchMaxSize, w.BatchMaxWait = audit.ModeBatch, 400, 30*time.Second
	w.Throttle, w.ThrottleQPS, w.ThrottleBurst = true, 10, 15
	return a
}

func (a *Audit) addFlags(fs *pflag.FlagSet) {
	fs.StringVar(&a.PolicyFile, "audit-policy-file", a.PolicyFile,
		"which requests the audit log records, and how much of them (default: the metadata of every write)")
	l, w := &a.Log, &a.Webhook
	fs.StringVar(&l.Path, "audit-log-path", l.Path, "file to write the audit log to; - for standard output")
	fs.IntVar(&l.MaxSize, "audit-log-maxsize", l.MaxSize, "megabytes after which the file is renamed and a new one begins; 0 for never")
	fs.IntVar(&l.MaxBackups, "audit-log-maxbackup", l.MaxBackups, "how many renamed files are kept; 0 for all")
	fs.IntVar(&l.MaxAge, "audit-log-maxage", l.MaxAge, "days after which a renamed file is removed; 0 for never")
	fs.BoolVar(&l.Compress, "audit-log-compress", l.Compress, "compress renamed files with gzip")
	fs.StringVar(&l.Format, "audit-log-format", l.Format,
		"what an event is in the file: json, or legacy for one line of text with the most important of it")
	addDeliveryFlags(fs, &l.Delivery, "audit-log", "the file")
	fs.StringVar(&w.File, "audit-webhook-config-file", w.File, "kubeconfig of a server that events are sent to")
	fs.DurationVar(&w.InitialBackoff, "audit-webhook-initial-backoff", w.InitialBackoff,
		"how long after a failure events are sent again; each of three more attempts waits half as long again")
	fs.DurationVar(&w.InitialBackoff, "audit-webhook-batch-initial-backoff", w.InitialBackoff, "the same")
	_ = fs.MarkDeprecated("audit-webhook-batch-initial-backoff", "use --audit-webhook-initial-backoff") // it is there
	addDeliveryFlags(fs, &w.Delivery, "audit-webhook", "the webhook")
}

// addDeliveryFlags adds the flags that the file and the webhook have in common.
func addDeliveryFlags(fs *pflag.FlagSet, d *audit.Delivery, prefix, to string) {
	fs.StringVar(&d.Version, prefix+"-version", d.Version, "API version of the events that "+to+" gets: "+audit.Version)
	fs.StringVar(&d.Mode, prefix+"-mode", d.Mode,
		"whether requests wait until "+to+" has their events: batch for no, blocking for yes, blocking-strict to also "+
			"refuse a request whose first event was lost")
	fs.IntVar(&d.BufferSize, prefix+"-batch-buffer-size", d.BufferSize, "how many events may wait for "+to+", in mode batch; more are lost")
	fs.IntVar(&d.BatchMaxSize, prefix+"-batch-max-size", d.BatchMaxSize, "how many events "+to+" gets at once, in mode batch")
	fs.DurationVar(&d.BatchMaxWait, prefix+"-batch-max-wait", d.BatchMaxWait,
		"how long the first event of a batch waits for the others, in mode batch")
	fs.BoolVar(&d.Throttle, prefix+"-batch-throttle-enable", d.Throttle, "bound how many batches a second "+to+" gets, in mode batch")
	fs.Float32Var(&d.ThrottleQPS, prefix+"-batch-throttle-qps", d.ThrottleQPS, "how many batches a second "+to+" gets on average")
	fs.IntVar(&d.ThrottleBurst, prefix+"-batch-throttle-burst", d.ThrottleBurst,
		"how many batches "+to+" may get at once after a quiet time")
	fs.BoolVar(&d.Truncate, prefix+"-truncate-enabled", d.Truncate,
		"remove the bodies of events that are too large, and events that are too large without")
	fs.Int64Var(&d.MaxEventBytes, prefix+"-truncate-max-event-size", d.MaxEventBytes, "bytes that an event may have")
	fs.Int64Var(&d.MaxBatchBytes, prefix+"-truncate-max-batch-size", d.MaxBatchBytes, "bytes that a batch may have, about")
}

func (a *Audit) validate() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if a.PolicyFile != "" && a.Log.Path == "" && a.Webhook.File == "" {
		bad("--audit-policy-file says what to log, but neither --audit-log-path nor --audit-webhook-config-file says where")
	}
	if !slices.Contains(audit.Formats, a.Log.Format) {
		bad("--audit-log-format: %q is none of %s", a.Log.Format, strings.Join(audit.Formats, ", "))
	}
	if a.Log.MaxAge < 0 || a.Log.MaxBackups < 0 || a.Log.MaxSize < 0 {
		bad("--audit-log-maxage, --audit-log-maxbackup and --audit-log-maxsize can't be negative: give 0 for no bound")
	}
	if a.Webhook.InitialBackoff < 0 {
		bad("--audit-webhook-initial-backoff: %v can't be negative", a.Webhook.InitialBackoff)
	}
	validateDelivery(&a.Log.Delivery, "--audit-log", bad)
	validateDelivery(&a.Webhook.Delivery, "--audit-webhook", bad)
	return errors.Join(errs...)
}

// mostBuffered limits the buffer, which is allocated at the start: that many events take 160 MB.
const mostBuffered = 10_000_000

// validateDelivery calls bad for each error. It checks the flags of a mode only in that mode.
func validateDelivery(d *audit.Delivery, prefix string, bad func(format string, args ...any)) {
	if d.Version != audit.Version {
		bad("%s-version: %q must be %s", prefix, d.Version, audit.Version)
	}
	if !slices.Contains(audit.Modes, d.Mode) {
		bad("%s-mode: %q is none of %s", prefix, d.Mode, strings.Join(audit.Modes, ", "))
	}
	if d.Mode == audit.ModeBatch {
		if d.BufferSize <= 0 || d.BufferSize > mostBuffered {
			bad("%s-batch-buffer-size: %d must be from 1 to %d", prefix, d.BufferSize, mostBuffered)
		}
		if d.BatchMaxSize <= 0 {
			bad("%s-batch-max-size must be more than 0", prefix)
		}
		if d.BatchMaxWait < 0 {
			bad("%s-batch-max-wait: %v can't be negative", prefix, d.BatchMaxWait)
		}
		if d.Throttle && (d.ThrottleQPS <= 0 || d.ThrottleBurst <= 0) {
			bad("%s-batch-throttle-qps and %s-batch-throttle-burst must be more than 0, or give %s-batch-throttle-enable=false",
				prefix, prefix, prefix)
		}
	}
	if d.MaxEventBytes <= 0 || d.MaxBatchBytes < d.MaxEventBytes {
		bad("%s-truncate-max-event-size must be more than 0, and %s-truncate-max-batch-size no less than that", prefix, prefix)
	}
}
