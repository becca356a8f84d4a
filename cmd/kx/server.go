package main

import (
	"fmt"
	"os"

	"github.com/spf13/pflag"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/kx-apiserver/kx/cmd/kx/internal/join"
	"github.com/kx-apiserver/kx/server/options"
)

// serverOptions select the server of a command.
type serverOptions struct{ dataDir, kubeconfig string }

func newServerOptions() serverOptions { return serverOptions{dataDir: options.New().DataDir} }

// addKubeconfig adds --kubeconfig. running describes the kx that the command uses without the flag.
func (o *serverOptions) addKubeconfig(fs *pflag.FlagSet, running string) {
	fs.StringVar(&o.kubeconfig, "kubeconfig", "", "kubeconfig of the server (default: KUBECONFIG, or else the kx that runs on "+running+")")
}

// complain reports a problem that does not end the command.
func complain(text string) { fmt.Fprintln(os.Stderr, "kx:", text) }

// server returns the client configuration for the selected server.
func (o *serverOptions) server() (*rest.Config, error) {
	config, err := o.config()
	if err == nil {
		config.UserAgent = join.Agent()
	}
	return config, err
}

func (o *serverOptions) config() (*rest.Config, error) {
	if join.SelectsOther(o.dataDir, o.kubeconfig) {
		rules := clientcmd.NewDefaultClientConfigLoadingRules()
		rules.ExplicitPath = o.kubeconfig
		config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules, nil).ClientConfig()
		if err != nil {
			return nil, fmt.Errorf("read the kubeconfig: %w", err)
		}
		join.LimitPlugins(config, complain)
		return config, nil
	}
	place, err := join.Look(o.dataDir)
	if err != nil {
		return nil, err
	}
	return clientcmd.BuildConfigFromFlags(place.Server, place.Kubeconfig)
}
