package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/kx-apiserver/kx/cmd/kx/internal/render"
	"github.com/kx-apiserver/kx/server/options"
	"github.com/kx-apiserver/kx/store/admin"
	"github.com/kx-apiserver/kx/store/embedded"
	"github.com/kx-apiserver/kx/store/transform"
)

// Exit codes of kx etcd, besides 0 for success and 1 for failure.
const (
	exitRefused = 2
	exitFound   = 3
)

// exitError gives a command its exit code. Without err it prints nothing.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string {
	if e.err == nil {
		return ""
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

// etcdOptions select an etcd, and configure the decoding of its values.
type etcdOptions struct {
	dataDir    string
	endpoint   admin.Endpoint
	file       string
	prefix     string
	encryption string
	color      string

	flags []*pflag.Flag // of the fields above, except color
}

func newEtcdCommand() *cobra.Command {
	o := newEtcdOptions()
	cmd := &cobra.Command{
		Use:   "etcd",
		Short: "Look at and mend what lies below the API: the keys and values in etcd",
		Long: `Look at and mend what lies below the API: the keys and values in etcd.

The commands use the etcd of the kx that runs on --data-dir. --endpoints names another etcd. --file names a snapshot, or
the data directory of an etcd that does not run, and is only read. If no kx runs, commands that only read use the files
of --data-dir.

A KEY or PREFIX that does not begin with a slash is below --etcd-prefix: pods/default/web is /registry/pods/default/web.

Exit codes: 0 done, 1 failed, 2 refused (see --force), 3 done and found something (differences, problems).`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	o.addFlags(cmd, cmd.PersistentFlags())
	cmd.PersistentFlags().StringVar(&o.color, "color", o.color, "colour differences: auto, always or never")
	oneOf(cmd, "color", "auto", "always", "never")
	cmd.AddCommand(
		newEtcdLsCommand(o), newEtcdGetCommand(o), newEtcdHistoryCommand(o), newEtcdWatchCommand(o), newEtcdDiffCommand(o),
		newEtcdTopCommand(o), newEtcdFindCommand(o),
		newEtcdPutCommand(o), newEtcdPatchCommand(o), newEtcdDeleteCommand(o), newEtcdUndoCommand(o),
		newEtcdStatusCommand(o), newEtcdMembersCommand(o), newEtcdCompactCommand(o), newEtcdDefragCommand(o),
		newEtcdAlarmsCommand(o), newEtcdHashCommand(o), newEtcdLeasesCommand(o),
		newEtcdSnapshotCommand(o), newEtcdSalvageCommand(), newEtcdRestoreObjectCommand(o), newEtcdDoctorCommand(o),
		newEtcdServeCommand(o),
	)
	return cmd
}

func newEtcdOptions() *etcdOptions {
	defaults := options.New()
	return &etcdOptions{dataDir: defaults.DataDir, prefix: defaults.Etcd.Prefix, color: "auto"}
}

// addFlags adds the flags that select an etcd to a command.
func (o *etcdOptions) addFlags(cmd *cobra.Command, fs *pflag.FlagSet) {
	fs.StringVar(&o.dataDir, "data-dir", o.dataDir, "data directory of the kx whose etcd to use")
	fs.StringSliceVar(&o.endpoint.URLs, "endpoints", nil, "URLs of an etcd's members, instead")
	fs.StringVar(&o.endpoint.CAFile, "cacert", "", "PEM file of the CA of the etcd")
	fs.StringVar(&o.endpoint.CertFile, "cert", "", "PEM file of the client's certificate")
	fs.StringVar(&o.endpoint.KeyFile, "key", "", "PEM file of its key")
	fs.StringVar(&o.file, "file", "", "a snapshot, or the data directory of an etcd or kx that does not run, instead")
	fs.StringVar(&o.prefix, "etcd-prefix", o.prefix, "prefix of the API server's keys")
	fs.StringVar(&o.encryption, "encryption-provider-config", "", "EncryptionConfiguration that the API server encrypts with")
	fs.VisitAll(func(f *pflag.Flag) { o.flags = append(o.flags, f) })
	cmd.MarkFlagsMutuallyExclusive("endpoints", "file")
	cmd.MarkFlagsMutuallyExclusive("data-dir", "endpoints")
}

// sameEtcd returns the flags with which another command uses the same etcd.
func (o *etcdOptions) sameEtcd() (words []string) {
	for _, f := range o.flags {
		if !f.Changed {
			continue
		}
		value := f.Value.String()
		if several, ok := f.Value.(pflag.SliceValue); ok {
			value = strings.Join(several.GetSlice(), ",")
		}
		words = append(words, "--"+f.Name, value)
	}
	return words
}

// source opens the etcd or the file of the flags for reading. If no etcd runs over the data directory, it opens the
// directory's files like --file, and reports that to say.
func (o *etcdOptions) source(ctx context.Context, say func(string)) (admin.Source, error) {
	if err := o.checkNames(); err != nil {
		return nil, err
	}
	if o.file != "" {
		return admin.OpenFile(o.file)
	}
	if len(o.endpoint.URLs) == 0 && !o.runs(ctx) {
		if _, err := os.Stat(filepath.Join(o.dataDir, "etcd")); err == nil {
			say(fmt.Sprintf("no server runs: reading the files in %s", o.dataDir))
			return admin.OpenFile(o.dataDir)
		}
	}
	return o.live(ctx)
}

// checkNames refuses --endpoints and --file without a value, as of an unset variable: the command would use the etcd of
// --data-dir.
func (o *etcdOptions) checkNames() error {
	for _, f := range o.flags {
		if f.Changed && (f.Name == "endpoints" && strings.Join(o.endpoint.URLs, "") == "" || f.Name == "file" && o.file == "") {
			return fmt.Errorf("--%s is empty: leave it out to use the etcd of --data-dir", f.Name)
		}
	}
	return nil
}

// runs reports whether an etcd answers at the socket of the data directory. A killed etcd leaves its socket behind.
func (o *etcdOptions) runs(ctx context.Context) bool {
	socket, err := filepath.Abs(filepath.Join(o.dataDir, embedded.SocketName))
	if err != nil {
		return false
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, "unix", socket)
	if err != nil {
		return false
	}
	_ = conn.Close()
	return true
}

// live connects to the etcd that the flags select.
func (o *etcdOptions) live(ctx context.Context) (*admin.Live, error) {
	if err := o.checkNames(); err != nil {
		return nil, err
	}
	if o.file != "" {
		return nil, errors.New("--file is only read: this needs an etcd that runs")
	}
	e := o.endpoint
	if len(e.URLs) == 0 {
		socket, err := filepath.Abs(filepath.Join(o.dataDir, embedded.SocketName))
		if err != nil {
			return nil, err
		}
		if _, err := os.Stat(socket); err != nil {
			return nil, fmt.Errorf(
				"no kx with an etcd runs over %s: start kx serve, or name another with --data-dir, --endpoints or --file", o.dataDir)
		}
		e.URLs = []string{"unix://" + socket}
	}
	return admin.Connect(ctx, e)
}

func (o *etcdOptions) decoder() (*admin.Decoder, error) {
	d := &admin.Decoder{Prefix: o.keyPrefix()}
	if o.encryption != "" {
		var err error
		if d.Encryption, err = transform.LoadConfig(o.encryption); err != nil {
			return nil, err
		}
	}
	return d, nil
}

// keyPrefix returns the prefix of the API server's keys, with the slash that --etcd-prefix may leave out.
func (o *etcdOptions) keyPrefix() string { return options.Etcd{Prefix: o.prefix}.KeyPrefix() }

// path returns the key or prefix for an argument.
func (o *etcdOptions) path(arg string) string { return admin.Path(o.keyPrefix(), arg) }

// pathOf returns the path for the first argument. Without arguments it covers all keys.
func (o *etcdOptions) pathOf(args []string) string {
	if len(args) == 0 {
		return ""
	}
	return o.path(args[0])
}

// untilInterrupted ends the context of a command at an interrupt.
func untilInterrupted(cmd *cobra.Command) (context.Context, context.CancelFunc) {
	return signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
}

// reader is a source of keys and values with its decoder.
type reader struct {
	admin.Source
	decoder  *admin.Decoder
	out, err io.Writer
}

// read opens a source and a decoder for run, and closes the source after it.
func (o *etcdOptions) read(cmd *cobra.Command, run func(context.Context, *reader) error) error {
	ctx, stop := untilInterrupted(cmd)
	defer stop()
	decoder, err := o.decoder()
	if err != nil {
		return err
	}
	source, err := o.source(ctx, func(text string) { fmt.Fprintln(cmd.ErrOrStderr(), text) })
	if err != nil {
		return err
	}
	err = run(ctx, &reader{Source: source, decoder: decoder, out: cmd.OutOrStdout(), err: cmd.ErrOrStderr()})
	return errors.Join(err, source.Close())
}

// ask opens a running etcd for run, and closes it after.
func (o *etcdOptions) ask(cmd *cobra.Command, run func(context.Context, *admin.Live) error) error {
	ctx, stop := untilInterrupted(cmd)
	defer stop()
	live, err := o.live(ctx)
	if err != nil {
		return err
	}
	err = run(ctx, live)
	if closed := live.Close(); !errors.Is(closed, context.Canceled) {
		err = errors.Join(err, closed)
	}
	return err
}

// revision parses the revision of a flag. An empty flag means the current revision.
func (r *reader) revision(ctx context.Context, text string) (int64, error) {
	if text == "" {
		return 0, nil
	}
	head, err := r.Head(ctx)
	if err != nil {
		return 0, err
	}
	return admin.ParseRevision(text, head)
}

// keysProgress shows the number of keys read so far on a terminal.
func (r *reader) keysProgress() *render.Progress {
	return render.NewProgress(r.err, func(done int64) string {
		return fmt.Sprintf("%s: %s keys", r.Name(), render.Count(done))
	})
}

// countingSource wraps a source, and adds each key to a progress.
type countingSource struct {
	admin.Source
	progress *render.Progress
}

func (c countingSource) Range(ctx context.Context, r admin.Range) iter.Seq2[admin.KV, error] {
	return func(yield func(admin.KV, error) bool) {
		for kv, err := range c.Source.Range(ctx, r) {
			c.progress.Add(1)
			if !yield(kv, err) {
				return
			}
		}
	}
}
