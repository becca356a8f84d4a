package kubectl

import (
	"github.com/spf13/cobra"
	"k8s.io/kubectl/pkg/cmd/auth"
	cmdutil "k8s.io/kubectl/pkg/cmd/util"
)

// endCanI makes kx auth can-i end like other commands: kubectl's calls os.Exit directly when the answer is no.
func (w *wiring) endCanI(authCmd *cobra.Command, f cmdutil.Factory, streams Streams) {
	cmd, _, err := authCmd.Find([]string{"can-i"})
	if err != nil || cmd == authCmd {
		panic("kubectl's auth command has no can-i any more")
	}
	cmd.Run = func(cmd *cobra.Command, args []string) {
		o := &auth.CanIOptions{
			IOStreams:     streams,
			AllNamespaces: cmdutil.GetFlagBool(cmd, "all-namespaces"),
			Quiet:         cmdutil.GetFlagBool(cmd, "quiet"),
			NoHeaders:     cmdutil.GetFlagBool(cmd, "no-headers"),
			Subresource:   cmdutil.GetFlagString(cmd, "subresource"),
			List:          cmdutil.GetFlagBool(cmd, "list"),
		}
		cmdutil.CheckErr(o.Complete(f, args))
		cmdutil.CheckErr(o.Validate())
		if o.List {
			cmdutil.CheckErr(o.RunAccessList())
			return
		}
		allowed, err := o.RunAccessCheck()
		cmdutil.CheckErr(err)
		if !allowed {
			w.exit(1)
		}
	}
}
