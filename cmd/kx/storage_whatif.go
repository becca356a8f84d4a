package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kx-apiserver/kx/cmd/kx/internal/render"
	"github.com/kx-apiserver/kx/cmd/kx/internal/whatif"
)

type storageWhatIfOptions struct {
	*etcdOptions
	crd    string
	format render.Format
	all    bool
}

func newStorageWhatIfCommand() *cobra.Command {
	o := &storageWhatIfOptions{etcdOptions: newEtcdOptions()}
	cmd := &cobra.Command{
		Use:   "what-if --crd FILE",
		Short: "Try a CustomResourceDefinition on what is stored, without installing it",
		Long: `Try a CustomResourceDefinition on what is stored, without installing it.

The definition itself is validated: as an update if one of its name is installed. Then every stored object of its
resource is read as the server would read it with that definition, brought into each version that clients could have (a
conversion webhook is asked, if it can be reached from here), and checked: which fields it would lose because the schema
does not know them, which would get defaults, and for which reasons a create of it would be refused, rules included.

Objects with errors and those that would lose something are listed; --all lists all. The exit code is 3 if there are
any, or if the definition is not valid.`,
		Example: `  kx storage what-if --crd new.yaml
  kx storage what-if --crd new.yaml --file backup.db -o json
  kx kustomize config/crd | kx storage what-if --crd - --all`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return o.read(cmd, func(ctx context.Context, r *reader) error { return o.run(ctx, cmd, r) })
		},
	}
	o.addFlags(cmd, cmd.Flags())
	cmd.Flags().StringVar(&o.crd, "crd", "", "file with the definition, YAML or JSON; - for standard input")
	cmd.Flags().BoolVar(&o.all, "all", false, "list also objects without errors and losses")
	listFormatVar(cmd, &o.format)
	_ = cmd.MarkFlagRequired("crd")
	return cmd
}

func (o *storageWhatIfOptions) run(ctx context.Context, cmd *cobra.Command, r *reader) error {
	data, err := input(cmd, o.crd)
	if err != nil {
		return fmt.Errorf("read the definition: %w", err)
	}
	tried, err := whatif.Parse(data)
	if err != nil {
		return fmt.Errorf("%s: %w", o.crd, err)
	}
	resource := schema.GroupResource{Group: tried.Spec.Group, Resource: tried.Spec.Names.Plural}
	installed, err := whatif.FindInstalled(ctx, r.Source, r.decoder, resource)
	if err != nil {
		return err
	}
	definition, err := whatif.Try(ctx, tried, installed)
	if err != nil {
		return err
	}
	out := render.NewTrial(r.out, o.format)
	if err := out.Definition(definition); err != nil {
		return err
	}
	trial, err := whatif.NewTrial(definition)
	if err != nil {
		if len(definition.Errors) > 0 { // the errors are in the output
			err = errors.Join(&exitError{code: exitFound, err: err}, out.Close())
		}
		return err
	}
	progress := r.keysProgress()
	defer progress.Clear()
	for object, err := range trial.Objects(ctx, r.Source, r.decoder, progress.Add) {
		if err != nil {
			return err
		}
		if !o.all && !object.Refused() && !object.Lost() {
			continue
		}
		progress.Clear()
		if err := out.Object(&object); err != nil {
			return err
		}
	}
	progress.Clear()
	if err := out.Summary(&trial.Summary); err != nil {
		return err
	}
	if sum := &trial.Summary; len(definition.Errors) > 0 || sum.Errors > 0 || sum.Lost > 0 || sum.NotConverted > 0 {
		return &exitError{code: exitFound}
	}
	return nil
}
