package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/kx-apiserver/kx/cmd/kx/internal/check"
	"github.com/kx-apiserver/kx/cmd/kx/internal/join"
	serverbackup "github.com/kx-apiserver/kx/server/backup"
	"github.com/kx-apiserver/kx/server/options"
	"github.com/kx-apiserver/kx/store/admin"
	"github.com/kx-apiserver/kx/store/backup"
)

// base returns what --against names, nil without it, and what removes its temporary files. A path that exists is not
// taken for a context.
func (o *checkOptions) base(ctx context.Context, errOut io.Writer) (_ *check.Base, leaveNothing func(), err error) {
	nothing := func() {}
	if o.against == "" {
		return nil, nothing, nil
	}
	if _, err := os.Stat(o.against); err != nil {
		b, err := o.cluster(errOut)
		return b, nothing, err
	}
	archive, snapshot, err := fileOf(o.against)
	if err != nil {
		return nil, nothing, fmt.Errorf("--against: %w", err)
	}
	if !archive && !snapshot {
		return &check.Base{Inputs: check.Inputs{Paths: []string{o.against}}}, nothing, nil
	}
	server := check.Options()
	if leaveNothing, err = ephemeral(server); err != nil {
		return nil, nothing, err
	}
	if err := restore(ctx, o.against, archive, server); err != nil {
		leaveNothing()
		return nil, nothing, fmt.Errorf("--against %s: %w", o.against, err)
	}
	return &check.Base{Stored: server, Name: o.against}, leaveNothing, nil
}

// fileOf reports whether a path is an archive of a server, or a snapshot of etcd. A directory is manifests.
func fileOf(path string) (archive, snapshot bool, err error) {
	if info, err := os.Stat(path); err != nil || info.IsDir() {
		return false, false, err
	}
	if archive, err = backup.Is(path); archive || err != nil {
		return archive, false, err
	}
	snapshot, err = admin.IsDatabase(path)
	return false, snapshot, err
}

// restore puts what is stored in a file into the data directory of a server.
func restore(ctx context.Context, file string, archived bool, server *options.Options) error {
	etcd := filepath.Join(server.EphemeralDir, "etcd")
	if !archived {
		_, err := admin.Restore(ctx, admin.RestoreOptions{File: file, Dir: etcd, Bump: 1}, func(int) {})
		return err
	}
	archive, err := backup.Open(ctx, file)
	if err != nil {
		return err
	}
	defer archive.Close()
	server.Etcd.Prefix = archive.Manifest.Prefix
	// The server here has certificates and keys of its own.
	whole := filepath.Join(server.EphemeralDir, "restored")
	here := backup.RestoreOptions{Dir: whole, Bump: 1, Here: serverbackup.ProgramVersion()}
	if _, err := archive.Restore(ctx, here, func(int) {}); err != nil {
		return err
	}
	return errors.Join(os.Rename(filepath.Join(whole, "etcd"), etcd), os.RemoveAll(whole))
}

// cluster returns the cluster of the context that --against names.
func (o *checkOptions) cluster(errOut io.Writer) (*check.Base, error) {
	config, _, err := clientOf("", o.against)
	var none *noContextError
	switch {
	case errors.As(err, &none):
		hint := "the kubeconfig has no contexts: name manifests, or set KUBECONFIG"
		if len(none.near) > 0 {
			hint = "did you mean " + strings.Join(none.near, " or ") + "?"
		} else if len(none.all) > 0 {
			hint = "the kubeconfig has " + strings.Join(none.all, ", ")
		}
		return nil, fmt.Errorf("--against %s: there is no such file or context: %s", o.against, hint)
	case err != nil:
		return nil, fmt.Errorf("--against %s: %w", o.against, err)
	}
	join.LimitPlugins(config, func(text string) { fmt.Fprintln(errOut, text) })
	return &check.Base{Cluster: config, Name: "context " + o.against}, nil
}
