package main

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kx-apiserver/kx/cmd/kx/internal/kubectl"
)

// The groups in which help lists the commands.
const (
	groupServe = "serve"
	groupLook  = "look"
	groupBelow = "below"
	groupUse   = "use"
)

func newRootCommand(streams kubectl.Streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "kx",
		Short: "The Kubernetes API server's storage path, to run, to call and to watch at work",
		Example: `  kx tui                                            # a server with its requests on a screen: begin here
  kx serve                                          # a server alone; the other commands find it
  kx create configmap hello --from-literal=who=me   # without one, each command starts one for itself
  kx get configmap hello --trace                    # and which way the request went, step by step
  kx etcd get configmaps/default/hello              # what is stored, while a server runs
  source <(kx completion bash)                      # or zsh, fish: names complete too`,
		// An error is one sentence, printed by main; the usage is for those who ask.
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	cmd.SetIn(streams.In)
	cmd.SetOut(streams.Out)
	cmd.SetErr(streams.ErrOut)
	for _, group := range []struct {
		id, title string
		commands  []*cobra.Command
	}{
		{groupServe, "Run a server:", []*cobra.Command{newServeCommand(), newTUICommand(), newBenchCommand()}},
		{groupLook, "See what it does:", []*cobra.Command{newTraceCommand()}},
		{groupBelow, "Look at and mend what lies below the API:", []*cobra.Command{newEtcdCommand(), newStorageCommand(), newCacheCommand()}},
		{groupUse, "Use it, as with kubectl:", newKubectlCommands(streams)},
	} {
		cmd.AddGroup(&cobra.Group{ID: group.id, Title: group.title})
		for _, c := range group.commands {
			c.GroupID = group.id
			cmd.AddCommand(c)
		}
	}
	cmd.AddCommand(newVersionCommand())
	checkUse(cmd)
	return cmd
}

// sayWhere ends what is wrong with the use of a command with where it is said how to use it.
func sayWhere(cmd *cobra.Command, err error) error {
	return fmt.Errorf("%w (%s says how it is used)", err, strings.Replace(cmd.CommandPath(), "kx", "kx help", 1))
}

// checkUse makes the commands that are not kubectl's say where their use is told.
func checkUse(root *cobra.Command) {
	root.SetFlagErrorFunc(sayWhere)
	checkUsage(root)
}

// checkUsage makes a command, and those below it, say where its use is told if its arguments and flags are not as it wants
// them. Cobra would check them at the same point, one after the other.
func checkUsage(cmd *cobra.Command) {
	if check := cmd.Args; check != nil {
		cmd.Args = func(c *cobra.Command, args []string) error {
			err := check(c, args)
			if err == nil {
				err = c.ValidateRequiredFlags()
			}
			if err == nil {
				err = together(c.ValidateFlagGroups())
			}
			if err != nil {
				return sayWhere(c, err)
			}
			return nil
		}
	}
	for _, sub := range cmd.Commands() {
		checkUsage(sub)
	}
}

// exclusive is how cobra says that flags exclude each other.
var exclusive = regexp.MustCompile(`; \[(.*)\] were all set$`)

// together says it shorter.
func together(err error) error {
	if err == nil {
		return nil
	}
	if set := exclusive.FindStringSubmatch(err.Error()); set != nil {
		return fmt.Errorf("--%s exclude each other", strings.Join(strings.Fields(set[1]), " and --"))
	}
	return err
}
