//lint:file-ignore SA1019 the configSource of nodes is deprecated, and still looked at: no node may give itself one

package admission

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	authenticationv1 "k8s.io/api/authentication/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	certificatesv1beta1 "k8s.io/api/certificates/v1beta1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/server/admission/plugin"
	"github.com/kx-apiserver/kx/server/builtin"
	"github.com/kx-apiserver/kx/server/builtin/certificates"
)

// nodeUser is the prefix of a node's user name; the node's name follows.
const nodeUser = "system:node:"

// nodeRules holds the rules for the writes of nodes.
type nodeRules struct {
	authorizer authorizer.Authorizer
	pods       plugin.Objects[*corev1.Pod]
	nodes      plugin.Objects[*corev1.Node]
	accounts   plugin.Objects[*corev1.ServiceAccount]
	claims     plugin.Objects[*corev1.PersistentVolumeClaim]
	volumes    plugin.Objects[*corev1.PersistentVolume]
	drivers    plugin.Objects[*storagev1.CSIDriver]
}

// nodeRestriction allows nodes to write only their own objects. It ignores other users.
func nodeRestriction(kit *plugin.Kit) plugin.Plugin {
	r := &nodeRules{
		authorizer: kit.Authorizer,
		pods:       plugin.ObjectsOf[*corev1.Pod](kit, corev1.SchemeGroupVersion.WithResource("pods")),
		nodes:      nodes(kit),
		accounts:   plugin.ObjectsOf[*corev1.ServiceAccount](kit, corev1.SchemeGroupVersion.WithResource("serviceaccounts")),
		claims:     plugin.ObjectsOf[*corev1.PersistentVolumeClaim](kit, corev1.SchemeGroupVersion.WithResource("persistentvolumeclaims")),
		volumes:    plugin.ObjectsOf[*corev1.PersistentVolume](kit, corev1.SchemeGroupVersion.WithResource("persistentvolumes")),
		drivers:    plugin.ObjectsOf[*storagev1.CSIDriver](kit, storagev1.SchemeGroupVersion.WithResource("csidrivers")),
	}
	return plugin.Plugin{
		Operations: []admission.Operation{admission.Create, admission.Update, admission.Delete},
		When:       func(a admission.Attributes) bool { return isNode(a.GetUserInfo()) && r.rule(a) != nil },
		ReadOnly:   true,
		// As upstream, it refuses in Admit, before other plugins change the object.
		Admit: func(ctx context.Context, w plugin.Write) error {
			node := strings.TrimPrefix(w.GetUserInfo().GetName(), nodeUser)
			if node == "" {
				return w.Refusal("could not determine node from user %q", nodeUser)
			}
			return r.rule(w)(ctx, w, node)
		},
	}
}

func isNode(who user.Info) bool {
	return who != nil && strings.HasPrefix(who.GetName(), nodeUser) && slices.Contains(who.GetGroups(), user.NodesGroup)
}

// rule returns the check for a write, nil if there is none.
func (r *nodeRules) rule(a admission.Attributes) func(ctx context.Context, w plugin.Write, node string) error {
	switch a.GetResource().GroupResource() {
	case corev1.Resource("pods"):
		switch a.GetSubresource() {
		case "":
			return r.pod
		case "status":
			return r.podStatus
		case "eviction":
			return r.eviction
		}
		return func(_ context.Context, w plugin.Write, _ string) error {
			return w.Refusal("unexpected pod subresource %q, only 'status' and 'eviction' are allowed", w.GetSubresource())
		}
	case corev1.Resource("nodes"):
		return r.node
	case corev1.Resource("persistentvolumeclaims"):
		return r.claimStatus
	case corev1.Resource("serviceaccounts"):
		if a.GetOperation() == admission.Create && a.GetSubresource() == "token" {
			return r.token
		}
	case certificatesv1.Resource("podcertificaterequests"):
		return r.podCertificate
	case coordinationv1.Resource("leases"):
		return r.lease
	case storagev1.Resource("csinodes"):
		return r.csiNode
	case resourcev1.Resource("resourceslices"):
		return r.slice
	case certificatesv1.Resource("certificatesigningrequests"):
		if a.GetOperation() == admission.Create {
			return r.signingRequest
		}
	}
	return nil
}

// existing returns an object that must exist. If it is missing, or has no name as in deletions of a collection,
// the error is a 404.
func existing[T builtin.Object](ctx context.Context, objects plugin.Objects[T], of schema.GroupResource,
	namespace, name string) (obj T, err error) {
	if name == "" {
		return obj, apierrors.NewNotFound(of, name)
	}
	obj, found, err := objects.Get(ctx, namespace, name)
	if err == nil && !found {
		err = apierrors.NewNotFound(of, name)
	}
	return obj, err
}

func (r *nodeRules) podOf(ctx context.Context, w plugin.Write, name string) (*corev1.Pod, error) {
	return existing(ctx, r.pods, corev1.Resource("pod"), w.GetNamespace(), name)
}

var nodeHasPod = trace.Because("node-has-pod",
	"the pod is bound to the node {node:quote}",
	"Pod 已绑定到节点 {node:quote}")

func (r *nodeRules) pod(ctx context.Context, w plugin.Write, node string) error {
	switch w.GetOperation() {
	case admission.Create:
		return plugin.WithObject(func(ctx context.Context, w plugin.Write, pod *corev1.Pod) error {
			return r.newPod(ctx, w, pod, node)
		})(ctx, w)
	case admission.Delete:
		pod, err := r.podOf(ctx, w, w.GetName())
		if err != nil {
			return err
		}
		if pod.Spec.NodeName != node {
			return w.Refusal("node %q can only delete pods with spec.nodeName set to itself", node)
		}
		w.Step.WhyText(nodeHasPod, node)
		return nil
	}
	return w.Refusal("unexpected operation %q, node %q can only create and delete mirror pods", w.GetOperation(), node)
}

var nodeMirrors = trace.Because("node-mirrors",
	"the pod mirrors one that the node {node:quote} runs by itself, and references no other object",
	"该 Pod 是节点 {node:quote} 自行运行的 Pod 的镜像，且不引用其他对象")

// newPod allows a node to create mirror pods of those that it runs from its own files, if they need nothing
// from the API.
func (r *nodeRules) newPod(ctx context.Context, w plugin.Write, pod *corev1.Pod, node string) error {
	if !isMirror(pod) {
		return w.Refusal("pod does not have %q annotation, node %q can only create mirror pods", corev1.MirrorPodAnnotationKey, node)
	}
	if pod.Spec.NodeName != node {
		return w.Refusal("node %q can only create pods with spec.nodeName set to itself", node)
	}
	if len(pod.OwnerReferences) > 1 {
		return w.Refusal("node %q can only create pods with a single owner reference set to itself", node)
	}
	if len(pod.OwnerReferences) == 0 {
		return w.Refusal("node %q can only create pods with an owner reference set to itself", node)
	}
	owner := pod.OwnerReferences[0]
	switch {
	case owner.APIVersion != "v1" || owner.Kind != "Node" || owner.Name != node:
		return w.Refusal("node %q can only create pods with an owner reference set to itself", node)
	case owner.Controller == nil || !*owner.Controller:
		return w.Refusal("node %q can only create pods with a controller owner reference set to itself", node)
	case owner.BlockOwnerDeletion != nil && *owner.BlockOwnerDeletion:
		return w.Refusal("node %q must not set blockOwnerDeletion on an owner reference", node)
	}
	itself, err := existing(ctx, r.nodes, corev1.Resource("node"), "", node)
	switch {
	case apierrors.IsNotFound(err):
		return err
	case err != nil:
		return w.Refusal("error looking up node %s to verify uid: %w", node, err)
	case owner.UID != itself.UID:
		return w.Refusal("node %s UID mismatch: expected %s got %s", node, owner.UID, itself.UID)
	}
	if what := reference(&pod.Spec); what != "" {
		return w.Refusal("node %q can not create pods that reference %s", node, what)
	}
	w.Step.WhyText(nodeMirrors, node)
	return nil
}

// reference returns the resource of the first object that a pod refers to.
func reference(spec *corev1.PodSpec) string {
	switch {
	case spec.ServiceAccountName != "":
		return "serviceaccounts"
	case usesSecrets(spec):
		return "secrets"
	case usesConfigMaps(spec):
		return "configmaps"
	case len(spec.ResourceClaims) > 0:
		return "resourceclaims"
	}
	for _, v := range spec.Volumes {
		switch {
		case v.ConfigMap != nil:
			return "configmaps (via configmap volumes)"
		case v.Secret != nil:
			return "secrets (via secret volumes)"
		case v.CSI != nil:
			return "csidrivers (via CSI volumes)"
		case v.Glusterfs != nil:
			return "endpoints (via glusterFS volumes)"
		case v.PersistentVolumeClaim != nil:
			return "persistentvolumeclaims"
		case v.Ephemeral != nil:
			return "persistentvolumeclaims (via ephemeral volumes)"
		case v.AzureFile != nil:
			return "secrets (via azureFile volumes)"
		case v.Projected != nil:
			for i := range v.Projected.Sources {
				if what := projectedSource(&v.Projected.Sources[i]); what != "" {
					return what
				}
			}
		}
	}
	return ""
}

func projectedSource(s *corev1.VolumeProjection) string {
	switch {
	case s.ConfigMap != nil:
		return "configmaps (via projected volumes)"
	case s.Secret != nil:
		return "secrets (via projected volumes)"
	case s.ServiceAccountToken != nil:
		return "serviceaccounts (via projected volumes)"
	case s.ClusterTrustBundle != nil:
		return "clustertrustbundles"
	case s.PodCertificate != nil:
		return "podcertificates"
	}
	return ""
}

// usesConfigMaps reports whether a pod names any config map.
func usesConfigMaps(spec *corev1.PodSpec) bool {
	used := slices.ContainsFunc(spec.Volumes, func(v corev1.Volume) bool {
		return v.ConfigMap != nil && v.ConfigMap.Name != "" || v.Projected != nil &&
			slices.ContainsFunc(v.Projected.Sources,
				func(s corev1.VolumeProjection) bool { return s.ConfigMap != nil && s.ConfigMap.Name != "" })
	})
	eachContainer(spec, func(_ string, c *corev1.EphemeralContainerCommon) {
		used = used ||
			slices.ContainsFunc(c.EnvFrom,
				func(e corev1.EnvFromSource) bool { return e.ConfigMapRef != nil && e.ConfigMapRef.Name != "" }) ||
			slices.ContainsFunc(c.Env, func(e corev1.EnvVar) bool {
				return e.ValueFrom != nil && e.ValueFrom.ConfigMapKeyRef != nil && e.ValueFrom.ConfigMapKeyRef.Name != ""
			})
	})
	return used
}

func (r *nodeRules) podStatus(ctx context.Context, w plugin.Write, node string) error {
	if w.GetOperation() != admission.Update {
		return w.Refusal("unexpected operation %q", w.GetOperation())
	}
	return plugin.WithOld(func(_ context.Context, w plugin.Write, pod, old *corev1.Pod) error {
		switch {
		case old.Spec.NodeName != node:
			return w.Refusal("node %q can only update pod status for pods with spec.nodeName set to itself", node)
		case !maps.Equal(old.Labels, pod.Labels):
			return w.Refusal("node %q cannot update labels through pod status", node)
		case !apiequality.Semantic.DeepEqual(old.Status.ResourceClaimStatuses, pod.Status.ResourceClaimStatuses):
			return w.Refusal("node %q cannot update resource claim statues", node)
		case !apiequality.Semantic.DeepEqual(old.Status.ExtendedResourceClaimStatus, pod.Status.ExtendedResourceClaimStatus):
			return w.Refusal("node %q cannot update extended resource claim status", node)
		case !apiequality.Semantic.DeepEqual(old.Status.NodeAllocatableResourceClaimStatuses,
			pod.Status.NodeAllocatableResourceClaimStatuses):
			return w.Refusal("node %q cannot update node allocatable resource claim statuses", node)
		}
		w.Step.WhyText(nodeHasPod, node)
		return nil
	})(ctx, w)
}

func (r *nodeRules) eviction(ctx context.Context, w plugin.Write, node string) error {
	pod, err := r.podOf(ctx, w, w.GetName())
	if err != nil {
		return err
	}
	if pod.Spec.NodeName != node {
		return w.Refusal("node %s can only evict pods with spec.nodeName set to itself", node)
	}
	w.Step.WhyText(nodeHasPod, node)
	return nil
}

var nodeItself = trace.Because("node-itself",
	"the node {node:quote} writes its own Node, and nothing there that is not its to set",
	"节点 {node:quote} 写入自己的 Node 对象，且未改动无权设置的内容")

func (r *nodeRules) node(ctx context.Context, w plugin.Write, node string) error {
	if w.GetName() != node {
		return w.Refusal("node %q is not allowed to modify node %q", node, w.GetName())
	}
	var err error
	switch w.GetOperation() {
	case admission.Create:
		err = plugin.WithObject(func(_ context.Context, w plugin.Write, obj *corev1.Node) error {
			if obj.Spec.ConfigSource != nil {
				return w.Refusal("node %q is not allowed to create pods with a non-nil configSource", node)
			}
			if foreign := foreignLabels(obj.Labels, nil); len(foreign) > 0 {
				return w.Refusal("node %q is not allowed to set the following labels: %s", node, strings.Join(foreign, ", "))
			}
			return nil
		})(ctx, w)
	case admission.Update:
		err = plugin.WithOld(func(_ context.Context, w plugin.Write, obj, old *corev1.Node) error {
			switch {
			case obj.Spec.ConfigSource != nil && !apiequality.Semantic.DeepEqual(obj.Spec.ConfigSource, old.Spec.ConfigSource):
				return w.Refusal("node %q is not allowed to update configSource to a new non-nil configSource", node)
			case !apiequality.Semantic.DeepEqual(obj.Spec.Taints, old.Spec.Taints):
				return w.Refusal("node %q is not allowed to modify taints", node)
			case !apiequality.Semantic.DeepEqual(obj.OwnerReferences, old.OwnerReferences):
				return w.Refusal("node %q is not allowed to modify ownerReferences", node)
			}
			if foreign := foreignLabels(obj.Labels, old.Labels); len(foreign) > 0 {
				return w.Refusal("is not allowed to modify labels: %s", strings.Join(foreign, ", "))
			}
			return nil
		})(ctx, w)
	}
	if err == nil {
		w.Step.WhyText(nodeItself, node)
	}
	return err
}

// kubeletLabels lists the Kubernetes labels that a node may set on itself.
var kubeletLabels = []string{
	corev1.LabelHostname, corev1.LabelTopologyZone, corev1.LabelTopologyRegion, corev1.LabelFailureDomainBetaZone,
	corev1.LabelFailureDomainBetaRegion,
	corev1.LabelInstanceType, corev1.LabelInstanceTypeStable, corev1.LabelOSStable, corev1.LabelArchStable, "beta.kubernetes.io/os",
	"beta.kubernetes.io/arch",
}

// foreignLabels returns the changed labels that a node may not set: with them it could attract pods that are
// meant for other nodes.
func foreignLabels(labels, old map[string]string) (foreign []string) {
	all := maps.Clone(old)
	if all == nil {
		all = map[string]string{}
	}
	maps.Copy(all, labels)
	for _, key := range slices.Sorted(maps.Keys(all)) {
		value, there := labels[key]
		before, was := old[key]
		domain, _, prefixed := strings.Cut(key, "/")
		if there == was && value == before || !prefixed {
			continue
		}
		own := slices.Contains(kubeletLabels, key) || within(domain, corev1.LabelNamespaceSuffixKubelet) ||
			within(domain, corev1.LabelNamespaceSuffixNode)
		if within(domain, corev1.LabelNamespaceNodeRestriction) || !own && (within(domain, "kubernetes.io") || within(domain, "k8s.io")) {
			foreign = append(foreign, key)
		}
	}
	return foreign
}

// within reports whether a domain equals another one or is below it.
func within(domain, above string) bool {
	return domain == above || strings.HasSuffix(domain, "."+above)
}

var nodeGrowsClaim = trace.Because("node-grows-claim",
	"the node changes only what tells how far a volume has grown",
	"节点只改动表示卷扩容进度的内容")

// claimStatus allows a node to report how far it has resized a volume.
func (r *nodeRules) claimStatus(ctx context.Context, w plugin.Write, node string) error {
	if w.GetSubresource() != "status" {
		return w.Refusal("may only update PVC status")
	}
	return plugin.WithOld(func(_ context.Context, w plugin.Write, claim, old *corev1.PersistentVolumeClaim) error {
		claim, old = claim.DeepCopy(), old.DeepCopy()
		for _, one := range []*corev1.PersistentVolumeClaim{claim, old} {
			one.ResourceVersion, one.ManagedFields = "", nil
			one.Status.Capacity, one.Status.Conditions = nil, nil
			one.Status.AllocatedResources, one.Status.AllocatedResourceStatuses = nil, nil
		}
		if !apiequality.Semantic.DeepEqual(old, claim) {
			return w.Refusal("node %q is not allowed to update fields other than status.quantity and status.conditions: %v", node,
				claimDifference(old, claim))
		}
		w.Step.Why(nodeGrowsClaim)
		return nil
	})(ctx, w)
}

var (
	nodeTokenUsed = trace.Because("node-token-used",
		"the token is bound to the pod {pod:quote} of the node, which has a volume for its audience",
		"令牌绑定到该节点上的 Pod {pod:quote}，其中有卷需要该受众的令牌")
	nodeAuthorized = trace.Because("node-authorized",
		"no volume of the pod asks for it, but the node may {verb:quote}",
		"Pod 没有卷需要它，但该节点有权 {verb:quote}")
)

// token allows a node to request tokens bound to its own pods, and only for audiences that the pod uses.
func (r *nodeRules) token(ctx context.Context, w plugin.Write, node string) error {
	return plugin.WithObject(func(ctx context.Context, w plugin.Write, request *authenticationv1.TokenRequest) error {
		bound := request.Spec.BoundObjectRef
		if bound == nil || bound.APIVersion != "v1" || bound.Kind != "Pod" || bound.Name == "" {
			return w.Refusal("node requested token not bound to a pod")
		}
		if bound.UID == "" {
			return w.Refusal("node requested token with a pod binding without a uid")
		}
		pod, err := r.podOf(ctx, w, bound.Name)
		switch {
		case err != nil:
			return err
		case bound.UID != pod.UID:
			return w.Refusal(
				"the UID in the bound object reference (%s) does not match the UID in record. "+
					"The object might have been deleted and then recreated",
				bound.UID)
		case pod.Spec.NodeName != node:
			return w.Refusal("node requested token bound to a pod scheduled on a different node")
		case len(request.Spec.Audiences) > 1:
			return w.Refusal("node may only request 0 or 1 audiences")
		}
		audience := strings.Join(request.Spec.Audiences, "")
		used, err := r.usesAudience(ctx, pod, audience)
		if err != nil {
			return w.Refusal("error validating audience %q: %w", audience, err)
		}
		if used {
			w.Step.WhyText(nodeTokenUsed, pod.Name)
			return nil
		}
		decision, err := r.authorize(ctx, w, "request-serviceaccounts-token-audience", audience, w.GetName())
		switch {
		case decision == authorizer.DecisionAllow:
			w.Step.WhyText(nodeAuthorized, "request-serviceaccounts-token-audience "+audience)
			return nil
		case err != nil:
			return w.Refusal("error authorizing %s to request tokens for audience %q: %w", w.GetUserInfo().GetName(), audience, err)
		}
		return w.Refusal("%s is not authorized to request tokens for audience %q", w.GetUserInfo().GetName(), audience)
	})(ctx, w)
}

func (r *nodeRules) authorize(ctx context.Context, w plugin.Write, verb, resource, name string) (authorizer.Decision, error) {
	decision, _, err := r.authorizer.Authorize(ctx, authorizer.AttributesRecord{
		User: w.GetUserInfo(), Verb: verb, APIGroup: w.GetResource().Group, APIVersion: w.GetResource().Version, Resource: resource,
		Namespace: w.GetNamespace(), Name: name, ResourceRequest: true,
	})
	return decision, err
}

// usesAudience reports whether a volume of the pod needs a token for the audience, as a projected token or for
// its CSI driver.
func (r *nodeRules) usesAudience(ctx context.Context, pod *corev1.Pod, audience string) (bool, error) {
	var errs []error
	for i := range pod.Spec.Volumes {
		v := &pod.Spec.Volumes[i]
		if v.Projected != nil && slices.ContainsFunc(v.Projected.Sources, func(s corev1.VolumeProjection) bool {
			return s.ServiceAccountToken != nil && s.ServiceAccountToken.Audience == audience
		}) {
			return true, nil
		}
		driver, err := r.driverOf(ctx, pod, v)
		if err == nil && driver != "" {
			var used bool
			if used, err = r.driverUses(ctx, driver, audience); used {
				return true, nil
			}
		}
		if err != nil {
			errs = append(errs, err)
		}
	}
	return false, utilerrors.NewAggregate(errs)
}

// driverOf returns the CSI driver of a volume, empty if there is none.
func (r *nodeRules) driverOf(ctx context.Context, pod *corev1.Pod, v *corev1.Volume) (string, error) {
	switch {
	case v.Ephemeral != nil && v.Ephemeral.VolumeClaimTemplate != nil:
		return r.driverOfClaim(ctx, pod.Namespace, pod.Name+"-"+v.Name)
	case v.PersistentVolumeClaim != nil:
		return r.driverOfClaim(ctx, pod.Namespace, v.PersistentVolumeClaim.ClaimName)
	case v.CSI != nil:
		return v.CSI.Driver, nil
	}
	return inTreeSource{
		aws: v.AWSElasticBlockStore != nil, azureDisk: v.AzureDisk != nil, azureFile: v.AzureFile != nil, cinder: v.Cinder != nil,
		gce: v.GCEPersistentDisk != nil, portworx: v.PortworxVolume != nil, vsphere: v.VsphereVolume != nil,
	}.driver(), nil
}

func (r *nodeRules) driverOfClaim(ctx context.Context, namespace, name string) (string, error) {
	claim, err := existing(ctx, r.claims, corev1.Resource("persistentvolumeclaim"), namespace, name)
	if err != nil {
		return "", err
	}
	volume, err := existing(ctx, r.volumes, corev1.Resource("persistentvolume"), "", claim.Spec.VolumeName)
	if err != nil {
		return "", err
	}
	if volume.Spec.CSI != nil {
		return volume.Spec.CSI.Driver, nil
	}
	s := &volume.Spec
	return inTreeSource{
		aws: s.AWSElasticBlockStore != nil, azureDisk: s.AzureDisk != nil, azureFile: s.AzureFile != nil, cinder: s.Cinder != nil,
		gce: s.GCEPersistentDisk != nil, portworx: s.PortworxVolume != nil, vsphere: s.VsphereVolume != nil,
	}.driver(), nil
}

// inTreeSource is the in-tree kind of a volume, whether a pod or a PersistentVolume declares it.
type inTreeSource struct{ aws, azureDisk, azureFile, cinder, gce, portworx, vsphere bool }

// driver returns the CSI driver that serves volumes of the kind today.
func (s inTreeSource) driver() string {
	switch {
	case s.aws:
		return "ebs.csi.aws.com"
	case s.azureDisk:
		return "disk.csi.azure.com"
	case s.azureFile:
		return "file.csi.azure.com"
	case s.cinder:
		return "cinder.csi.openstack.org"
	case s.gce:
		return "pd.csi.storage.gke.io"
	case s.portworx:
		return "pxd.portworx.com"
	case s.vsphere:
		return "csi.vsphere.vmware.com"
	}
	return ""
}

func (r *nodeRules) driverUses(ctx context.Context, name, audience string) (bool, error) {
	driver, err := existing(ctx, r.drivers, storagev1.Resource("csidriver"), "", name)
	if err != nil {
		return false, err
	}
	return slices.ContainsFunc(driver.Spec.TokenRequests, func(t storagev1.TokenRequest) bool { return t.Audience == audience }), nil
}

func (r *nodeRules) lease(_ context.Context, w plugin.Write, node string) error {
	if w.GetNamespace() != corev1.NamespaceNodeLease {
		return w.Refusal("can only access leases in the %q system namespace", corev1.NamespaceNodeLease)
	}
	return sameName(w, node, "can only access node lease with the same name as the requesting node")
}

func (r *nodeRules) csiNode(_ context.Context, w plugin.Write, node string) error {
	return sameName(w, node, "can only access CSINode with the same name as the requesting node")
}

var nodeNamed = trace.Because("node-named",
	"the object is named after the node {node:quote}, or names it",
	"对象以节点 {node:quote} 命名，或指明了该节点")

// sameName checks objects that have the name of their node. For a new one, the name comes from the object.
func sameName(w plugin.Write, node, refusal string) error {
	name := w.GetName()
	if w.GetOperation() == admission.Create {
		obj, err := meta.Accessor(w.GetObject())
		if err != nil {
			return apierrors.NewInternalError(err)
		}
		name = obj.GetName()
	}
	if name != node {
		return w.Refusal("%s", refusal)
	}
	w.Step.WhyText(nodeNamed, node)
	return nil
}

// slice allows a node to write its own ResourceSlices. Upstream leaves updates to the node authorizer, which kx
// does not have.
func (r *nodeRules) slice(_ context.Context, w plugin.Write, node string) error {
	obj, verb := w.GetOldObject(), strings.ToLower(string(w.GetOperation()))
	if w.GetOperation() == admission.Create {
		obj = w.GetObject()
	}
	slice, ok := obj.(*resourcev1.ResourceSlice)
	if !ok {
		return apierrors.NewInternalError(fmt.Errorf("admission got a %T and not a ResourceSlice", obj))
	}
	if slice.Spec.NodeName == nil || *slice.Spec.NodeName != node {
		return w.Refusal("can only %s ResourceSlice with the same NodeName as the requesting node", verb)
	}
	w.Step.WhyText(nodeNamed, node)
	return nil
}

// signingRequest allows a node to request certificates in its own name.
func (r *nodeRules) signingRequest(ctx context.Context, w plugin.Write, node string) error {
	return plugin.WithObject(func(_ context.Context, w plugin.Write, request *certificatesv1.CertificateSigningRequest) error {
		signer := request.Spec.SignerName
		if signer != certificatesv1.KubeletServingSignerName && signer != certificatesv1.KubeAPIServerClientKubeletSignerName {
			w.Step.Why(pluginLeft)
			return nil
		}
		asked, err := certificates.ParseRequest(request.Spec.Request)
		if err != nil {
			return w.Refusal("unable to parse csr: %w", err)
		}
		if asked.Subject.CommonName != nodeUser+node {
			return w.Refusal("can only create a node CSR with CN=%s", nodeUser+node)
		}
		w.Step.WhyText(nodeNamed, node)
		return nil
	})(ctx, w)
}

// podCertificate allows a node to request certificates for pods that it runs. A refusal without a Status means
// that the node may try again, because the objects that it names may have just been created.
func (r *nodeRules) podCertificate(ctx context.Context, w plugin.Write, node string) error {
	if w.GetOperation() != admission.Create {
		return w.Refusal("unexpected operation %v", w.GetOperation())
	}
	if w.GetSubresource() != "" {
		return w.Refusal("unexpected subresource %v", w.GetSubresource())
	}
	return plugin.WithObject(func(ctx context.Context, w plugin.Write, request *certificatesv1beta1.PodCertificateRequest) error {
		spec, in := &request.Spec, w.GetNamespace()+"/"
		if string(spec.NodeName) != node {
			return w.Refusal("PodCertificateRequest.Spec.NodeName=%q, which is not the requesting node %q", spec.NodeName, node)
		}
		itself, err := existing(ctx, r.nodes, corev1.Resource("node"), "", node)
		if err != nil {
			return fmt.Errorf("while retrieving node %q named in the PodCertificateRequest: %w", node, err)
		}
		if itself.UID != spec.NodeUID {
			return fmt.Errorf("PodCertificateRequest for pod %q names node UID %q, inconsistent with the running node (%q)",
				in+spec.PodName, spec.NodeUID, itself.UID)
		}
		pod, err := r.podOf(ctx, w, spec.PodName)
		switch {
		case err != nil:
			return fmt.Errorf("while retrieving pod %q named in the PodCertificateRequest: %w", in+spec.PodName, err)
		case pod.UID != spec.PodUID:
			return fmt.Errorf("PodCertificateRequest for pod %q contains pod UID (%q) which differs from running pod %q", in+spec.PodName,
				spec.PodUID, string(pod.UID))
		case pod.Spec.NodeName != node:
			return w.Refusal("pod %q is not running on node %q named in the PodCertificateRequest", in+spec.PodName, spec.NodeName)
		case isMirror(pod):
			return w.Refusal("pod %q is a mirror pod", in+spec.PodName)
		case pod.Spec.ServiceAccountName != spec.ServiceAccountName:
			return w.Refusal("PodCertificateRequest for pod %q contains serviceAccountName (%q) that differs from running pod (%q)",
				in+spec.PodName, spec.ServiceAccountName, pod.Spec.ServiceAccountName)
		}
		account, err := existing(ctx, r.accounts, corev1.Resource("serviceaccount"), w.GetNamespace(), spec.ServiceAccountName)
		if err != nil {
			return fmt.Errorf("while retrieving service account %q named in the PodCertificateRequest: %w", in+spec.ServiceAccountName, err)
		}
		if account.UID != spec.ServiceAccountUID {
			return fmt.Errorf(
				"PodCertificateRequest for pod %q names service account UID %q, which differs from the running service account (%q)",
				in+spec.PodName, spec.ServiceAccountUID, account.UID)
		}
		return r.mayUseSigner(ctx, w, pod, request)
	})(ctx, w)
}

var nodeSignerUsed = trace.Because("node-signer-used",
	"the node runs the pod {pod:quote}, which has a volume for certificates of the signer",
	"该节点运行 Pod {pod:quote}，其中有卷需要该签名者的证书")

func (r *nodeRules) mayUseSigner(ctx context.Context, w plugin.Write, pod *corev1.Pod,
	request *certificatesv1beta1.PodCertificateRequest) error {
	signer := request.Spec.SignerName
	if slices.ContainsFunc(pod.Spec.Volumes, func(v corev1.Volume) bool {
		return v.Projected != nil && slices.ContainsFunc(v.Projected.Sources, func(s corev1.VolumeProjection) bool {
			return s.PodCertificate != nil && s.PodCertificate.SignerName == signer
		})
	}) {
		w.Step.WhyText(nodeSignerUsed, pod.Name)
		return nil
	}
	const verb = "request-serviceaccounts-podcertificate-signer"
	resource := strings.ReplaceAll(signer, "/", ":") // resources of roles have no slashes but those before subresources
	decision, err := r.authorize(ctx, w, verb, resource, request.Spec.ServiceAccountName)
	switch {
	case decision == authorizer.DecisionAllow:
		w.Step.WhyText(nodeAuthorized, verb+" "+resource)
		return nil
	case err != nil:
		return w.Refusal("error authorizing %s to request podcertificaterequests for signer %q: %w", w.GetUserInfo().GetName(), signer, err)
	}
	return w.Refusal("pod %q does not mount a podCertificate projected volume for signer %q", w.GetNamespace()+"/"+pod.Name, signer)
}
