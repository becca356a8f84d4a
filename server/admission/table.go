package admission

import (
	"k8s.io/apiserver/pkg/admission"

	"github.com/kx-apiserver/kx/server/admission/plugin"
)

// entry describes one known plugin.
type entry struct {
	name string
	// off means that it runs only if --enable-admission-plugins names it.
	off  bool
	make func(*Plugins, *Config) plugin.Plugin
	// configure (optional) replaces make for plugins that --admission-control-config-file may configure. data
	// is empty without a configuration.
	configure func(p *Plugins, c *Config, data []byte) (plugin.Plugin, error)
}

// of adapts a plugin that needs only the kit.
func of(make func(*plugin.Kit) plugin.Plugin) func(*Plugins, *Config) plugin.Plugin {
	return func(p *Plugins, _ *Config) plugin.Plugin { return make(p.kit) }
}

// table lists the plugins in the order of a Kubernetes API server.
var table = []entry{
	{name: "AlwaysAdmit", off: true, make: of(alwaysAdmit)},
	{name: "NamespaceAutoProvision", off: true, make: of(namespaceAutoProvision)},
	{name: "NamespaceLifecycle", make: func(p *Plugins, _ *Config) plugin.Plugin { return p.lifecycle.plugin() }},
	{name: "NamespaceExists", off: true, make: of(namespaceExists)},
	{name: "LimitPodHardAntiAffinityTopology", off: true, make: of(limitPodHardAntiAffinityTopology)},
	{name: "LimitRanger", make: of(limitRanger)},
	{name: "ServiceAccount", make: of(serviceAccount)},
	{name: "NodeRestriction", off: true, make: of(nodeRestriction)},
	{name: "TaintNodesByCondition", make: of(taintNodesByCondition)},
	{name: "AlwaysPullImages", off: true, make: of(alwaysPullImages)},
	{name: "PodSecurity", configure: func(p *Plugins, _ *Config, data []byte) (plugin.Plugin, error) { return podSecurity(p, data) }},
	{name: "Priority", make: of(priority)},
	{name: "DefaultTolerationSeconds", make: func(_ *Plugins, c *Config) plugin.Plugin { return defaultTolerationSeconds(c.Tolerations) }},
	{name: "ExtendedResourceToleration", off: true, make: of(extendedResourceToleration)},
	{name: "DefaultStorageClass", make: of(defaultStorageClass)},
	{name: "StorageObjectInUseProtection", make: of(storageObjectInUseProtection)},
	{name: "OwnerReferencesPermissionEnforcement", off: true, make: of(ownerReferencesPermissionEnforcement)},
	{name: "PersistentVolumeClaimResize", make: of(claimResize)},
	{name: "RuntimeClass", make: of(runtimeClass)},
	{name: "CertificateApproval", make: of(certificateApproval)},
	{name: "CertificateSigning", make: of(certificateSigning)},
	{name: "ClusterTrustBundleAttest", make: of(trustBundleAttest)},
	{name: "CertificateSubjectRestriction", make: of(certificateSubjectRestriction)},
	{name: "DefaultIngressClass", make: of(defaultIngressClass)},
	{name: "DenyServiceExternalIPs", off: true, make: of(denyServiceExternalIPs)},
	{name: "PodTopologyLabels", make: of(podTopologyLabels)},
	{name: "NodeDeclaredFeatureValidator", make: of(nodeDeclaredFeatureValidator)},
	{name: "PodResizeValidator", make: of(podResizeValidator)},
	{name: "MutatingAdmissionPolicy", configure: mutatingPolicies},
	{name: "MutatingAdmissionWebhook", configure: mutatingWebhooks},
	{name: "ValidatingAdmissionPolicy", configure: validatingPolicies},
	{name: "ValidatingAdmissionWebhook", configure: validatingWebhooks},
	{name: "ResourceQuota",
		configure: func(p *Plugins, _ *Config, data []byte) (plugin.Plugin, error) { return resourceQuota(p.kit, data) }},
	{name: "AlwaysDeny", off: true, make: of(alwaysDeny)},
}

// missing lists the plugins of a Kubernetes API server that kx lacks.
var missing = []string{
	"EventRateLimit", "ImagePolicyWebhook", "PodGroupProtection",
	"PodNodeSelector", "PodTolerationRestriction",
}

// Names returns the names of the plugins in their order.
func Names() (names []string) {
	for _, known := range table {
		names = append(names, known.name)
	}
	return names
}

// DisabledPlugins returns the names of the plugins that are off by default.
func DisabledPlugins() (names []string) {
	for _, known := range table {
		if known.off {
			names = append(names, known.name)
		}
	}
	return names
}

// Configurable returns the names of the plugins that can be configured.
func Configurable() (names []string) {
	for _, known := range table {
		if known.configure != nil {
			names = append(names, known.name)
		}
	}
	return names
}

var (
	onCreate  = []admission.Operation{admission.Create}
	onUpdate  = []admission.Operation{admission.Update}
	onChanges = []admission.Operation{admission.Create, admission.Update}
)
