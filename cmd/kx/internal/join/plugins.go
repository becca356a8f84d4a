package join

import (
	"bytes"
	"fmt"
	"strings"

	"k8s.io/client-go/plugin/pkg/client/auth/exec"
	"k8s.io/client-go/rest"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	cmdutil "k8s.io/kubectl/pkg/cmd/util"
	"k8s.io/kubectl/pkg/kuberc"
)

// LimitPlugins keeps a client from running a credential plugin that the user's kuberc does not allow, as kubectl
// does. The kubeconfig names the program, and may come from an untrusted source. If the kuberc is invalid, say gets
// the error, and no plugin runs.
func LimitPlugins(c *rest.Config, say func(string)) {
	if c.ExecProvider == nil || cmdutil.KubeRC.IsDisabled() {
		return
	}
	policy, err := pluginPolicy(say)
	if err != nil {
		say(fmt.Sprintf("no credential plugin is run: %v", err))
		policy = clientcmdapi.PluginPolicy{PolicyType: clientcmdapi.PluginPolicyDenyAll}
	}
	c.ExecProvider.PluginPolicy = policy
}

// pluginPolicy reads the policy of the user's kuberc. Without one, all plugins are allowed.
func pluginPolicy(say func(string)) (policy clientcmdapi.PluginPolicy, err error) {
	var warnings bytes.Buffer
	preferences, err := kuberc.DefaultGetPreferences("", &warnings)
	if text := strings.TrimSpace(warnings.String()); text != "" {
		say(text)
	}
	if err != nil || preferences == nil {
		return policy, err
	}
	policy.PolicyType = clientcmdapi.PolicyType(preferences.CredentialPluginPolicy)
	for _, entry := range preferences.CredentialPluginAllowlist {
		policy.Allowlist = append(policy.Allowlist, clientcmdapi.AllowlistEntry(entry))
	}
	if err := exec.ValidatePluginPolicy(policy); err != nil {
		return policy, fmt.Errorf("kuberc: %w", err)
	}
	return policy, nil
}
