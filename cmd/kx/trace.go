package main

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/kx-apiserver/kx/cmd/kx/internal/render"
	"github.com/kx-apiserver/kx/cmd/kx/internal/render/journey"
	"github.com/kx-apiserver/kx/core/filter"
	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/server"
	"github.com/kx-apiserver/kx/tui/session"
)

// traceOptions are the flags of kx trace and the commands below it.
type traceOptions struct {
	serverOptions
	format render.Format

	verbs, resources, namespaces, names, users, agents []string
	codes                                              []int
	min                                                time.Duration

	// wait is the number of requests after which following ends, or 0 for no end. timeout limits the wait for them.
	wait    int
	timeout time.Duration
}

func newTraceCommand() *cobra.Command {
	o := &traceOptions{serverOptions: newServerOptions()}
	cmd := &cobra.Command{
		Use:   "trace [FILTER]",
		Short: "Follow requests as they happen, and see which way they went",
		Long: `Follow requests as they happen, one line each: what was asked, what came of it, how long it took, and who asked. The ID at the end is for kx trace show.

With --wait it ends as soon as that many requests have matched; those that the server remembers count. It fails if they have not
matched within --timeout.

Flags and the filter narrow what is shown. A request must match all of them; of a flag with several values, one is
enough. The filter is kx's filter language, in which these flags are written too:

` + filterHelp(),
		Example: `  kx trace                                                 # all requests, until interrupted
  kx trace --verb update --resource crontabs --code 409    # conflicts
  kx trace --min 5ms '!verb:watch'                         # slow ones
  kx trace --user alice -o json                            # for a machine
  kx trace --wait 1 'verb:update name:web code:200'        # until it has happened, or exit 1
  kx trace show 3f2a1c-17                                  # the way of one request`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.follow(cmd.Context(), args, cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	o.addKubeconfig(cmd.PersistentFlags(), o.dataDir)
	o.addFilterFlags(cmd)
	cmd.Flags().IntVar(&o.wait, "wait", 0, "end when that many requests have matched; those that the server remembers count")
	cmd.Flags().DurationVar(&o.timeout, "timeout", 30*time.Second, "how long --wait waits")
	formatVar(cmd, cmd.Flags(), &o.format, "json: a journey a line, without its steps", render.Text, render.JSON)
	cmd.AddCommand(newTraceListCommand(o), newTraceShowCommand(o), newTraceBlameCommand(o), newTraceCompareCommand(o),
		newTraceSaveCommand(o),
		newTraceExportCommand(o), newTraceStepsCommand(), newTraceRecordCommand(o))
	return cmd
}

func filterHelp() string {
	var b strings.Builder
	for _, f := range filter.Fields() {
		fmt.Fprintf(&b, "  %-28s %s\n", f.Example, f.Help)
	}
	for _, form := range [][2]string{
		{"verb:get | !(code:200 name:a)", "conditions: a space is and, | is or, ! is not"},
		{"step(etcd.txn why:retry)", "one step that fulfils all of it"},
		{"steps(etcd.txn)>1", "how many steps fulfil it"},
		{"cacher.get -> etcd.get", "a step, and a later one"},
	} {
		fmt.Fprintf(&b, "  %-28s %s\n", form[0], form[1])
	}
	return strings.TrimRight(b.String(), "\n")
}

func (o *traceOptions) addFilterFlags(cmd *cobra.Command) {
	fs := cmd.Flags()
	fs.StringSliceVar(&o.verbs, "verb", nil, "their verb, such as get, list or update")
	fs.StringSliceVar(&o.resources, "resource", nil, "their resource, such as configmaps")
	fs.StringSliceVarP(&o.namespaces, "namespace", "n", nil, "in which namespace")
	fs.StringSliceVar(&o.names, "name", nil, "the name of their object")
	fs.StringSliceVar(&o.users, "user", nil, "who asks")
	fs.StringSliceVar(&o.agents, "agent", nil, "the program that sent them, or a part of its name")
	fs.IntSliceVar(&o.codes, "code", nil, "the HTTP status of their answer")
	fs.DurationVar(&o.min, "min", 0, "the time that they take at least")
	o.completeFilter(cmd)
}

// filter joins the flags and the filter argument in the filter language.
func (o *traceOptions) filter(args []string) (string, error) {
	var terms []string
	for _, flag := range []struct {
		field  string
		values []string
	}{
		{"verb", o.verbs}, {"resource", o.resources}, {"ns", o.namespaces}, {"name", o.names}, {"user", o.users}, {"agent", o.agents},
	} {
		if len(flag.values) > 0 {
			terms = append(terms, flag.field+":"+strings.Join(values(flag.values), ","))
		}
	}
	if len(o.codes) > 0 {
		var codes []string
		for _, code := range o.codes {
			codes = append(codes, strconv.Itoa(code))
		}
		terms = append(terms, "code:"+strings.Join(codes, ","))
	}
	if o.min > 0 {
		terms = append(terms, "dur>="+o.min.String())
	}
	if len(args) > 0 && strings.TrimSpace(args[0]) != "" {
		// The typed filter is parsed alone first, so that an error names its column.
		typed, err := filter.Parse(args[0], server.Reasons().Names)
		if err != nil {
			return "", err
		}
		terms = append(terms, "("+typed.String()+")")
	}
	all, err := filter.Parse(strings.Join(terms, " "), server.Reasons().Names)
	return all.String(), err
}

// values writes flags' values in the filter language. A value with a * stays a pattern, any other is quoted if
// necessary.
func values(all []string) []string {
	quoted := make([]string, len(all))
	for i, v := range all {
		quoted[i] = v
		if strings.ContainsAny(v, " &|()\",") || v == "" {
			quoted[i] = strconv.Quote(v)
		}
	}
	return quoted
}

// connect starts a session with the server of the flags. most limits the changes that wait to be drained.
func (o *traceOptions) connect(most int) (s *session.Session, host string, err error) {
	config, err := o.server()
	if err != nil {
		return nil, "", err
	}
	s, err = session.New(config, server.Reasons(), most, func() {})
	return s, config.Host, err
}

// followMost limits the journeys that wait to be written.
const followMost = 4096

// follow writes journeys as they end, until --wait's number is reached.
func (o *traceOptions) follow(ctx context.Context, args []string, out, errOut io.Writer) error {
	wanted, err := o.filter(args)
	if err != nil {
		return err
	}
	s, host, err := o.connect(followMost)
	if err != nil {
		return err
	}
	defer s.Close()
	ctx, stop := interruptible(ctx, slog.Default(), func() {})
	defer stop()
	if err := unknownRequest(ctx, s, wanted); err != nil {
		return err
	}
	s.Follow(wanted)
	f := &traceFollower{session: s, ring: session.NewRing(followMost), shown: map[string]bool{}, format: o.format, out: out, errOut: errOut}
	var late <-chan time.Time
	if o.wait > 0 {
		f.most, f.live = o.wait, true
		late = time.After(o.timeout)
	}
	for {
		select {
		case <-s.Changed():
			if err := f.take(host); err != nil || f.enough() {
				return err
			}
		case <-late:
			return fmt.Errorf("trace: %d of %d requests matched within %v: kx trace ls shows what the server remembers", f.written, f.most,
				o.timeout)
		case <-ctx.Done():
			return nil
		}
	}
}

// unknownRequest is the server's error about a filter that names a request which it does not know. Following would ask
// again and again.
func unknownRequest(ctx context.Context, s *session.Session, wanted string) error {
	if f, err := filter.Parse(wanted, server.Reasons().Names); err != nil || !f.Asks("after") {
		return err
	}
	_, err := s.Rows(ctx, wanted)
	return err
}

// traceFollower writes each journey once.
type traceFollower struct {
	session *session.Session
	ring    *session.Ring
	shown   map[string]bool // for journeys in the ring
	live    bool
	// most limits the journeys to write, with 0 for no limit. written counts them.
	most, written int
	phase         session.State
	format        render.Format

	out, errOut io.Writer
}

// take writes the journeys that have ended since the last call, or since following began.
func (f *traceFollower) take(host string) error {
	batch := f.session.Drain()
	f.ring.Apply(batch)
	if batch.State != f.phase {
		f.phase = batch.State
		switch batch.State.Phase {
		case session.Live:
			fmt.Fprintf(f.errOut, "kx: following the requests to %s\n", host)
		case session.Foreign:
			return fmt.Errorf("%s: %s; --kubeconfig says which server to use", host, batch.State.Reason)
		case session.Retrying:
			fmt.Fprintf(f.errOut, "kx: %s: trying again\n", batch.State.Reason)
		}
	}
	if batch.Dropped+batch.LeftOut > 0 {
		fmt.Fprintf(f.errOut, "kx: %d requests are not shown: there were too many at once\n", batch.Dropped+batch.LeftOut)
	}
	present := make(map[string]bool, f.ring.Len())
	for i := range f.ring.Len() {
		row := f.ring.At(i)
		if row.Status.Phase != v1alpha1.JourneyComplete {
			continue
		}
		present[row.Name] = true
		if f.shown[row.Name] || !f.live || f.enough() {
			continue
		}
		f.written++
		if err := f.write(row.Journey); err != nil {
			return err
		}
	}
	f.shown = present
	f.live = f.live || batch.State.Phase == session.Live
	return nil
}

// enough reports whether most journeys were written.
func (f *traceFollower) enough() bool { return f.most > 0 && f.written >= f.most }

func (f *traceFollower) write(j *v1alpha1.Journey) error {
	if f.format == render.JSON {
		return render.JSONLine(f.out, j)
	}
	return journey.Line(f.out, j, journey.PaintFor(f.out))
}
