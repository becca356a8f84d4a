package main

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/kx-apiserver/kx/cmd/kx/internal/render"
	"github.com/kx-apiserver/kx/cmd/kx/internal/whatif"
	"github.com/kx-apiserver/kx/store/admin"
	"github.com/kx-apiserver/kx/tui/draw"
)

type etcdDoctorOptions struct {
	*etcdOptions
	output string
}

func newEtcdDoctorCommand(etcd *etcdOptions) *cobra.Command {
	o := &etcdDoctorOptions{etcdOptions: etcd}
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Check etcd and all that is in it, and say what to do",
		Long: `Check etcd and all that is in it, and say what to do: latency, members, alarms, quota, fragmentation, history, large
objects, hot keys, keys of custom resources whose definition is gone, values that can't be decoded, custom resources that
are not what their definition's schema wants, and clocks.

With --file the files are checked first, the database page by page and the write-ahead log entry by entry, and it is said
what in them is damaged and what can be saved.

It reads all values once and changes nothing. It ends with 3 if it finds something.`,
		Example: `  kx etcd doctor
  kx etcd doctor --encryption-provider-config enc.yaml
  kx etcd doctor --file ~/.kx                 # of a kx that does not run
  kx etcd doctor --file backup.db -o json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return o.run(cmd) },
	}
	outputVar(cmd, &o.output)
	return cmd
}

func (o *etcdDoctorOptions) run(cmd *cobra.Command) error {
	if _, err := listFormat(o.output); err != nil {
		return err
	}
	var files []admin.Finding
	if o.file != "" {
		var whole bool
		if files, whole = admin.ExamineFiles(o.file); !whole {
			return o.show(cmd.OutOrStdout(), files)
		}
	}
	return o.read(cmd, func(ctx context.Context, r *reading) error {
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

// show writes findings. It fails with exitFound if one of them is not well.
func (o *etcdDoctorOptions) show(out io.Writer, findings []admin.Finding) error {
	format, err := listFormat(o.output)
	if err != nil {
		return err
	}
	list := render.NewList[admin.Finding](out, format)
	bad := 0
	for _, f := range findings {
		if f.Level != admin.OK {
			bad++
		}
		if format == render.Table {
			showFinding(out, f)
		} else if err := list.Add(f); err != nil {
			return err
		}
	}
	if format != render.Table {
		if err := list.Close(); err != nil {
			return err
		}
	}
	if bad > 0 {
		return &exitError{code: exitFound}
	}
	return nil
}

func showFinding(out io.Writer, f admin.Finding) {
	fmt.Fprintf(out, "%-8s %s: %s\n", f.Level, f.Check, draw.Clean(f.Finding))
	for _, key := range f.Keys {
		fmt.Fprintf(out, "%8s   %s\n", "", draw.Clean(key))
	}
	if f.Advice != "" {
		fmt.Fprintf(out, "%8s → %s\n", "", strings.TrimSpace(f.Advice))
	}
}
