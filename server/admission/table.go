package admission

import (
	"k8s.io/apiserver/pkg/admission"

	"github.com/kx-apiserver/kx/server/admission/plugin"
)

// entry is a plugin that there is.
type entry struct {
	name string
	// off says that it runs only where --enable-admission-plugins names it.
	off  bool
	make func(*Plugins, *Config) plugin.Plugin
}

// of makes a plugin that needs the kit alone.
func of(make func(*plugin.Kit) plugin.Plugin) func(*Plugins, *Config) plugin.Plugin {
	return func(p *Plugins, _ *Config) plugin.Plugin { return make(p.kit) }
}

// table has the plugins in the order in which they are asked. It is that of a Kubernetes API server.
var table = []entry{
	{name: "NamespaceLifecycle", make: func(p *Plugins, _ *Config) plugin.Plugin { return p.lifecycle.plugin() }},
	{name: "LimitRanger", make: of(limitRanger)},
	{name: "TaintNodesByCondition", make: of(taintNodesByCondition)},
	{name: "Priority", make: of(priority)},
	{name: "DefaultTolerationSeconds", make: func(_ *Plugins, c *Config) plugin.Plugin { return defaultTolerationSeconds(c.Tolerations) }},
	{name: "DefaultStorageClass", make: of(defaultStorageClass)},
	{name: "StorageObjectInUseProtection", make: of(storageObjectInUseProtection)},
	{name: "PersistentVolumeClaimResize", make: of(claimResize)},
	{name: "RuntimeClass", make: of(runtimeClass)},
	{name: "CertificateApproval", make: of(certificateApproval)},
	{name: "CertificateSigning", make: of(certificateSigning)},
	{name: "ClusterTrustBundleAttest", make: of(trustBundleAttest)},
	{name: "CertificateSubjectRestriction", make: of(certificateSubjectRestriction)},
	{name: "DefaultIngressClass", make: of(defaultIngressClass)},
	{name: "DenyServiceExternalIPs", off: true, make: of(denyServiceExternalIPs)},
	{name: "PodTopologyLabels", make: of(podTopologyLabels)},
	{name: "PodResizeValidator", make: of(podResizeValidator)},
}

// missing are the plugins of a Kubernetes API server that are not in the table.
var missing = []string{
	"AlwaysAdmit", "AlwaysDeny", "AlwaysPullImages", "EventRateLimit", "ExtendedResourceToleration", "ImagePolicyWebhook",
	"LimitPodHardAntiAffinityTopology", "MutatingAdmissionPolicy", "MutatingAdmissionWebhook", "NamespaceAutoProvision",
	"NamespaceExists", "NodeDeclaredFeatureValidator", "NodeRestriction", "OwnerReferencesPermissionEnforcement", "PodGroupProtection",
	"PodNodeSelector", "PodSecurity", "PodTolerationRestriction", "ResourceQuota", "ServiceAccount", "ValidatingAdmissionPolicy",
	"ValidatingAdmissionWebhook",
}

// Names returns the names of the plugins in their order.
func Names() (names []string) {
	for _, known := range table {
		names = append(names, known.name)
	}
	return names
}

// Off returns those that are off by default.
func Off() (names []string) {
	for _, known := range table {
		if known.off {
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
