package survey

// Deciding are the plugins that decide about objects by other objects, or by who writes them. They are off where a
// server is asked: the survey is about the rules that objects have of their own.
var Deciding = []string{
	"CertificateApproval", "CertificateSigning", "CertificateSubjectRestriction", "ClusterTrustBundleAttest",
	"DefaultIngressClass", "DefaultStorageClass", "DefaultTolerationSeconds", "LimitRanger", "MutatingAdmissionPolicy",
	"MutatingAdmissionWebhook", "NodeDeclaredFeatureValidator", "PersistentVolumeClaimResize", "PodGroupProtection",
	"PodResizeValidator", "PodSecurity", "PodTopologyLabels", "Priority", "ResourceQuota", "RuntimeClass", "ServiceAccount",
	"StorageObjectInUseProtection", "TaintNodesByCondition", "ValidatingAdmissionPolicy", "ValidatingAdmissionWebhook",
}
