package main

import (
	"context"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kx-apiserver/kx/cmd/kx/internal/render"
	"github.com/kx-apiserver/kx/cmd/kx/internal/whatif"
	"github.com/kx-apiserver/kx/tui/draw"
)

type storageWhatIfOptions struct {
	*etcdOptions
	crd, output string
	all         bool
}

func newStorageWhatIfCommand() *cobra.Command {
	o := &storageWhatIfOptions{etcdOptions: newEtcdOptions()}
	cmd := &cobra.Command{
		Use:   "what-if --crd FILE",
		Short: "Try a CustomResourceDefinition on what is stored, without installing it",
		Long: `Try a CustomResourceDefinition on what is stored, without installing it.

The definition itself is validated: as an update if one of its name is installed. Then every stored object of its resource
is read as the server would read it with that definition, brought into each version that clients could have (a conversion
webhook is asked, if it can be reached from here), and checked: which fields it would lose because the schema does not know
them, which would get defaults, and what a create of it would be refused for, rules included.

Objects with errors and those that would lose something are listed; --all lists all. It ends with 3 if there are any, or if
the definition is not valid.`,
		Example: `  kx storage what-if --crd new.yaml
  kx storage what-if --crd new.yaml --file backup.db -o json
  kx kustomize config/crd | kx storage what-if --crd - --all`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return o.read(cmd, func(ctx context.Context, r *reading) error { return o.run(ctx, cmd, r) })
		},
	}
	o.addFlags(cmd, cmd.Flags())
	cmd.Flags().StringVar(&o.crd, "crd", "", "file with the definition, YAML or JSON; - for standard input")
	cmd.Flags().BoolVar(&o.all, "all", false, "list also the objects that have nothing to fear")
	outputVar(cmd, &o.output)
	_ = cmd.MarkFlagRequired("crd")
	return cmd
}

func (o *storageWhatIfOptions) run(ctx context.Context, cmd *cobra.Command, r *reading) error {
	format, err := listFormat(o.output)
	if err != nil {
		return err
	}
	data, err := input(cmd, o.crd)
	if err != nil {
		return fmt.Errorf("read the definition: %w", err)
	}
	tried, err := whatif.Parse(data)
	if err != nil {
		return fmt.Errorf("%s: %w", o.crd, err)
	}
	resource := schema.GroupResource{Group: tried.Spec.Group, Resource: tried.Spec.Names.Plural}
	installed, err := whatif.Installed(ctx, r.Source, r.decoder, resource)
	if err != nil {
		return err
	}
	definition, err := whatif.Try(ctx, tried, installed)
	if err != nil {
		return err
	}
	out := newWhatIfOutput(r.out, format)
	if err := out.definition(definition); err != nil {
		return err
	}
	trial, err := whatif.NewTrial(definition)
	if err != nil {
		return out.untried(definition, err)
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
		if err := out.object(&object); err != nil {
			return err
		}
	}
	progress.Clear()
	return out.summary(definition, &trial.Summary)
}

// whatIfOutput writes what a trial finds: for people a table of problems between two paragraphs, else one document.
type whatIfOutput struct {
	out      io.Writer
	table    *render.List[problem]
	sections *render.Sections // nil for a table
}

// problem is a line of the table.
type problem struct{ namespace, name, version, what string }

func newWhatIfOutput(out io.Writer, format render.Format) *whatIfOutput {
	if format != render.Table {
		return &whatIfOutput{out: out, sections: render.NewSections(out, format)}
	}
	return &whatIfOutput{out: out, table: render.NewList(out, format,
		column("NAMESPACE", func(p problem) string { return orNone(p.namespace) }),
		column("NAME", func(p problem) string { return p.name }),
		column("VERSION", func(p problem) string { return orNone(p.version) }),
		column("WHAT IF", func(p problem) string { return p.what }),
	)}
}

func (w *whatIfOutput) definition(d *whatif.Definition) error {
	if w.sections != nil {
		return w.sections.Value("definition", d)
	}
	as := "as a new one"
	if d.Installed {
		as = "as an update of the installed one"
	}
	verdict := "valid"
	if len(d.Errors) > 0 {
		verdict = "refused"
	}
	fmt.Fprintf(w.out, "%s: %s, %s\n", draw.Clean(d.Name), verdict, as)
	for _, text := range d.Errors {
		fmt.Fprintf(w.out, "  error: %s\n", draw.Clean(text))
	}
	for _, text := range d.Warnings {
		fmt.Fprintf(w.out, "  warning: %s\n", draw.Clean(text))
	}
	return nil
}

// untried is the end if a definition is so wrong that no object can be read with it.
func (w *whatIfOutput) untried(d *whatif.Definition, why error) error {
	if len(d.Errors) == 0 {
		return why
	}
	if w.sections != nil {
		if err := w.sections.Close(); err != nil {
			return err
		}
	}
	return &exitError{code: exitFound, err: why}
}

func (w *whatIfOutput) object(o *whatif.Object) error {
	if w.sections != nil {
		return w.sections.Row("objects", o)
	}
	var rows []problem
	row := func(version, what string) { rows = append(rows, problem{o.Namespace, o.Name, version, what}) }
	for _, text := range o.Errors {
		row(o.Stored, "error: "+text)
	}
	for _, c := range o.Versions {
		for _, text := range c.Errors {
			row(c.Version, "error: "+text)
		}
		for _, field := range c.Lost {
			row(c.Version, "lost: "+field)
		}
		if len(c.Defaults) > 0 {
			row(c.Version, "defaults: "+strings.Join(c.Defaults, ", "))
		}
	}
	if len(rows) == 0 {
		row(o.Stored, "nothing")
	}
	for _, p := range rows {
		if err := w.table.Add(p); err != nil {
			return err
		}
	}
	return nil
}

func (w *whatIfOutput) summary(d *whatif.Definition, s *whatif.Summary) error {
	if w.sections != nil {
		if err := w.sections.EndRows("objects"); err != nil {
			return err
		}
		if err := w.sections.Value("summary", s); err != nil {
			return err
		}
		if err := w.sections.Close(); err != nil {
			return err
		}
	} else if err := w.paragraph(s); err != nil {
		return err
	}
	if len(d.Errors) > 0 || s.Errors > 0 || s.Lost > 0 || s.NotConverted > 0 {
		return &exitError{code: exitFound}
	}
	return nil
}

func (w *whatIfOutput) paragraph(s *whatif.Summary) error {
	if err := w.table.Close(); err != nil {
		return err
	}
	var stored []string
	for _, version := range slices.Sorted(maps.Keys(s.Stored)) {
		stored = append(stored, fmt.Sprintf("%s in %s", render.Count(s.Stored[version]), draw.Clean(version)))
	}
	fmt.Fprintf(w.out, "objects: %s (%s); with errors: %s; would lose fields: %s; would get defaults: %s\n", render.Count(s.Objects),
		orNone(strings.Join(stored, ", ")), render.Count(s.Errors), render.Count(s.Lost), render.Count(s.Defaulted))
	if s.Cost > 0 {
		fmt.Fprintf(w.out, "rules: the most that they cost is %s of %s, for %s\n", render.Count(s.Cost), render.Count(whatif.Budget), draw.Clean(s.CostKey))
	}
	if s.NotConverted > 0 {
		fmt.Fprintf(w.out, "conversion: %s objects were not converted: %s\n", render.Count(s.NotConverted), draw.Clean(s.Webhook))
	}
	return nil
}
