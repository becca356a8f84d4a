package standin

import (
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"go.etcd.io/etcd/server/v3/embed"

	"github.com/kx-apiserver/kx/core/filter"
)

// sooner lets an etcd without other members lead 100 ms after its start, instead of up to a second.
var sooner = []string{"--heartbeat-interval=20", "--election-timeout=100"}

// timed are the flags, also as variables, whose users choose the ticks, or have several members.
var timed = []string{
	"heartbeat-interval", "election-timeout", "config-file", "initial-cluster-state", "discovery-endpoints", "discovery-srv",
}

// relics are flags of versions before 2.0, which etcd takes without heeding them.
var relics = []string{
	"cluster-active-size", "cluster-remove-delay", "cluster-sync-interval", "config", "force", "max-result-buffer",
	"max-retry-attempts", "peer-election-timeout", "peer-heartbeat-interval", "retry-interval", "snapshot", "v", "vv",
}

// EtcdArgs checks the arguments of an etcd, and returns them for etcd's own command, which heeds all of its flags. An
// etcd of one member gets flags that make it start sooner.
func EtcdArgs(args []string) ([]string, error) {
	if len(args) > 0 && !strings.HasPrefix(args[0], "-") {
		return args, nil // a command of etcd, such as gateway
	}
	flags := etcdFlags()
	if err := flags.Parse(args); err != nil {
		if name, unknown := strings.CutPrefix(err.Error(), "flag provided but not defined: -"); unknown {
			var names []string
			flags.VisitAll(func(f *flag.Flag) { names = append(names, f.Name) })
			return nil, unknownFlag("etcd", name, names)
		}
		return args, nil // etcd explains it, or prints its help
	}
	addVariables(flags)
	alone := !strings.Contains(flags.Lookup("initial-cluster").Value.String(), ",")
	flags.Visit(func(f *flag.Flag) { alone = alone && !slices.Contains(timed, f.Name) })
	if alone {
		return slices.Concat(sooner, args), nil
	}
	return args, nil
}

// addVariables sets flags from the environment, as etcd does: ETCD_DATA_DIR stands for --data-dir. etcd itself refuses
// flags that are given both ways, and values that can't be parsed.
func addVariables(flags *flag.FlagSet) {
	flags.VisitAll(func(f *flag.Flag) {
		if value := os.Getenv("ETCD_" + strings.ToUpper(strings.ReplaceAll(f.Name, "-", "_"))); value != "" {
			_ = flags.Set(f.Name, value)
		}
	})
}

// etcdFlags are the flags of etcd's configuration, and those of its command.
func etcdFlags() *flag.FlagSet {
	flags := flag.NewFlagSet("etcd", flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	embed.NewConfig().AddFlags(flags)
	for _, name := range []string{"config-file", "discovery-fallback", "initial-cluster-state", "v2-deprecation"} {
		flags.String(name, "", "")
	}
	for _, name := range slices.Concat(relics, []string{"version"}) {
		flags.Bool(name, false, "")
	}
	return flags
}

// unknownFlag is the error of a flag that a program does not have.
func unknownFlag(program, name string, all []string) error {
	err := fmt.Errorf("%s has no flag --%s", program, name)
	if likely := filter.Near(name, all); len(likely) > 0 {
		return fmt.Errorf("%w: did you mean --%s?", err, strings.Join(likely, " or --"))
	}
	return fmt.Errorf("%w: %s --help lists them", err, program)
}
