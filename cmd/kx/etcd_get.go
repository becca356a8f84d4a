package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/kx-apiserver/kx/cmd/kx/internal/render"
)

type etcdGetOptions struct {
	*etcdOptions
	format   render.Format
	revision string
}

func newEtcdGetCommand(etcd *etcdOptions) *cobra.Command {
	o := &etcdGetOptions{etcdOptions: etcd}
	cmd := &cobra.Command{
		Use:   "get KEY",
		Short: "Show the value of a key, decoded",
		Long: `Show the value of a key, decoded: protobuf of every built-in type, JSON, CBOR, and encrypted values if
--encryption-provider-config says how.

An object is shown as it is stored, so it has no resourceVersion: that is the key's revision (-o table).`,
		Example: `  kx etcd get pods/default/web
  kx etcd get pods/default/web -o table               # revision, version, format, size
  kx etcd get pods/default/web --rev -20 -o json      # as it was twenty revisions ago
  kx etcd get secrets/default/s --encryption-provider-config enc.yaml
  kx etcd get secrets/default/s -o hex                # the bytes in etcd
  kx etcd get compact_rev_key                         # what is no object is text`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: o.completeKeys(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.read(cmd, func(ctx context.Context, r *reader) error { return o.run(ctx, r, o.path(args[0])) })
		},
	}
	cmd.Flags().StringVar(&o.revision, "rev", "", "as it was at this revision; -100 is a hundred before now")
	formatVar(cmd, cmd.Flags(), &o.format, "yaml, json, table (about the key), raw or hex (the bytes in etcd)",
		render.YAML, render.JSON, render.Table, render.Raw, render.Hex)
	return cmd
}

func (o *etcdGetOptions) run(ctx context.Context, r *reader, key string) error {
	revision, err := r.revision(ctx, o.revision)
	if err != nil {
		return err
	}
	kv, err := r.Get(ctx, key, revision)
	switch {
	case err != nil:
		return err
	case kv == nil && revision == 0:
		return fmt.Errorf("%s: there is no key %s", r.Name(), key)
	case kv == nil:
		return fmt.Errorf("%s: there is no key %s at revision %d", r.Name(), key, revision)
	}
	return render.Value(r.out, o.format, kv, r.decoder)
}
