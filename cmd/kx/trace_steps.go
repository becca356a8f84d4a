package main

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kx-apiserver/kx/cmd/kx/internal/render"
	"github.com/kx-apiserver/kx/core/lang"
	"github.com/kx-apiserver/kx/core/sites"
	"github.com/kx-apiserver/kx/core/steps"
	"github.com/kx-apiserver/kx/server"
)

func newTraceStepsCommand() *cobra.Command {
	var format render.Format
	var language lang.Language
	cmd := &cobra.Command{
		Use:   "steps [NAME]",
		Short: "List the steps that requests can take, and find one by a function's name",
		Long: `List the steps that requests can take: the layer of each, what it does, the function that takes it here, and the function
that does the same in the Kubernetes API server or is called in etcd.

NAME is a part of a step's ID, or of the name of a function: of kx, of the Kubernetes API server, or as articles about it
say. Upper and lower case are the same. The exit code is 1 if no step has such a name. Of functions that articles name and that are
no step, the error says what does their work instead.

No server is asked: these are the steps of this kx.`,
		Example: `  kx trace steps
  kx trace steps etcd3                        # those of a layer
  kx trace steps getOrCreateServingInfoFor    # which step is that function?
  kx trace steps WaitUntilFreshAndGet -o wide # with the files`,
		Args: cobra.MaximumNArgs(1),
		ValidArgsFunction: func(_ *cobra.Command, args []string, typed string) ([]cobra.Completion, cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			return stepsLike(typed), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			return listSteps(cmd.OutOrStdout(), format, language, strings.Join(args, ""))
		},
	}
	languageVar(cmd, &language)
	formatVar(cmd, cmd.Flags(), &format, "table, wide (with files), json or yaml", render.Table, render.Wide, render.JSON, render.YAML)
	return cmd
}

// stepsLike returns the IDs of steps that begin with the typed text.
func stepsLike(typed string) (ids []cobra.Completion) {
	for _, id := range steps.All() {
		if strings.HasPrefix(id.String(), typed) {
			ids = append(ids, cobra.CompletionWithDesc(id.String(), id.Info().Title))
		}
	}
	return ids
}

func listSteps(out io.Writer, format render.Format, language lang.Language, name string) error {
	all, err := sites.All(server.Source(), language)
	if err != nil {
		return err
	}
	if s := steps.LookupStepless(name); s != nil {
		return errors.New(language.Phrase("no step is %s. %s (%s)", name, language.Text(s.Text), s.Place()))
	}
	found := sites.Find(all, name)
	if len(found) > 0 {
		return render.Steps(out, format, found)
	}
	message := fmt.Sprintf("trace steps: no step or function is called %q", name)
	if near := sites.Near(all, name); len(near) > 0 {
		return fmt.Errorf("%s; near it: %s", message, strings.Join(near, ", "))
	}
	return fmt.Errorf("%s: kx trace steps lists all", message)
}
