package main

import (
	"context"
	"io"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/kx-apiserver/kx/cmd/kx/internal/render"
	"github.com/kx-apiserver/kx/cmd/kx/internal/whatif"
	"github.com/kx-apiserver/kx/store/admin"
)

type etcdDoctorOptions struct {
	*etcdOptions
	format render.Format
}

func newEtcdDoctorCommand(etcd *etcdOptions) *cobra.Command {
	o := &etcdDoctorOptions{etcdOptions: etcd}
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check etcd and all that is in it, and say what to do",
		Long: `Check etcd and all that is in it, and say what to do: latency, members, alarms, quota, fragmentation, history, large
objects, hot keys, keys of custom resources whose definition is gone, values that can't be decoded, custom resources that
are not what their definition's schema wants, and clocks.

With --file it first checks the files, the database page by page and the write-ahead log entry by entry, and says what
is damaged and what can be saved.

It reads all values once and changes nothing. The exit code is 3 if it finds something.`,
		Example: `  kx etcd doctor
  kx etcd doctor --encryption-provider-config enc.yaml
  kx etcd doctor --file ~/.kx                 # of a kx that does not run
  kx etcd doctor --file backup.db -o json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd) },
	}
	listFormatVar(cmd, &o.format)
	return cmd
}

func (o *etcdDoctorOptions) run(cmd *cobra.Command) error {
	var files []admin.Finding
	if o.file != "" {
		var whole bool
		if files, whole = admin.ExamineFiles(o.file); !whole {
			return o.show(cmd.OutOrStdout(), files)
		}
	}
	return o.read(cmd, func(ctx context.Context, r *reader) error {
		progress := r.keysProgress()
		defer progress.Clear()
		findings, err := admin.Examine(ctx, r.Source, r.decoder, whatif.Custom(r.Source, r.decoder), time.Now(), progress.Add)
		progress.Clear()
		shown := o.show(r.out, append(files, findings...))
		if err != nil {
			return err
		}
		return shown
	})
}

// show writes findings. It returns exitFound if one of them is a problem.
func (o *etcdDoctorOptions) show(out io.Writer, findings []admin.Finding) error {
	err := render.Findings(out, o.format, findings)
	if err == nil && slices.ContainsFunc(findings, func(f admin.Finding) bool { return f.Level != admin.OK }) {
		return &exitError{code: exitFound}
	}
	return err
}
