package kubectl

import (
	"flag"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/klog/v2"
	"k8s.io/kubectl/pkg/cmd/annotate"
	"k8s.io/kubectl/pkg/cmd/apiresources"
	"k8s.io/kubectl/pkg/cmd/apply"
	"k8s.io/kubectl/pkg/cmd/auth"
	"k8s.io/kubectl/pkg/cmd/autoscale"
	"k8s.io/kubectl/pkg/cmd/config"
	"k8s.io/kubectl/pkg/cmd/create"
	"k8s.io/kubectl/pkg/cmd/delete"
	"k8s.io/kubectl/pkg/cmd/describe"
	"k8s.io/kubectl/pkg/cmd/diff"
	"k8s.io/kubectl/pkg/cmd/edit"
	"k8s.io/kubectl/pkg/cmd/events"
	"k8s.io/kubectl/pkg/cmd/explain"
	"k8s.io/kubectl/pkg/cmd/expose"
	"k8s.io/kubectl/pkg/cmd/get"
	"k8s.io/kubectl/pkg/cmd/kustomize"
	"k8s.io/kubectl/pkg/cmd/label"
	"k8s.io/kubectl/pkg/cmd/patch"
	"k8s.io/kubectl/pkg/cmd/proxy"
	"k8s.io/kubectl/pkg/cmd/replace"
	"k8s.io/kubectl/pkg/cmd/rollout"
	"k8s.io/kubectl/pkg/cmd/run"
	"k8s.io/kubectl/pkg/cmd/scale"
	"k8s.io/kubectl/pkg/cmd/set"
	cmdutil "k8s.io/kubectl/pkg/cmd/util"
	"k8s.io/kubectl/pkg/cmd/wait"
	"k8s.io/kubectl/pkg/util/completion"

	_ "github.com/kx-apiserver/kx/cmd/kx/internal/proc" // before kubectl's packages
)

// The names of the command above these commands.
const (
	ours   = "kx"
	theirs = "kubectl"
)

// Streams are a command's input and outputs.
type Streams = genericiooptions.IOStreams

// commands lists kubectl's commands in the order of help. It lacks those that need a node or a running pod, because
// kx has neither.
var commands = []func(*wiring, cmdutil.Factory, Streams) *cobra.Command{
	func(w *wiring, f cmdutil.Factory, s Streams) *cobra.Command {
		cmd := get.NewCmdGet(w.parent, f, s)
		cmd.ValidArgsFunction = completion.ResourceTypeAndNameCompletionFunc(f)
		w.addAt(cmd)
		return cmd
	},
	func(w *wiring, f cmdutil.Factory, s Streams) *cobra.Command {
		return describe.NewCmdDescribe(w.parent, f, s)
	},
	func(w *wiring, f cmdutil.Factory, s Streams) *cobra.Command {
		return explain.NewCmdExplain(w.parent, f, s)
	},
	func(_ *wiring, f cmdutil.Factory, s Streams) *cobra.Command { return events.NewCmdEvents(f, s) },
	func(_ *wiring, f cmdutil.Factory, s Streams) *cobra.Command { return create.NewCmdCreate(f, s) },
	func(w *wiring, f cmdutil.Factory, s Streams) *cobra.Command {
		cmd := apply.NewCmdApply(w.parent, forPatches{f}, s)
		w.addExplainConflicts(cmd)
		pruneWhatThereIs(cmd, f)
		return cmd
	},
	func(_ *wiring, f cmdutil.Factory, s Streams) *cobra.Command { return diff.NewCmdDiff(forPatches{f}, s) },
	func(_ *wiring, f cmdutil.Factory, s Streams) *cobra.Command { return edit.NewCmdEdit(f, s) },
	func(_ *wiring, f cmdutil.Factory, s Streams) *cobra.Command { return patch.NewCmdPatch(f, s) },
	func(_ *wiring, f cmdutil.Factory, s Streams) *cobra.Command { return replace.NewCmdReplace(f, s) },
	func(_ *wiring, f cmdutil.Factory, s Streams) *cobra.Command { return delete.NewCmdDelete(f, s) },
	func(_ *wiring, f cmdutil.Factory, s Streams) *cobra.Command { return label.NewCmdLabel(f, s) },
	func(w *wiring, f cmdutil.Factory, s Streams) *cobra.Command {
		return annotate.NewCmdAnnotate(w.parent, f, s)
	},
	func(_ *wiring, f cmdutil.Factory, s Streams) *cobra.Command { return scale.NewCmdScale(f, s) },
	func(_ *wiring, f cmdutil.Factory, s Streams) *cobra.Command { return autoscale.NewCmdAutoscale(f, s) },
	func(_ *wiring, f cmdutil.Factory, s Streams) *cobra.Command { return expose.NewCmdExposeService(f, s) },
	func(_ *wiring, f cmdutil.Factory, s Streams) *cobra.Command { return run.NewCmdRun(f, s) },
	func(_ *wiring, f cmdutil.Factory, s Streams) *cobra.Command { return set.NewCmdSet(f, s) },
	func(w *wiring, f cmdutil.Factory, s Streams) *cobra.Command {
		return rollout.NewCmdRollout(w.parent, f, s)
	},
	func(_ *wiring, f cmdutil.Factory, s Streams) *cobra.Command { return wait.NewCmdWait(f, s) },
	func(w *wiring, f cmdutil.Factory, s Streams) *cobra.Command {
		cmd := auth.NewCmdAuth(f, s)
		w.endCanI(cmd, f, s)
		cmd.AddCommand(w.newWhy(f, s))
		return cmd
	},
	func(_ *wiring, f cmdutil.Factory, s Streams) *cobra.Command {
		return apiresources.NewCmdAPIResources(f, s)
	},
	func(_ *wiring, f cmdutil.Factory, s Streams) *cobra.Command {
		return apiresources.NewCmdAPIVersions(f, s)
	},
	func(_ *wiring, f cmdutil.Factory, s Streams) *cobra.Command { return proxy.NewCmdProxy(f, s) },
	func(_ *wiring, _ cmdutil.Factory, s Streams) *cobra.Command { return kustomize.NewCmdKustomize(s) },
	func(w *wiring, f cmdutil.Factory, s Streams) *cobra.Command {
		return config.NewCmdConfig(f, w.pathOptions(), s)
	},
}

// Own makes one of kx's own commands. The command finds its server and shows its journeys like kubectl's commands.
// warn gets the server's warnings.
type Own func(f cmdutil.Factory, streams Streams, warn rest.WarningHandler) *cobra.Command

// NewCommands makes kubectl's commands, followed by kx's own. Without --kubeconfig and KUBECONFIG they use the server
// of the data directory.
func NewCommands(dataDir string, streams Streams, own ...Own) []*cobra.Command {
	w := newWiring(dataDir, streams)
	connection, f := w.connect()
	w.addTrace(connection)
	connection.VisitAll(func(f *pflag.Flag) { markConnection(f) })

	all := w.newCommands(f)
	for _, newCommand := range own {
		all = append(all, newCommand(f, streams, w.warnings))
	}
	for _, cmd := range all {
		w.adopt(cmd)
		cmd.PersistentFlags().AddFlagSet(connection) // this skips flags that the command has already
		completeConnection(cmd, f)
	}
	return all
}

// NewRoot makes kubectl: the same commands below that name, on the server of the kubeconfig that kubectl would use. kx
// starts no server for them. The common flags may precede a command.
func NewRoot(streams Streams) *cobra.Command {
	w := newWiring("", streams)
	w.parent = theirs
	root := &cobra.Command{
		Use: theirs, Short: "kx, called as kubectl: kubectl's commands that need no running pod",
		SilenceErrors: true, SilenceUsage: true,
	}
	root.SetIn(streams.In)
	root.SetOut(streams.Out)
	root.SetErr(streams.ErrOut)
	connection, f := w.connect()
	root.PersistentFlags().AddFlagSet(connection)
	for _, cmd := range append(w.newCommands(f), newVersion(f, streams)) {
		w.adopt(cmd)
		root.AddCommand(cmd)
	}
	completeConnection(root, f)
	return root
}

// connect makes the factory and the flags that all commands have.
func (w *wiring) connect() (*pflag.FlagSet, cmdutil.Factory) {
	connection := pflag.NewFlagSet("connection", pflag.ContinueOnError)
	f := w.factory(connection)
	completion.SetFactoryForCompletion(f)
	addVerbosity(connection)
	return connection, f
}

func (w *wiring) newCommands(f cmdutil.Factory) (all []*cobra.Command) {
	for _, newCommand := range commands {
		all = append(all, newCommand(w, f, w.streams))
	}
	return all
}

// pathOptions makes the command config use the same kubeconfig as the others.
func (w *wiring) pathOptions() *clientcmd.PathOptions {
	o := clientcmd.NewDefaultPathOptions()
	if w.parent == theirs {
		return o
	}
	o.GlobalFile = filepath.Join(w.dataDir, "kubeconfig")
	o.GlobalFileSubpath = filepath.Join(filepath.Base(w.dataDir), "kubeconfig")
	return o
}

// addVerbosity adds the flags of the log, such as kubectl's -v.
func addVerbosity(connection *pflag.FlagSet) {
	all := flag.NewFlagSet("klog", flag.ContinueOnError)
	klog.InitFlags(all)
	for _, name := range []string{"v", "vmodule"} {
		connection.AddGoFlag(all.Lookup(name))
	}
}

// completeConnection adds the completion of the common flags to a command.
func completeConnection(cmd *cobra.Command, f cmdutil.Factory) {
	for name, complete := range map[string]func(string) []string{
		"namespace": func(prefix string) []string { return completion.CompGetResource(f, "namespace", prefix) },
		"context":   completion.ListContextsInConfig,
		"cluster":   completion.ListClustersInConfig,
		"user":      completion.ListUsersInConfig,
		"trace":     func(string) []string { return traceForms },
	} {
		_ = cmd.RegisterFlagCompletionFunc(name, func(_ *cobra.Command, _ []string, prefix string) ([]string, cobra.ShellCompDirective) {
			return complete(prefix), cobra.ShellCompDirectiveNoFileComp
		})
	}
}

// adopt adapts a command of kubectl's, and its subcommands, to kx.
func (w *wiring) adopt(cmd *cobra.Command) {
	if w.parent == ours {
		cmd.Short, cmd.Long, cmd.Example = renameProgram(cmd.Short), renameProgram(cmd.Long), renameProgram(cmd.Example)
	}
	cmd.SetUsageTemplate(usageTemplate)
	cmd.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return fmt.Errorf("%w (%s help %s says which there are)", err, w.parent, c.CommandPath()[len(w.parent)+1:])
	})
	if cmd.Run != nil || cmd.RunE != nil {
		cmd.RunE, cmd.Run = w.wrap(cmd.Run, cmd.RunE), nil
	}
	for _, sub := range cmd.Commands() {
		w.adopt(sub)
	}
}

// renameProgram replaces the word kubectl in a help text by kx, but not inside longer names. It runs for all texts at
// each start of kx, so it is a plain search instead of a regular expression.
func renameProgram(text string) string {
	const word = theirs + " "
	var b strings.Builder
	for {
		at := strings.Index(text, word)
		if at < 0 {
			break
		}
		end := at + len(word)
		b.WriteString(text[:at])
		if (at == 0 || !inWord(text[at-1])) && end < len(text) && 'a' <= text[end] && text[end] <= 'z' {
			b.WriteString(ours + " ")
		} else {
			b.WriteString(word)
		}
		text = text[end:]
	}
	if b.Len() == 0 {
		return text
	}
	b.WriteString(text)
	return b.String()
}

// inWord reports whether a character is part of a word.
func inWord(c byte) bool {
	return c == '_' || '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
}
