package main

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kx-apiserver/kx/cmd/kx/internal/render"
	"github.com/kx-apiserver/kx/store/admin"
)

// listCommand completes a command that has its texts already: the command asks an etcd for a list and writes it.
func listCommand[T any](o *etcdOptions, cmd *cobra.Command, columns render.Columns[T],
	ask func(context.Context, *admin.Live) iter.Seq2[T, error]) *cobra.Command {
	cmd.Args = cobra.NoArgs
	var format render.Format
	listFormatVar(cmd, &format)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		return o.ask(cmd, func(ctx context.Context, live *admin.Live) error {
			list := render.NewList(cmd.OutOrStdout(), format, columns)
			for row, err := range ask(ctx, live) {
				if err != nil {
					// Close also writes the rows before the error.
					return errors.Join(list.Close(), err)
				}
				if err := list.Add(row); err != nil {
					return err
				}
			}
			return list.Close()
		})
	}
	return cmd
}

// all streams a slice, and then the error that came with it: rows from before a failure are written too.
func all[T any](rows []T, err error) iter.Seq2[T, error] {
	return func(yield func(T, error) bool) {
		for _, row := range rows {
			if !yield(row, nil) {
				return
			}
		}
		if err != nil {
			var none T
			yield(none, err)
		}
	}
}

func newEtcdStatusCommand(o *etcdOptions) *cobra.Command {
	return listCommand(o, &cobra.Command{
		Use: "status", Short: "Show how the members are: size, leader, revision",
		Long: "Show how each member that was named is. A member that does not answer is listed with the reason; the exit code is then 1.",
		Example: `  kx etcd status
  kx etcd status --endpoints https://10.0.0.1:2379,https://10.0.0.2:2379 --cacert ca.crt --cert c.crt --key c.key`,
	}, render.Statuses,
		func(ctx context.Context, live *admin.Live) iter.Seq2[admin.MemberStatus, error] {
			members := live.Status(ctx)
			var err error
			if i := slices.IndexFunc(members, func(m admin.MemberStatus) bool { return len(m.Errors) > 0 }); i >= 0 {
				err = fmt.Errorf("%s: %s", members[i].Endpoint, strings.Join(members[i].Errors, ", "))
			}
			return all(members, err)
		})
}

func newEtcdMembersCommand(o *etcdOptions) *cobra.Command {
	return listCommand(o, &cobra.Command{
		Use: "members", Short: "List the members of the cluster", Example: "  kx etcd members\n  kx etcd members -o json",
	}, render.Members,
		func(ctx context.Context, live *admin.Live) iter.Seq2[admin.Member, error] {
			return all(live.Members(ctx))
		})
}

func newEtcdAlarmsCommand(o *etcdOptions) *cobra.Command {
	disarm := false
	cmd := listCommand(o, &cobra.Command{
		Use: "alarms", Short: "List the alarms that members have raised, or disarm them",
		Long:    "List the alarms that members have raised. NOSPACE makes etcd refuse writes until it is disarmed.",
		Example: "  kx etcd alarms\n  kx etcd alarms --disarm       # when what they are about is mended",
	}, render.Alarms,
		func(ctx context.Context, live *admin.Live) iter.Seq2[admin.Alarm, error] {
			return all(live.Alarms(ctx, disarm))
		})
	cmd.Flags().BoolVar(&disarm, "disarm", false, "end those that are listed")
	return cmd
}

func newEtcdHashCommand(o *etcdOptions) *cobra.Command {
	var revision int64
	cmd := listCommand(o, &cobra.Command{
		Use: "hash", Short: "Compare the members' keys and values by their hashes",
		Long: "Show each named member's hash of all keys and values up to a revision. " +
			"It is an error if members that were compacted alike\ndiffer.",
		Example: "  kx etcd hash --endpoints https://10.0.0.1:2379,https://10.0.0.2:2379 --cacert ca.crt --cert c.crt --key c.key\n" +
			"  kx etcd hash --rev 1200",
	}, render.Hashes,
		func(ctx context.Context, live *admin.Live) iter.Seq2[admin.Hash, error] {
			return all(live.Hashes(ctx, revision))
		})
	cmd.Flags().Int64Var(&revision, "rev", 0, "up to this revision; 0 is now")
	return cmd
}

func newEtcdLeasesCommand(o *etcdOptions) *cobra.Command {
	names := false
	cmd := listCommand(o, &cobra.Command{
		Use: "leases", Short: "List the leases, and how many keys end with each",
		Long:    "List the leases. API servers keep events by leases, one for many events.",
		Example: "  kx etcd leases\n  kx etcd leases --keys -o json",
	}, render.Leases,
		func(ctx context.Context, live *admin.Live) iter.Seq2[admin.Lease, error] {
			return live.Leases(ctx, names)
		})
	cmd.Flags().BoolVar(&names, "keys", false, "name the keys")
	return cmd
}

func newEtcdDefragCommand(o *etcdOptions) *cobra.Command {
	return listCommand(o, &cobra.Command{
		Use: "defrag", Short: "Make the members' files as small as they can be",
		Long: "Make the files of the members that were named as small as they can be, one after the other. " +
			"A member answers nobody\nmeanwhile. Compact before: what history needs is not free.",
		Example: "  kx etcd compact && kx etcd defrag",
	}, render.Defragmented,
		func(ctx context.Context, live *admin.Live) iter.Seq2[admin.Defragmentation, error] {
			return live.Defragment(ctx)
		})
}

func newEtcdCompactCommand(o *etcdOptions) *cobra.Command {
	return &cobra.Command{
		Use:   "compact [REVISION]",
		Short: "Forget history before a revision",
		Long: `Forget history before a revision, by default before now, and return when its space is free for new values. Watches and
paged lists of older revisions end with "too old", and their clients begin anew. kx etcd defrag makes the file smaller.`,
		Example: "  kx etcd compact\n  kx etcd compact 12000\n  kx etcd compact -- -1000      # keep the last thousand",
		Args:    cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return o.ask(cmd, func(ctx context.Context, live *admin.Live) error {
				head, err := live.Head(ctx)
				if err != nil {
					return err
				}
				revision := head.Revision
				if len(args) > 0 {
					if revision, err = admin.ParseRevision(args[0], head); err != nil {
						return err
					}
				}
				if revision != head.Compacted { // etcd refuses to compact to the same revision twice
					if err := live.Compact(ctx, revision); err != nil {
						return err
					}
				}
				_, err = fmt.Fprintf(cmd.OutOrStdout(), "compacted: revisions %d to %d are left\n", revision, head.Revision)
				return err
			})
		},
	}
}
