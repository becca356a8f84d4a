package embedded

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	etcderrors "go.etcd.io/etcd/server/v3/etcdserver/errors"
	"go.uber.org/zap"
	"go.uber.org/zap/zapcore"

	"github.com/kx-apiserver/kx/core/escape"
)

// faults collects errors that etcd considers fatal. etcd reacts to them by ending the process, or by a panic on a
// goroutine that can't be guarded. Here the goroutine ends instead, which keeps the rule that nothing after the fault
// runs, and the fault becomes an error.
type faults struct {
	once sync.Once
	// seen is closed after the first fault, which err then is. Later ones are its consequences and are only logged.
	seen chan struct{}
	err  error
}

func newFaults() *faults { return &faults{seen: make(chan struct{})} }

// OnWrite runs after etcd logged an entry at level panic or fatal, on the goroutine that did.
func (f *faults) OnWrite(entry *zapcore.CheckedEntry, fields []zapcore.Field) {
	f.once.Do(func() {
		f.err = faultError(entry.Message, fields)
		close(f.seen)
	})
	if entry.Message == notCommitted {
		select {}
	}
	runtime.Goexit()
}

// notCommitted is the fault of a database that can't be written to. At that moment the goroutine has the locks of its
// transaction, and etcd releases them when it ends: other goroutines would go on with a broken transaction, and
// panic. So the goroutine stays, and the others wait, until the process has ended.
const notCommitted = "failed to commit tx"

func faultError(message string, fields []zapcore.Field) error {
	for _, field := range fields {
		if err, ok := field.Interface.(error); ok && field.Type == zapcore.ErrorType {
			return fmt.Errorf("%s: %w", message, err)
		}
	}
	return errors.New(message)
}

// newLogger is etcd's logger: warnings and above go to to, the fatal ones also to faults. Once closing is set, what
// etcd says about its own end is dropped. It calls snapshot whenever etcd has written one.
func newLogger(to *slog.Logger, faults *faults, closing *atomic.Bool, snapshot func()) *zap.Logger {
	handler := slog.DiscardHandler
	if to != nil {
		handler = to.Handler()
	}
	core := &slogCore{handler: handler, closing: closing, snapshot: snapshot}
	return zap.New(core, zap.WithFatalHook(faults), zap.WithPanicHook(faults))
}

// expected lists messages about intended settings.
var expected = map[string]bool{
	// One port for both is right for a socket that admin commands use.
	"Running http and grpc server on single port. This is not recommended for production.": true,
	// The certificates of the https listeners don't concern the others, which are a unix socket and loopback addresses.
	"scheme is http or unix while key and cert files are present; ignoring key and cert files":           true,
	"scheme is http or unix while --client-cert-auth is enabled; ignoring client cert auth for this URL": true,
	"serving client traffic insecurely; this is strongly discouraged!":                                   true,
	// etcd's own users and their tokens are not used.
	"simple token is not cryptographically signed": true,
	// A new database has no term yet. etcd tries again until it has.
	"Failed to detect schema version":  true,
	"failed to update storage version": true,
}

// snapshotWritten are messages after which there is a new file of a snapshot: one of etcd's own, or one from another
// member.
var snapshotWritten = map[string]bool{
	"saved snapshot to disk":         true,
	"applied incoming Raft snapshot": true,
}

// expectedEnd ends a message, whose beginning is a term, of a start that is slow to read its log: it asks to lead
// before it has seen that it is alone, and asks again.
const expectedEnd = " since there are still pending configuration changes to apply"

// expectedClosing are messages with which the listeners answer that they were closed, and those about work that the end
// cut short: a start does it again.
var expectedClosing = map[string]bool{
	"failed to update cluster version":                   true,
	"aborting cluster version update; server is stopped": true,
	"server has stopped; skipping GoAttach":              true,
	"setting up serving from embedded etcd failed.":      true,
	"stopping insecure grpc server due to error":         true,
	"stopped insecure grpc server due to error":          true,
	"stopping secure grpc server due to error":           true,
	"stopped secure grpc server due to error":            true,
	// The other members notice too.
	"peer became inactive (message send to peer failed)": true,
	"lost TCP streaming connection with remote peer":     true,
	"closed TCP streaming connection with remote peer":   true,
	"failed to find remote peer in cluster":              true,
}

// notPublished ends an attempt of a start to write its first entry. etcd tries again without a pause.
const notPublished = "failed to publish local member to cluster through raft"

// busyReplaying says whether an attempt failed because the start has not applied its log yet. That is so for a moment
// in each start over more than 5,000 entries.
func busyReplaying(message string, fields []zapcore.Field) bool {
	return message == notPublished && failed(fields, etcderrors.ErrTooManyRequests)
}

// withoutSpace reports whether a write was refused because the quota is used up. Its client gets the error; a line
// for each write would let clients fill the log.
func withoutSpace(message string, fields []zapcore.Field) bool {
	return message == "failed to apply request" && failed(fields, etcderrors.ErrNoSpace)
}

// failed says whether one of the fields is an error.
func failed(fields []zapcore.Field, with error) bool {
	return slices.ContainsFunc(fields, func(f zapcore.Field) bool {
		err, ok := f.Interface.(error)
		return ok && errors.Is(err, with)
	})
}

// slogCore is a zap core that writes to an slog handler.
type slogCore struct {
	handler  slog.Handler
	closing  *atomic.Bool
	snapshot func()
}

// Enabled also lets informational messages reach Check, which uses some of them and writes none.
func (c *slogCore) Enabled(level zapcore.Level) bool { return level >= zapcore.InfoLevel }

func (c *slogCore) With(fields []zapcore.Field) zapcore.Core {
	return &slogCore{handler: c.handler.WithAttrs(attrs(fields)), closing: c.closing, snapshot: c.snapshot}
}

func (c *slogCore) Check(entry zapcore.Entry, checked *zapcore.CheckedEntry) *zapcore.CheckedEntry {
	if entry.Level < zapcore.WarnLevel {
		if snapshotWritten[entry.Message] {
			c.snapshot()
		}
		return checked
	}
	if c.isExpected(entry.Message) {
		return checked
	}
	return checked.AddCore(entry, c)
}

func (c *slogCore) isExpected(message string) bool {
	return expected[message] || strings.HasSuffix(message, expectedEnd) || c.closing.Load() && expectedClosing[message]
}

func (c *slogCore) Write(entry zapcore.Entry, fields []zapcore.Field) error {
	if busyReplaying(entry.Message, fields) || withoutSpace(entry.Message, fields) {
		return nil
	}
	level := slog.LevelError
	if entry.Level == zapcore.WarnLevel {
		level = slog.LevelWarn
	}
	ctx := context.Background()
	if !c.handler.Enabled(ctx, level) {
		return nil
	}
	record := slog.NewRecord(entry.Time, level, "etcd: "+entry.Message, entry.Caller.PC)
	record.AddAttrs(attrs(fields)...)
	return c.handler.Handle(ctx, record)
}

func (c *slogCore) Sync() error { return nil }

func attrs(fields []zapcore.Field) []slog.Attr {
	encoded := zapcore.NewMapObjectEncoder()
	out := make([]slog.Attr, 0, len(fields))
	for _, field := range fields {
		field.AddTo(encoded)
		if value, ok := encoded.Fields[field.Key]; ok {
			out = append(out, slog.Any(field.Key, harmless(value)))
		}
	}
	return out
}

// harmless returns a value without characters that act on a terminal: what etcd logs of a slow request has the key,
// which a client may have chosen.
func harmless(value any) any {
	switch v := value.(type) {
	case string:
		return escape.Line(v)
	case []any, map[string]any:
		return escape.Line(fmt.Sprint(v))
	}
	return value
}
