package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/util/flowcontrol"

	"github.com/kx-apiserver/kx/cmd/kx/internal/migrate"
	"github.com/kx-apiserver/kx/cmd/kx/internal/render"
	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/tui/shell"
)

type storageMigrateOptions struct {
	serverOptions
	all, drop bool
	rate      float32
	from      string
	format    render.Format
}

func newStorageMigrateCommand() *cobra.Command {
	o := &storageMigrateOptions{serverOptions: newServerOptions(), rate: 100}
	cmd := &cobra.Command{
		Use:   "migrate {RESOURCE... | --all}",
		Short: "Have the server write objects again, in today's version and with today's key",
		Long: `Have the server write all objects of a resource again, so that they are stored in the version and with the encryption key
that it writes today.

It works through the API of a running server, by patches that change nothing: the server writes an object if its stored
form would differ. A patch is bound to the state that was read, so no concurrent write is lost.

When it is stopped or fails, it says how to go on with --from. An object that comes twice is not written twice.

When all objects of a custom resource are stored in one version, its definition's status.storedVersions can be cut to that:
it asks, or --drop-stored-versions says yes.`,
		Example: `  kx storage migrate secrets
  kx storage migrate --all --rate 20
  kx storage migrate crontabs.stable.example.com --drop-stored-versions
  kx storage migrate secrets configmaps -o json`,
		ValidArgsFunction: o.completing(anyNumber, groupResourceNames),
		RunE:              o.run,
	}
	fs := cmd.Flags()
	fs.StringVar(&o.dataDir, "data-dir", o.dataDir, "data directory of the kx to ask")
	o.addKubeconfig(fs, "--data-dir")
	fs.BoolVar(&o.all, "all", false, "all resources that can be listed and patched")
	fs.Float32Var(&o.rate, "rate", o.rate, "objects a second at most; 0 for as fast as the server is")
	fs.StringVar(&o.from, "from", "", "go on where a migration was stopped, by the cursor that it showed")
	fs.BoolVar(&o.drop, "drop-stored-versions", false,
		"take versions off status.storedVersions of definitions that no object is stored in any more")
	listFormatVar(cmd, &o.format)
	return cmd
}

func (o *storageMigrateOptions) run(cmd *cobra.Command, args []string) error {
	if (len(args) == 0) != o.all || o.rate < 0 {
		return errors.New("migrate what? Name resources, or use --all; --rate is not below 0")
	}
	ctx, stop := untilInterrupted(cmd)
	defer stop()
	m, resources, err := o.prepare(args)
	if err != nil {
		return err
	}
	var from *migrate.Cursor
	if o.from != "" {
		if from, err = migrate.ParseCursor(o.from); err != nil {
			return fmt.Errorf("--from: %w", err)
		}
		// Resources before the cursor's are migrated already.
		at := slices.IndexFunc(resources, func(r schema.GroupVersionResource) bool { return r.GroupResource().String() == from.Resource })
		if at < 0 {
			return fmt.Errorf("--from: it is a cursor of %s, which is not among the resources", from.Resource)
		}
		resources = resources[at:]
	}
	return o.migrate(ctx, cmd, m, resources, from)
}

func (o *storageMigrateOptions) migrate(ctx context.Context, cmd *cobra.Command, m *migrate.Migration,
	resources []schema.GroupVersionResource, from *migrate.Cursor) error {
	list := render.NewList(cmd.OutOrStdout(), o.format, render.Migrations)
	var failed int64
	for _, resource := range resources {
		progress := render.NewProgress(cmd.ErrOrStderr(), func(done int64) string {
			return fmt.Sprintf("%s: %s objects", resource.GroupResource(), render.Count(done))
		})
		m.Progress = progress.Add
		result, err := m.Resource(ctx, resource, from)
		progress.Clear()
		from = nil
		if err == nil && len(result.Droppable) > 0 {
			err = o.dropVersions(ctx, cmd, m, result)
		}
		failed += result.Failed
		if addErr := list.Add(result); addErr != nil {
			return addErr
		}
		if err != nil {
			if result.Cursor != "" {
				fmt.Fprintf(cmd.ErrOrStderr(), "kx: go on with: %s --from %s\n", resumeCommand(cmd), result.Cursor)
			}
			return errors.Join(err, list.Close())
		}
	}
	if err := list.Close(); err != nil {
		return err
	}
	if failed > 0 {
		return fmt.Errorf("%s objects were not written again: -o json says why", render.Count(failed))
	}
	return nil
}

// resumeCommand returns the command line of this call without a cursor: the same resources, server and pace.
func resumeCommand(cmd *cobra.Command) string {
	words := append(strings.Fields(cmd.CommandPath()), cmd.Flags().Args()...)
	cmd.Flags().Visit(func(f *pflag.Flag) {
		switch {
		case f.Name == "from":
		case f.Value.Type() == "bool" && f.Value.String() == "true":
			words = append(words, "--"+f.Name)
		default:
			words = append(words, "--"+f.Name+"="+f.Value.String())
		}
	})
	return shell.Line(words...)
}

// dropVersions removes stored versions from a definition, if the flag or the user agrees.
func (o *storageMigrateOptions) dropVersions(ctx context.Context, cmd *cobra.Command, m *migrate.Migration, result *migrate.Result) error {
	if !o.drop {
		if !render.IsTerminal(cmd.InOrStdin()) {
			return nil
		}
		fmt.Fprintf(cmd.ErrOrStderr(), "No object of %s is stored in %s any more. Take it off status.storedVersions? [y/N] ",
			result.Resource, strings.Join(result.Droppable, ", "))
		answer, err := bufio.NewReader(cmd.InOrStdin()).ReadString('\n')
		if err != nil && !errors.Is(err, io.EOF) {
			return err
		}
		if a := strings.ToLower(strings.TrimSpace(answer)); a != "y" && a != "yes" {
			return nil
		}
	}
	return m.Drop(ctx, result)
}

// prepare connects to the server, and lists the resources sorted by name.
func (o *storageMigrateOptions) prepare(args []string) (*migrate.Migration, []schema.GroupVersionResource, error) {
	config, err := o.server()
	if err != nil {
		return nil, nil, err
	}
	config.QPS = -1 // Pace limits the rate instead
	m := &migrate.Migration{Pace: flowcontrol.NewFakeAlwaysRateLimiter()}
	if o.rate > 0 {
		m.Pace = flowcontrol.NewTokenBucketRateLimiter(o.rate, 1)
	}
	if m.Metadata, err = metadata.NewForConfig(config); err != nil {
		return nil, nil, err
	}
	if m.Dynamic, err = dynamic.NewForConfig(config); err != nil {
		return nil, nil, err
	}
	d, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, nil, err
	}
	if o.all {
		resources, err := everyResource(d)
		return m, resources, err
	}
	mapper := resourceMapper(d)
	var resources []schema.GroupVersionResource
	for _, arg := range args {
		found, err := resourceFor(mapper, arg)
		if err != nil {
			return nil, nil, err
		}
		resources = append(resources, found)
	}
	return m, resources, nil
}

// everyResource returns the stored resources that can be listed and patched, by name.
func everyResource(d discovery.DiscoveryInterface) ([]schema.GroupVersionResource, error) {
	lists, err := d.ServerPreferredResources()
	if err != nil {
		return nil, fmt.Errorf("ask which resources there are: %w", err)
	}
	lists = discovery.FilteredBy(discovery.SupportsAllVerbs{Verbs: []string{"list", "patch"}}, lists)
	found, err := discovery.GroupVersionResources(lists)
	if err != nil {
		return nil, err
	}
	var all []schema.GroupVersionResource
	for resource := range found {
		if resource.Group != v1alpha1.GroupName {
			all = append(all, resource)
		}
	}
	slices.SortFunc(all, func(a, b schema.GroupVersionResource) int {
		return strings.Compare(a.GroupResource().String(), b.GroupResource().String())
	})
	return all, nil
}
