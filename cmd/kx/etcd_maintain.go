package main

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/kx-apiserver/kx/cmd/kx/internal/render"
	"github.com/kx-apiserver/kx/store/admin"
)

// listCommand is a command that asks an etcd for a list and writes it.
func listCommand[T any](o *etcdOptions, use, short, long, example string, columns []render.Column[T],
	ask func(context.Context, *admin.Live) iter.Seq2[T, error]) *cobra.Command {
	cmd := &cobra.Command{Use: use, Short: short, Long: long, Example: example, Args: cobra.NoArgs}
	output := new(string)
	outputVar(cmd, output)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		format, err := listFormat(*output)
		if err != nil {
			return err
		}
		return o.ask(cmd, func(ctx context.Context, live *admin.Live) error {
			list := render.NewList(cmd.OutOrStdout(), format, columns...)
			for row, err := range ask(ctx, live) {
				if err != nil {
					// What came before is shown all the same.
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

// all streams a slice and the error that came with it.
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
	role := func(m admin.MemberStatus) string {
		switch {
		case len(m.Errors) > 0:
			return strings.Join(m.Errors, ", ")
		case m.Leader:
			return "leader"
		case m.Learner:
			return "learner"
		case m.HasLeader:
			return "follower"
		}
		return "no leader"
	}
	columns := []render.Column[admin.MemberStatus]{
		column("ENDPOINT", func(m admin.MemberStatus) string { return m.Endpoint }),
		column("VERSION", func(m admin.MemberStatus) string { return orNone(m.Version) }),
		right("DB", func(m admin.MemberStatus) string { return render.Bytes(m.DBSize) }),
		right("IN USE", func(m admin.MemberStatus) string { return render.Bytes(m.InUse) }),
		right("QUOTA", func(m admin.MemberStatus) string { return render.Bytes(m.Quota) }),
		right("REVISION", func(m admin.MemberStatus) string { return fmt.Sprint(m.Revision) }),
		right("RAFT TERM", func(m admin.MemberStatus) string { return fmt.Sprint(m.RaftTerm) }),
		right("INDEX", func(m admin.MemberStatus) string { return fmt.Sprint(m.RaftIndex) }),
		column("STATE", role),
	}
	return listCommand(o, "status", "Show how the members are: size, leader, revision",
		"Show how each member that was named is. A member that does not answer is listed with the reason; the exit code is then 1.",
		`  kx etcd status
  kx etcd status --endpoints https://10.0.0.1:2379,https://10.0.0.2:2379 --cacert ca.crt --cert c.crt --key c.key`,
		columns, func(ctx context.Context, live *admin.Live) iter.Seq2[admin.MemberStatus, error] {
			members := live.Status(ctx)
			var err error
			if i := slices.IndexFunc(members, func(m admin.MemberStatus) bool { return len(m.Errors) > 0 }); i >= 0 {
				err = fmt.Errorf("%s: %s", members[i].Endpoint, strings.Join(members[i].Errors, ", "))
			}
			return all(members, err)
		})
}

func newEtcdMembersCommand(o *etcdOptions) *cobra.Command {
	columns := []render.Column[admin.Member]{
		column("ID", func(m admin.Member) string { return m.ID }),
		column("NAME", func(m admin.Member) string { return orNone(m.Name) }),
		column("LEARNER", func(m admin.Member) string { return fmt.Sprint(m.Learner) }),
		column("PEER URLS", func(m admin.Member) string { return strings.Join(m.PeerURLs, ",") }),
		column("CLIENT URLS", func(m admin.Member) string { return orNone(strings.Join(m.ClientURLs, ",")) }),
	}
	return listCommand(o, "members", "List the members of the cluster", "", "  kx etcd members\n  kx etcd members -o json",
		columns, func(ctx context.Context, live *admin.Live) iter.Seq2[admin.Member, error] {
			return all(live.Members(ctx))
		})
}

func newEtcdAlarmsCommand(o *etcdOptions) *cobra.Command {
	disarm := false
	columns := []render.Column[admin.Alarm]{
		column("MEMBER", func(a admin.Alarm) string { return a.Member }),
		column("ALARM", func(a admin.Alarm) string { return a.Alarm }),
	}
	cmd := listCommand(o, "alarms", "List the alarms that members have raised, or disarm them",
		"List the alarms that members have raised. NOSPACE makes etcd refuse writes until it is disarmed.",
		"  kx etcd alarms\n  kx etcd alarms --disarm       # when what they are about is mended",
		columns, func(ctx context.Context, live *admin.Live) iter.Seq2[admin.Alarm, error] {
			return all(live.Alarms(ctx, disarm))
		})
	cmd.Flags().BoolVar(&disarm, "disarm", false, "end those that are listed")
	return cmd
}

func newEtcdHashCommand(o *etcdOptions) *cobra.Command {
	var revision int64
	columns := []render.Column[admin.Hash]{
		column("ENDPOINT", func(h admin.Hash) string { return h.Endpoint }),
		column("HASH", func(h admin.Hash) string { return h.Hash }),
		right("REVISION", func(h admin.Hash) string { return fmt.Sprint(h.Revision) }),
		right("COMPACTED", func(h admin.Hash) string { return fmt.Sprint(h.Compacted) }),
	}
	cmd := listCommand(o, "hash", "Compare the members' keys and values by their hashes",
		"Show each named member's hash of all keys and values up to a revision. It is an error if members that were compacted alike\ndiffer.",
		"  kx etcd hash --endpoints https://10.0.0.1:2379,https://10.0.0.2:2379 --cacert ca.crt --cert c.crt --key c.key\n  kx etcd hash --rev 1200",
		columns, func(ctx context.Context, live *admin.Live) iter.Seq2[admin.Hash, error] {
			return all(live.Hashes(ctx, revision))
		})
	cmd.Flags().Int64Var(&revision, "rev", 0, "up to this revision; 0 is now")
	return cmd
}

func newEtcdLeasesCommand(o *etcdOptions) *cobra.Command {
	names := false
	columns := []render.Column[admin.Lease]{
		column("ID", func(l admin.Lease) string { return l.ID }),
		right("GRANTED", func(l admin.Lease) string { return (time.Duration(l.GrantedSeconds) * time.Second).String() }),
		right("REMAINING", func(l admin.Lease) string { return (time.Duration(l.RemainingSeconds) * time.Second).String() }),
		right("KEYS", func(l admin.Lease) string { return fmt.Sprint(l.Keys) }),
		column("NAMES", func(l admin.Lease) string { return strings.Join(l.Names, " ") }),
	}
	cmd := listCommand(o, "leases", "List the leases, and how many keys end with each",
		"List the leases. API servers keep events by leases, one for many events.",
		"  kx etcd leases\n  kx etcd leases --keys -o json",
		columns, func(ctx context.Context, live *admin.Live) iter.Seq2[admin.Lease, error] {
			return live.Leases(ctx, names)
		})
	cmd.Flags().BoolVar(&names, "keys", false, "name the keys")
	return cmd
}

func newEtcdDefragCommand(o *etcdOptions) *cobra.Command {
	columns := []render.Column[admin.Defragmented]{
		column("ENDPOINT", func(d admin.Defragmented) string { return d.Endpoint }),
		right("BEFORE", func(d admin.Defragmented) string { return render.Bytes(d.Before) }),
		right("AFTER", func(d admin.Defragmented) string { return render.Bytes(d.After) }),
		right("TOOK", func(d admin.Defragmented) string { return (time.Duration(d.TookMs) * time.Millisecond).String() }),
	}
	return listCommand(o, "defrag", "Make the members' files as small as they can be",
		"Make the files of the members that were named as small as they can be, one after the other. A member answers nobody\nmeanwhile. Compact before: what history needs is not free.",
		"  kx etcd compact && kx etcd defrag",
		columns, func(ctx context.Context, live *admin.Live) iter.Seq2[admin.Defragmented, error] {
			return live.Defragment(ctx)
		})
}

func newEtcdCompactCommand(o *etcdOptions) *cobra.Command {
	return &cobra.Command{
		Use:   "compact [REVISION]",
		Short: "Forget history before a revision",
		Long: `Forget history before a revision, by default before now, and return when its space is free for new values. Watches and
paged lists of older revisions end with "too old", and their clients begin anew. The file gets smaller by kx etcd defrag.`,
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
				if err := live.Compact(ctx, revision); err != nil {
					return err
				}
				_, err = fmt.Fprintf(cmd.OutOrStdout(), "compacted: revisions %d to %d are left\n", revision, head.Revision)
				return err
			})
		},
	}
}
