package main

import (
	"context"
	"encoding/hex"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/kx-apiserver/kx/cmd/kx/internal/render"
	"github.com/kx-apiserver/kx/core/escape"
	"github.com/kx-apiserver/kx/store/admin"
)

// The formats of a value besides those of lists.
const (
	rawFormat render.Format = "raw"
	hexFormat render.Format = "hex"
)

type etcdGetOptions struct {
	*etcdOptions
	output, revision string
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
			return o.read(cmd, func(ctx context.Context, r *reading) error { return o.run(ctx, r, o.path(args[0])) })
		},
	}
	cmd.Flags().StringVar(&o.revision, "rev", "", "as it was at this revision; -100 is a hundred before now")
	cmd.Flags().StringVarP(&o.output, "output", "o", string(render.YAML), "yaml, json, table (about the key), raw or hex (the bytes in etcd)")
	oneOf(cmd, "output", string(render.YAML), string(render.JSON), string(render.Table), string(rawFormat), string(hexFormat))
	return cmd
}

func (o *etcdGetOptions) run(ctx context.Context, r *reading, key string) error {
	format, err := render.ParseFormat(o.output, render.YAML, render.JSON, render.Table, rawFormat, hexFormat)
	if err != nil {
		return err
	}
	revision, err := r.revision(ctx, o.revision)
	if err != nil {
		return err
	}
	kv, err := r.Get(ctx, key, revision)
	if err != nil {
		return err
	}
	if kv == nil {
		return fmt.Errorf("%s: there is no key %s%s", r.Name(), key, atRevision(revision))
	}
	switch format {
	case rawFormat:
		_, err = r.out.Write(kv.Value)
		return err
	case hexFormat:
		_, err = fmt.Fprint(r.out, hex.Dump(kv.Value))
		return err
	}
	value, err := r.decoder.Decode(key, kv.Value)
	if err != nil {
		return err
	}
	return o.write(r, format, kv, value)
}

func atRevision(revision int64) string {
	if revision == 0 {
		return ""
	}
	return fmt.Sprintf(" at revision %d", revision)
}

func (o *etcdGetOptions) write(r *reading, format render.Format, kv *admin.KV, value *admin.Value) error {
	switch format {
	case render.JSON:
		data, err := value.JSON()
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(r.out, "%s\n", escape.JSON(data))
		return err
	case render.YAML:
		data, err := value.YAML()
		if err != nil {
			return err
		}
		_, err = r.out.Write(data)
		return err
	}
	list := render.NewList(r.out, format,
		column("KEY", func(*admin.KV) string { return kv.Key }),
		column("KIND", func(*admin.KV) string {
			return strings.TrimSpace(value.Kind.GroupVersion().String() + " " + value.Kind.Kind)
		}),
		column("FORMAT", func(*admin.KV) string { return string(value.Format) }),
		column("ENCRYPTION", func(*admin.KV) string { return orNone(value.Encryption) }),
		right("BYTES", func(*admin.KV) string { return render.Bytes(int64(len(kv.Value))) }),
		right("CREATED", func(*admin.KV) string { return fmt.Sprint(kv.CreateRevision) }),
		right("REVISION", func(*admin.KV) string { return fmt.Sprint(kv.ModRevision) }),
		right("VERSION", func(*admin.KV) string { return fmt.Sprint(kv.Version) }),
		right("LEASE", func(*admin.KV) string { return orNone(leaseID(kv.Lease)) }),
	)
	if err := list.Add(kv); err != nil {
		return err
	}
	return list.Close()
}

func leaseID(id int64) string {
	if id == 0 {
		return ""
	}
	return fmt.Sprintf("%x", id)
}

func orNone(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// column and right shorten the making of tables.
func column[T any](title string, text func(T) string) render.Column[T] {
	return render.Column[T]{Title: title, Text: text}
}

func right[T any](title string, text func(T) string) render.Column[T] {
	return render.Column[T]{Title: title, Right: true, Text: text}
}

// authors says who wrote a change.
func authors(c admin.Change) string {
	var names []string
	for _, a := range c.Authors {
		name := a.Manager
		if a.Subresource != "" {
			name += "/" + a.Subresource
		}
		if a.Operation == "Apply" {
			name += " (apply)"
		}
		names = append(names, name)
	}
	return orNone(strings.Join(names, ", "))
}

func when(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.UTC().Format(time.RFC3339)
}
