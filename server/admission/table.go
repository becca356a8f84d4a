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

// adapt adapts a plugin that needs only the kit.
func adapt(make func(*plugin.Kit) plugin.Plugin) func(*Plugins, *Config) plugin.Plugin {
	return func(p *Plugins, _ *Config) plugin.Plugin { return make(p.kit) }
}

// table lists the plugins in the order of a Kubernetes API server.
var table = []entry{
	{name: "AlwaysAdmit", off: true, make: adapt(alwaysAdmit)},
	{name: "NamespaceAutoProvision", off: true, make: adapt(namespaceAutoProvision)},
	{name: "NamespaceLifecycle", make: func(p *Plugins, _ *Config) plugin.Plugin { return p.lifecycle.plugin() }},
	{name: "NamespaceExists", off: true, make: adapt(namespaceExists)},
	{name: "LimitPodHardAntiAffinityTopology", off: true, make: adapt(limitPodHardAntiAffinityTopology)},
	{name: "LimitRanger", make: adapt(limitRanger)},
	{name: "ServiceAccount", make: adapt(serviceAccount)},
	{name: "NodeRestriction", off: true, make: adapt(nodeRestriction)},
	{name: "TaintNodesByCondition", make: adapt(taintNodesByCondition)},
	{name: "AlwaysPullImages", off: true, make: adapt(alwaysPullImages)},
	{name: "PodSecurity", configure: func(p *Plugins, _ *Config, data []byte) (plugin.Plugin, error) { return podSecurity(p, data) }},
	{name: "Priority", make: adapt(priority)},
	{name: "DefaultTolerationSeconds", make: func(_ *Plugins, c *Config) plugin.Plugin { return defaultTolerationSeconds(c.Tolerations) }},
	{name: "ExtendedResourceToleration", off: true, make: adapt(extendedResourceToleration)},
	{name: "DefaultStorageClass", make: adapt(defaultStorageClass)},
	{name: "StorageObjectInUseProtection", make: adapt(storageObjectInUseProtection)},
	{name: "OwnerReferencesPermissionEnforcement", off: true, make: adapt(ownerReferencesPermissionEnforcement)},
	{name: "PersistentVolumeClaimResize", make: adapt(claimResize)},
	{name: "RuntimeClass", make: adapt(runtimeClass)},
	{name: "CertificateApproval", make: adapt(certificateApproval)},
	{name: "CertificateSigning", make: adapt(certificateSigning)},
	{name: "ClusterTrustBundleAttest", make: adapt(trustBundleAttest)},
	{name: "CertificateSubjectRestriction", make: adapt(certificateSubjectRestriction)},
	{name: "DefaultIngressClass", make: adapt(defaultIngressClass)},
	{name: "DenyServiceExternalIPs", off: true, make: adapt(denyServiceExternalIPs)},
	{name: "PodTopologyLabels", make: adapt(podTopologyLabels)},
	{name: "NodeDeclaredFeatureValidator", make: adapt(nodeDeclaredFeatureValidator)},
	{name: "PodResizeValidator", make: adapt(podResizeValidator)},
	{name: "MutatingAdmissionPolicy", configure: mutatingPolicies},
	{name: "MutatingAdmissionWebhook", configure: mutatingWebhooks},
	{name: "ValidatingAdmissionPolicy", configure: validatingPolicies},
	{name: "ValidatingAdmissionWebhook", configure: validatingWebhooks},
	{name: "ResourceQuota",
		configure: func(p *Plugins, _ *Config, data []byte) (plugin.Plugin, error) { return resourceQuota(p.kit, data) }},
	{name: "AlwaysDeny", off: true, make: adapt(alwaysDeny)},
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
