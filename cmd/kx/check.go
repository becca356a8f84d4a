package main

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os/signal"
	"runtime/debug"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/kx-apiserver/kx/cmd/kx/internal/check"
	"github.com/kx-apiserver/kx/cmd/kx/internal/proc"
	"github.com/kx-apiserver/kx/cmd/kx/internal/render"
)

// The exit codes of kx check, beside 0.
const (
	checkRefused   = 1
	checkUnchecked = 2
)

type checkOptions struct {
	kustomizations       []string
	strict, all, changes bool
	update               bool
	color, against       string
	format               render.Format
}

func newCheckCommand() *cobra.Command {
	o := &checkOptions{}
	cmd := &cobra.Command{
		Use:   "check PATH...",
		Short: "Say what an API server says about manifests, without one that runs",
		Long: `Say what an API server says about manifests, without one that runs.

kx starts a server in its own process, which listens nowhere and keeps nothing, and creates every object of the files, directories,
kustomizations and of standard input in it: namespaces first, then definitions, policies, classes, quotas, roles and all else. So
defaults, validation, admission, quotas, policies and definitions of the set hold, and objects may refer to each other.

Each refusal and warning has the file, line and column of the field that it is about. Namespaces that are not in the set are assumed;
webhooks are not called. Documents that are accepted without a warning get no line, unless --all asks for one.

The exit code is 0 if all documents are accepted, 1 if one is refused, 2 if one could not be checked: a file that can't be read, or
is no YAML. The rest is checked all the same.

A document of the kind Expectations has rows: objects, as whom they are sent, and what the server is to answer. They are sent without
being stored when all else is there, so they test rules, policies, defaults and roles of the set. The output names the rules,
validations and match conditions that were never true or never false; --update-expect writes the answers into the rows.

With --against, the set is created on top of what is there already: immutable fields, quotas, policies, and objects that are stored
under an older definition count.`,
		Example: `  kx check deploy/                         # all .yaml, .yml and .json below it
  kx check -k overlays/production
  helm template chart | kx check -
  kx check -o github --strict manifests/   # in a workflow: annotations at the lines, warnings fail too
  kx check --show-changes deployment.yaml  # and what defaults and policies make of it
  kx check --against production deploy/    # on top of what the cluster of that context has; nothing is written there
  kx check config/ tests/expect.yaml       # rows of objects, each with the answer that it is to get
  kx check --against main/deploy deploy/   # on top of what these manifests are
  kx check --against backup.db deploy/     # on top of what this snapshot of etcd has`,
		Args: cobra.ArbitraryArgs,
		RunE: o.run,
	}
	fs := cmd.Flags()
	fs.StringArrayVarP(&o.kustomizations, "kustomize", "k", nil,
		"directory of a kustomization to build and check; may be given several times")
	fs.BoolVar(&o.strict, "strict", false, "take warnings for refusals")
	fs.BoolVar(&o.all, "all", false, "have a line also for documents that are accepted without a warning")
	fs.BoolVar(&o.changes, "show-changes", false, "show what defaults and policies change in each object")
	fs.BoolVar(&o.update, "update-expect", false, "write into the rows of expectations what the server answers")
	fs.StringVar(&o.against, "against", "",
		"what is there already: a context of the kubeconfig, a snapshot of etcd, an archive of a kx, or manifests in a file or directory")
	fs.StringVar(&o.color, "color", "auto", "colour changes: auto, always or never")
	oneOf(cmd, "color", "auto", "always", "never")
	formatVar(cmd, fs, &o.format, "text, json, junit, sarif or github",
		render.Plain, render.JSON, render.JUnit, render.SARIF, render.GitHub)
	cmd.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return &exitError{code: checkUnchecked, err: sayWhere(cmd, err)} // 1 would say that a document is refused
	})
	return cmd
}

func (o *checkOptions) run(cmd *cobra.Command, args []string) error {
	defer outliveReaders()()
	err := o.check(cmd, args)
	var coded *exitError
	switch {
	case errors.Is(err, syscall.EPIPE):
		return &exitError{code: checkUnchecked} // whoever read the output wants no more of it
	case err != nil && !errors.As(err, &coded):
		return &exitError{code: checkUnchecked, err: err}
	}
	return err
}

func (o *checkOptions) check(cmd *cobra.Command, args []string) error {
	if len(args)+len(o.kustomizations) == 0 {
		return errors.New("nothing to check: name files or directories, - for standard input, or a kustomization with -k")
	}
	colored, err := render.WantsColour(o.color, cmd.OutOrStdout())
	if err != nil {
		return err
	}
	log := slog.New(slog.NewTextHandler(cmd.ErrOrStderr(), &slog.HandlerOptions{Level: slog.LevelError}))
	proc.SendLogs(log.Handler())
	defer debug.SetGCPercent(debug.SetGCPercent(checkGCPercent))
	defer debug.SetMemoryLimit(debug.SetMemoryLimit(checkMemoryMost))
	server := check.Options()
	leaveNothing, err := ephemeral(server)
	if err != nil {
		return err
	}
	defer leaveNothing()
	ctx := cmd.Context()
	if !signal.Ignored(syscall.SIGHUP) { // as it is under nohup
		var stop func()
		ctx, stop = signal.NotifyContext(ctx, syscall.SIGHUP) // the terminal was closed: clean up
		defer stop()
	}
	ctx, stopListening := interruptible(ctx, log, leaveNothing)
	defer stopListening()
	base, leaveNoBase, err := o.base(ctx, cmd.ErrOrStderr())
	if err != nil {
		return err
	}
	defer leaveNoBase()
	progress := render.NewProgress(cmd.ErrOrStderr(), func(done int64) string { return render.Count(done).String() + " documents" })
	defer progress.Clear()
	out := render.NewCheck(progressClearer{cmd.OutOrStdout(), progress}, o.format,
		render.CheckOptions{All: o.all, Changes: o.changes, Colored: colored})
	summary, err := emit(ctx, progress, check.Config{
		Inputs:  check.Inputs{Paths: args, Kustomizations: o.kustomizations, In: cmd.InOrStdin()},
		Against: base, Server: server, Log: log, Strict: o.strict, Changes: o.changes, Update: o.update,
	}, out)
	if err != nil {
		return err
	}
	if err := out.Summary(summary); err != nil {
		return err
	}
	switch {
	case summary.Documents+summary.Rows == 0:
		return errors.New("there is no manifest in what was named: kx check reads .yaml, .yml and .json in directories")
	case summary.Unchecked > 0:
		return &exitError{code: checkUnchecked}
	case summary.Refused+summary.Unmet > 0:
		return &exitError{code: checkRefused}
	}
	return nil
}

const (
	// checkGCPercent lets the heap grow fivefold between collections. Most of it lives as long as the command, so each
	// collection is work for little: with Go's own 100 the check takes a third more CPU.
	checkGCPercent = 400
	// checkMemoryMost is where collections become more frequent all the same.
	checkMemoryMost = 1 << 30
)

// progressAfter limits the time that a check runs without showing its progress.
const progressAfter = time.Second

// progressClearer removes the progress before something is written in its place.
type progressClearer struct {
	io.Writer
	progress *render.Progress
}

func (c progressClearer) Write(data []byte) (int, error) {
	c.progress.Clear()
	return c.Writer.Write(data)
}

// emit runs the check. After a while it shows on a terminal how many documents are done.
func emit(ctx context.Context, progress *render.Progress, config check.Config, out render.Check) (*check.Summary, error) {
	begun, done := time.Now(), 0
	return check.Run(ctx, config, func(r *check.Result) error {
		if err := out.Result(r); err != nil {
			return err
		}
		if done++; time.Since(begun) > progressAfter {
			progress.Add(done)
			done = 0
		}
		return nil
	})
}
