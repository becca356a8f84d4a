package main

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/spf13/cobra"

	"github.com/kx-apiserver/kx/cmd/kx/internal/kubectl"
)

// The groups of commands in help.
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
  kx learn                                          # lessons about what happens in it
  kx serve                                          # a server alone; the other commands find it
  kx create configmap hello --from-literal=who=me   # without one, each command starts one for itself
  kx get configmap hello --trace                    # and which way the request went, step by step
  kx etcd get configmaps/default/hello              # what is stored, while a server runs
  source <(kx completion bash)                      # or zsh, fish: names complete too`,
		// main prints an error as one sentence. Only --help prints the usage.
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
		{groupServe, "Run a server:", []*cobra.Command{newServeCommand(), newTestCommand(), newTestassetsCommand(), newTUICommand(),
			newBenchCommand()}},
		{groupLook, "See what it does:", []*cobra.Command{newCheckCommand(), newLearnCommand(), newTraceCommand(),
			newFaultCommand(), newPolicyCommand()}},
		{groupBelow, "Look at and mend what lies below the API:",
			[]*cobra.Command{newEtcdCommand(), newStorageCommand(), newCacheCommand()}},
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

// sayWhere adds the command that explains the usage to a usage error.
func sayWhere(cmd *cobra.Command, err error) error {
	return fmt.Errorf("%w (%s says how it is used)", err, strings.Replace(cmd.CommandPath(), "kx", "kx help", 1))
}

// checkUse applies sayWhere to the errors of all commands that are not kubectl's.
func checkUse(root *cobra.Command) {
	root.SetFlagErrorFunc(sayWhere)
	checkUsage(root)
}

// checkUsage applies sayWhere to the errors of a command's arguments and flags, and of the commands below it. Cobra
// checks the same at the same point.
func checkUsage(cmd *cobra.Command) {
	if check := cmd.Args; check != nil {
		cmd.Args = func(c *cobra.Command, args []string) error {
			err := check(c, args)
			if err == nil {
				err = c.ValidateRequiredFlags()
			}
			if err == nil {
				err = shortenExclusive(c.ValidateFlagGroups())
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

// exclusive matches cobra's error about flags that exclude each other.
var exclusive = regexp.MustCompile(`; \[(.*)\] were all set$`)

// shortenExclusive shortens the error that exclusive matches.
func shortenExclusive(err error) error {
	if err == nil {
		return nil
	}
	if set := exclusive.FindStringSubmatch(err.Error()); set != nil {
		return fmt.Errorf("--%s exclude each other", strings.Join(strings.Fields(set[1]), " and --"))
	}
	return err
}
