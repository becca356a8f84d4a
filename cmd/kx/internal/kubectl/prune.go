package kubectl

import (
	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	cmdutil "k8s.io/kubectl/pkg/cmd/util"
)

// prunable lists the kinds that kubectl apply --prune checks by default.
var prunable = []schema.GroupVersionKind{
	{Version: "v1", Kind: "ConfigMap"},
	{Version: "v1", Kind: "Endpoints"},
	{Version: "v1", Kind: "PersistentVolumeClaim"},
	{Version: "v1", Kind: "Pod"},
	{Version: "v1", Kind: "ReplicationController"},
	{Version: "v1", Kind: "Secret"},
	{Version: "v1", Kind: "Service"},
	{Group: "batch", Version: "v1", Kind: "Job"},
	{Group: "batch", Version: "v1", Kind: "CronJob"},
	{Group: "networking.k8s.io", Version: "v1", Kind: "Ingress"},
	{Group: "apps", Version: "v1", Kind: "DaemonSet"},
	{Group: "apps", Version: "v1", Kind: "Deployment"},
	{Group: "apps", Version: "v1", Kind: "ReplicaSet"},
	{Group: "apps", Version: "v1", Kind: "StatefulSet"},
	{Version: "v1", Kind: "Namespace"},
	{Version: "v1", Kind: "PersistentVolume"},
}

// pruneWhatThereIs limits apply --prune to those of the kinds that the server has. kubectl's code stops at the first
// missing kind.
func pruneWhatThereIs(cmd *cobra.Command, f cmdutil.Factory) {
	run := cmd.Run
	cmd.Run = func(cmd *cobra.Command, args []string) {
		flags := cmd.Flags()
		if prune, _ := flags.GetBool("prune"); prune && !flags.Changed("prune-allowlist") && !flags.Changed("applyset") {
			cmdutil.CheckErr(allowPrunable(cmd, f))
		}
		run(cmd, args)
	}
}

func allowPrunable(cmd *cobra.Command, f cmdutil.Factory) error {
	mapper, err := f.ToRESTMapper()
	if err != nil {
		return err
	}
	for _, kind := range prunable {
		if _, err := mapper.RESTMapping(kind.GroupKind(), kind.Version); meta.IsNoMatchError(err) {
			continue
		} else if err != nil {
			return err
		}
		group := kind.Group
		if group == "" {
			group = "core"
		}
		if err := cmd.Flags().Set("prune-allowlist", group+"/"+kind.Version+"/"+kind.Kind); err != nil {
			return err
		}
	}
	return nil
}
