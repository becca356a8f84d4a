package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"path/filepath"
	"strconv"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/kx-apiserver/kx/store/embedded"
)

// mostMembers limits the members of a cluster, as etcd advises: each write waits for a majority of them.
const mostMembers = 7

// lastPort is the highest port number.
const lastPort = 65535

type etcdServeOptions struct {
	member, of int
	port       int
	dir        string
	noFsync    bool
}

func newEtcdServeCommand(etcd *etcdOptions) *cobra.Command {
	o := &etcdServeOptions{of: 3, port: 2379, dir: filepath.Join(etcd.dataDir, "members")}
	cmd := &cobra.Command{
		Use:   "serve MEMBER",
		Short: "Run one member of an etcd cluster on this machine",
		Long: `Run one member of an etcd cluster on this machine, and nothing of the API: MEMBER is 1, 2 or 3, unless --of says how many.

It takes part until it is interrupted, and keeps its data in member1, member2 or member3 of --data-dir: started again, it
catches up with what the others wrote. When a majority is there it prints one line, with its URL; until then it waits. It
logs to stderr.

Clients reach member 1 at --port, its peers at the next port, then come the two ports of member 2, and so on, all on
127.0.0.1. Whoever can connect to them may read and write everything, without a password. So this is for trying and
learning: etcd itself serves a cluster of several machines, with TLS.`,
		Example: `  kx etcd serve 1        # each in a terminal of its own
  kx etcd serve 2
  kx etcd serve 3
  kx serve --etcd-servers http://127.0.0.1:2379,http://127.0.0.1:2381,http://127.0.0.1:2383
  kx etcd status --endpoints http://127.0.0.1:2379,http://127.0.0.1:2381,http://127.0.0.1:2383`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := o.complete(args[0]); err != nil {
				return err
			}
			return o.run(cmd.Context(), cmd.OutOrStdout(), cmd.ErrOrStderr())
		},
	}
	cmd.Flags().IntVar(&o.of, "of", o.of, "how many members the cluster has, the same for all of them")
	cmd.Flags().IntVar(&o.port, "port", o.port, "the first port of the cluster, the same for all its members")
	cmd.Flags().StringVar(&o.dir, "data-dir", o.dir, "directory in which each member has one of its own")
	cmd.Flags().BoolVar(&o.noFsync, "unsafe-no-fsync", o.noFsync,
		"do not wait for the disk: what was written may be lost if the machine crashes")
	return cmd
}

func (o *etcdServeOptions) complete(member string) (err error) {
	if o.of < 1 || o.of > mostMembers {
		return fmt.Errorf("--of: a cluster has 1 to %d members", mostMembers)
	}
	if o.member, err = strconv.Atoi(member); err != nil || o.member < 1 || o.member > o.of {
		return fmt.Errorf("%q is none of the members 1 to %d: --of says how many there are", member, o.of)
	}
	if last := lastPort - 2*o.of + 1; o.port < 1 || o.port > last {
		return fmt.Errorf("--port: %d members need %d ports: give 1 to %d", o.of, 2*o.of, last)
	}
	return nil
}

func (o *etcdServeOptions) run(ctx context.Context, out, errOut io.Writer) error {
	log := slog.New(slog.NewTextHandler(errOut, nil))
	ctx, stopListening := interruptible(ctx, log, func() {})
	defer stopListening()
	config := o.config(log)
	etcd, err := embedded.Start(ctx, config)
	if err != nil {
		if ctx.Err() != nil {
			return nil // an interrupted wait for the other members is no failure
		}
		if errors.Is(err, syscall.EADDRINUSE) {
			err = fmt.Errorf("%w: give all members another --port", err)
		}
		return err
	}
	defer etcd.Close()
	fmt.Fprintf(out, "kx: etcd member %d of %d serving %s  data: %s\n", o.member, o.of, config.Listen[0], config.Dir)
	select {
	case <-ctx.Done():
		log.Info("stopping", "reason", context.Cause(ctx))
		return nil
	case err := <-etcd.Errors():
		return err
	}
}

func (o *etcdServeOptions) config(log *slog.Logger) embedded.Config {
	cluster := &embedded.Cluster{Member: memberName(o.member), PeerURLs: map[string]string{}}
	for member := 1; member <= o.of; member++ {
		cluster.PeerURLs[memberName(member)] = o.url(member, 1)
	}
	return embedded.Config{
		Dir:       filepath.Join(o.dir, cluster.Member),
		Ephemeral: o.noFsync,
		Listen:    []string{o.url(o.member, 0)},
		Cluster:   cluster,
		Logger:    log,
	}
}

func memberName(member int) string { return "member" + strconv.Itoa(member) }

// url returns the URL of one of the two ports of a member.
func (o *etcdServeOptions) url(member, port int) string {
	return "http://" + net.JoinHostPort("127.0.0.1", strconv.Itoa(o.port+2*(member-1)+port))
}
