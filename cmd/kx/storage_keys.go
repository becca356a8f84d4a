package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kx-apiserver/kx/cmd/kx/internal/render"
	"github.com/kx-apiserver/kx/store/admin"
	"github.com/kx-apiserver/kx/store/backend"
)

type storageKeysOptions struct {
	*etcdOptions
	format render.Format
}

func newStorageKeysCommand() *cobra.Command {
	o := &storageKeysOptions{etcdOptions: newEtcdOptions()}
	cmd := &cobra.Command{
		Use:   "keys [RESOURCE...]",
		Short: "Show by which encryption provider and key objects are stored",
		Long: `Show by which encryption provider and key objects are stored: how many of each resource, and how many bytes.

With --encryption-provider-config each value is opened as the API server would open it. Then the output marks the key
that it writes with, and counts the values that remain to be written with it (kx storage migrate does that) and those
that can't be read. A key must stay in the configuration as long as it has objects.

It reads all values once. The exit code is 3 if something can't be read.`,
		Example: `  kx storage keys
  kx storage keys secrets configmaps --encryption-provider-config enc.yaml
  kx storage keys --file backup.db -o json
  kx storage keys --endpoints https://10.0.0.1:2379 --cacert ca.crt --cert client.crt --key client.key`,
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.read(cmd, func(ctx context.Context, r *reader) error { return o.run(ctx, r, args) })
		},
	}
	o.addFlags(cmd, cmd.Flags())
	listFormatVar(cmd, &o.format)
	return cmd
}

func (o *storageKeysOptions) run(ctx context.Context, r *reader, args []string) error {
	paths := []string{admin.Path(o.keyPrefix(), "")}
	if len(args) > 0 {
		paths = nil
		for _, arg := range args {
			paths = append(paths, admin.Path(o.keyPrefix(), backend.ResourcePrefix(schema.ParseGroupResource(arg))))
		}
	}
	list := render.NewList(r.out, o.format, render.Encryptions(o.encryption != ""))
	progress := r.keysProgress()
	defer progress.Clear()
	var unreadable, remaining int64
	for _, path := range paths {
		counted, err := admin.Encryptions(ctx, r.Source, r.decoder, path, progress.Add)
		if err != nil {
			return err
		}
		progress.Clear()
		for _, c := range counted {
			unreadable += c.Unreadable
			remaining += c.Remaining
			if err := list.Add(c); err != nil {
				return err
			}
		}
	}
	if err := list.Close(); err != nil {
		return err
	}
	if o.format == render.Table && remaining > 0 {
		what := fmt.Sprintf("%s objects remain", render.Count(remaining))
		if remaining == 1 {
			what = "1 object remains"
		}
		fmt.Fprintf(r.err, "kx: %s to be written with today's keys: kx storage migrate does it\n", what)
	}
	if unreadable > 0 {
		return &exitError{code: exitFound, err: fmt.Errorf("%s objects can't be read with this configuration", render.Count(unreadable))}
	}
	return ctx.Err()
}
