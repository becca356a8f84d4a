package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kx-apiserver/kx/cmd/kx/internal/render"
	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/tui/api"
)

// cacheOptions are the flags of kx cache and the commands below it.
type cacheOptions struct {
	serverOptions
	format render.Format
}

func newCacheCommand() *cobra.Command {
	o := &cacheOptions{serverOptions: newServerOptions()}
	cmd := &cobra.Command{
		Use:   "cache",
		Short: "Look into the watch caches, and hold them against etcd",
		Long: `Look into the watch caches of a kx that runs: what each has, how far it is, who watches, and whether it has what etcd has.

A RESOURCE is named as in kx cache ls: configmaps, deployments.apps.

Exit codes: 0 done, 1 failed, 3 done and found a difference.`,
		Example: `  kx cache ls                                # all caches
  kx cache get configmaps                    # one of them, with its watches
  kx cache get configmaps default/settings   # one object in the cache, beside what etcd has
  kx cache check                             # compare all caches with etcd`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	fs := cmd.PersistentFlags()
	o.addKubeconfig(fs, o.dataDir)
	formatVar(cmd, fs, &o.format, "table, json or yaml", render.Table, render.JSON, render.YAML)
	cmd.AddCommand(newCacheLsCommand(o), newCacheGetCommand(o), newCacheCheckCommand(o))
	return cmd
}

const cachesPath = api.KX + "/caches"

// caches reads the caches of one server.
type caches struct {
	client *api.Client
	format render.Format
	out    io.Writer
}

// with connects to the server for run.
func (o *cacheOptions) with(run func(*caches, context.Context, []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		config, err := o.server()
		if err != nil {
			return err
		}
		client, err := api.New(config)
		if err != nil {
			return err
		}
		defer client.Close()
		return run(&caches{client, o.format, cmd.OutOrStdout()}, cmd.Context(), args)
	}
}

// read gets a path below caches: empty for all caches, a cache's name, or a name and a subresource.
func (c *caches) read(ctx context.Context, into any, query url.Values, path ...string) error {
	err := c.client.Get(ctx, strings.Join(append([]string{cachesPath}, path...), "/"), query, into)
	var refused *api.Error
	switch {
	case errors.As(err, &refused) && refused.Status.Details != nil && refused.Status.Details.Kind == "caches" &&
		api.Code(err) == http.StatusNotFound:
		return fmt.Errorf("cache: the server has no cache %q: kx cache ls lists those that it has", path[0])
	case err != nil:
		return fmt.Errorf("cache: %w", err)
	}
	return nil
}

func newCacheLsCommand(o *cacheOptions) *cobra.Command {
	return &cobra.Command{
		Use:   "ls",
		Short: "List the watch caches: state, size, revision, lag, watches",
		Args:  cobra.NoArgs,
		RunE:  o.with((*caches).list),
	}
}

func (c *caches) list(ctx context.Context, _ []string) error {
	if c.format == render.Table {
		table, err := c.client.Table(ctx, cachesPath)
		if err != nil {
			return fmt.Errorf("cache: %w", err)
		}
		return render.ServerTable(c.out, table)
	}
	var list v1alpha1.CacheList
	if err := c.read(ctx, &list, nil); err != nil {
		return err
	}
	return render.All(c.out, c.format, render.Columns[v1alpha1.Cache]{}, list.Items...)
}

func newCacheGetCommand(o *cacheOptions) *cobra.Command {
	return &cobra.Command{
		Use:   "get RESOURCE [[NAMESPACE/]NAME]",
		Short: "Show one cache with its watches, or one object as the cache has it, beside what etcd has",
		Args:  cobra.RangeArgs(1, 2),

		ValidArgsFunction: o.completing(1, cacheNames),
		RunE:              o.with((*caches).get),
	}
}

func (c *caches) get(ctx context.Context, args []string) error {
	if len(args) == 1 {
		var cache v1alpha1.Cache
		if err := c.read(ctx, &cache, nil, args[0]); err != nil {
			return err
		}
		return render.Cache(c.out, c.format, &cache)
	}
	query := url.Values{"name": {args[1]}}
	if namespace, name, ok := strings.Cut(args[1], "/"); ok {
		query = url.Values{"namespace": {namespace}, "name": {name}}
	}
	var both v1alpha1.CachedObject
	if err := c.read(ctx, &both, query, args[0], "object"); err != nil {
		return err
	}
	err := render.CachedObject(c.out, c.format, &both)
	if err == nil && both.Status.Difference != "" {
		return &exitError{code: exitFound}
	}
	return err
}

func newCacheCheckCommand(o *cacheOptions) *cobra.Command {
	return &cobra.Command{
		Use:   "check [RESOURCE]...",
		Short: "Compare caches with etcd, each at one revision, and name every difference",
		Long: `Compare caches with etcd, each at one revision, and name every difference. Without a RESOURCE, all caches are compared that somebody has
asked for.

Each comparison reads all of a resource in etcd. Exit code 3 says that something differs.`,
		ValidArgsFunction: o.completing(anyNumber, cacheNames),
		RunE:              o.with((*caches).check),
	}
}

// check compares the named caches, or all.
func (c *caches) check(ctx context.Context, names []string) error {
	all := len(names) == 0
	if all {
		var list v1alpha1.CacheList
		if err := c.read(ctx, &list, nil); err != nil {
			return err
		}
		for i := range list.Items {
			if status := &list.Items[i].Status; status.State != v1alpha1.CacheUninitialized || status.Error != "" {
				names = append(names, list.Items[i].Name)
			}
		}
	}
	rows := render.NewList(c.out, c.format, render.Checks)
	var differing []*v1alpha1.CacheCheck
	for _, name := range names {
		check := &v1alpha1.CacheCheck{}
		err := c.read(ctx, check, nil, name, "check")
		if all && api.Code(err) == http.StatusNotFound {
			continue // its resource was removed meanwhile
		}
		if err == nil {
			err = rows.Add(check)
		}
		if err != nil {
			return errors.Join(rows.Close(), err)
		}
		if !check.Status.Consistent {
			differing = append(differing, check)
		}
	}
	if err := rows.Close(); err != nil || len(differing) == 0 {
		return err
	}
	for _, check := range differing {
		if c.format == render.Table {
			if err := render.CacheDifferences(c.out, check); err != nil {
				return err
			}
		}
	}
	return &exitError{code: exitFound}
}
