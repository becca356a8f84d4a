package kubectl

import (
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// connectionAnnotation marks the flags that all commands of this package share.
const connectionAnnotation = "kx-connection"

func markConnection(f *pflag.Flag) {
	if f.Annotations == nil {
		f.Annotations = map[string][]string{}
	}
	f.Annotations[connectionAnnotation] = []string{"true"}
}

// isConnection reports whether f is one of the flags that all commands of this package share.
func isConnection(f *pflag.Flag) bool { return f.Annotations[connectionAnnotation] != nil }

// OwnFlags returns the flags of a command without the shared ones.
func OwnFlags(cmd *cobra.Command) *pflag.FlagSet { return pick(cmd, false) }

// ConnectionFlags returns the shared flags of a command.
func ConnectionFlags(cmd *cobra.Command) *pflag.FlagSet { return pick(cmd, true) }

func pick(cmd *cobra.Command, connection bool) *pflag.FlagSet {
	picked := pflag.NewFlagSet(cmd.Name(), pflag.ContinueOnError)
	add := func(f *pflag.Flag) {
		if isConnection(f) == connection && picked.Lookup(f.Name) == nil {
			picked.AddFlag(f)
		}
	}
	cmd.LocalFlags().VisitAll(add)
	cmd.InheritedFlags().VisitAll(add)
	return picked
}

func init() {
	cobra.AddTemplateFunc("kxOwnFlags", OwnFlags)
	cobra.AddTemplateFunc("kxConnectionFlags", ConnectionFlags)
}

// usageTemplate is cobra's, with the shared flags after those of the command.
const usageTemplate = `Usage:{{if .Runnable}}
  {{.UseLine}}{{end}}{{if .HasAvailableSubCommands}}
  {{.CommandPath}} [command]{{end}}{{if .HasExample}}

Examples:
{{.Example}}{{end}}{{if .HasAvailableSubCommands}}

Commands:{{range .Commands}}{{if .IsAvailableCommand}}
  {{rpad .Name .NamePadding}} {{.Short}}{{end}}{{end}}{{end}}{{with (kxOwnFlags .).FlagUsages}}

Flags:
{{. | trimTrailingWhitespaces}}{{end}}{{with (kxConnectionFlags .).FlagUsages}}

Flags of all commands that use a server:
{{. | trimTrailingWhitespaces}}{{end}}
`
