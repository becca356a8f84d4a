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

// serverOptions say which server a command asks.
type serverOptions struct{ dataDir, kubeconfig string }

func newServerOptions() serverOptions { return serverOptions{dataDir: options.New().DataDir} }

// addKubeconfig adds --kubeconfig. running names the kx that is asked without it.
func (o *serverOptions) addKubeconfig(fs *pflag.FlagSet, running string) {
	fs.StringVar(&o.kubeconfig, "kubeconfig", "", "kubeconfig of the server (default: KUBECONFIG, or else the kx that runs on "+running+")")
}

// complain says what does not end a command.
func complain(text string) { fmt.Fprintln(os.Stderr, "kx:", text) }

// server is the configuration of a client of that server.
func (o *serverOptions) server() (*rest.Config, error) {
	config, err := o.config()
	if err == nil {
		config.UserAgent = join.Agent()
	}
	return config, err
}

func (o *serverOptions) config() (*rest.Config, error) {
	if join.Elsewhere(o.dataDir, o.kubeconfig) {
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
