package kubectl

import (
	"encoding/json"
	"fmt"

	"github.com/spf13/cobra"
	apiversion "k8s.io/apimachinery/pkg/version"
	cmdutil "k8s.io/kubectl/pkg/cmd/util"
	"sigs.k8s.io/yaml"

	"github.com/kx-apiserver/kx/server/version"
)

// newVersion makes kubectl version. kubectl's own command takes the client's version from linker flags, which kx's
// builds do not set, and fails without it.
func newVersion(f cmdutil.Factory, streams Streams) *cobra.Command {
	var output string
	var clientOnly bool
	cmd := &cobra.Command{
		Use:     "version",
		Short:   "Print the client and server version information",
		Example: "  kubectl version --client",
		Args:    cobra.NoArgs,
		Run: func(*cobra.Command, []string) {
			var known versions
			info := version.Info()
			known.Client = &info
			var serverErr error
			if !clientOnly {
				client, err := f.ToDiscoveryClient()
				if err == nil {
					known.Server, err = client.ServerVersion()
				}
				serverErr = err
			}
			cmdutil.CheckErr(known.print(streams, output))
			cmdutil.CheckErr(serverErr)
		},
	}
	cmd.Flags().BoolVar(&clientOnly, "client", false, "If true, shows client version only (no server required).")
	cmd.Flags().StringVarP(&output, "output", "o", "", "One of 'yaml' or 'json'.")
	return cmd
}

// versions has the names of kubectl's output.
type versions struct {
	Client *apiversion.Info `json:"clientVersion,omitempty"`
	Server *apiversion.Info `json:"serverVersion,omitempty"`
}

func (v *versions) print(streams Streams, output string) error {
	var data []byte
	var err error
	switch output {
	case "":
		data = fmt.Appendf(nil, "Client Version: %s\n", v.Client.GitVersion)
		if v.Server != nil {
			data = fmt.Appendf(data, "Server Version: %s\n", v.Server.GitVersion)
		}
	case "json":
		data, err = json.MarshalIndent(v, "", "  ")
		data = append(data, '\n')
	case "yaml":
		data, err = yaml.Marshal(v)
	default:
		return fmt.Errorf("--output: %q is neither yaml nor json", output)
	}
	if err == nil {
		_, err = streams.Out.Write(data)
	}
	return err
}
