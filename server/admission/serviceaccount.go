package admission

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	utilrand "k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/apiserver/pkg/admission"

	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/server/admission/plugin"
)

const (
	defaultAccount = "default"
	// mountableOnly is the annotation of an account that limits its pods to the secrets that it lists.
	mountableOnly = "kubernetes.io/enforce-mountable-secrets"
	// tokenVolume is the prefix of the volume with a pod's token, and tokenPath its mount path in containers.
	tokenVolume = "kube-api-access-"
	tokenPath   = "/var/run/secrets/kubernetes.io/serviceaccount"
	// tokenSeconds is the requested lifetime of a token: an hour, plus 7 seconds that mark such tokens.
	tokenSeconds = 3607
)

// A controller creates the default account of a new namespace. A pod that comes earlier waits for it, this
// often and this long.
const (
	accountLooks    = 10
	accountInterval = 150 * time.Millisecond
)

// accounts reads the ServiceAccounts.
type accounts struct {
	plugin.Objects[*corev1.ServiceAccount]
}

// serviceAccount sets the account of pods, and mounts its token into their containers.
func serviceAccount(kit *plugin.Kit) plugin.Plugin {
	a := accounts{plugin.ObjectsOf[*corev1.ServiceAccount](kit, corev1.SchemeGroupVersion.WithResource("serviceaccounts"))}
	return plugin.Plugin{
		Operations: onChanges, About: plugin.Resources("", "pods", "pods/ephemeralcontainers"),
		Admit:    plugin.WithObject(a.give),
		Validate: plugin.WithObject(a.check),
	}
}

var accountGiven = trace.Because("account-given",
	"its account is {account:quote}: {count} containers get its token",
	"服务账号是 {account:quote}：{count} 个容器得到它的令牌")

// give leaves mirror pods unchanged: the kubelet deletes one that differs from its file.
func (a accounts) give(ctx context.Context, w plugin.Write, pod *corev1.Pod) error {
	if w.GetOperation() != admission.Create {
		w.Step.Why(pluginLeft)
		return nil
	}
	if isMirror(pod) {
		return checkMirror(w, pod)
	}
	if pod.Spec.ServiceAccountName == "" {
		pod.Spec.ServiceAccountName, pod.Spec.DeprecatedServiceAccount = defaultAccount, defaultAccount
	}
	account, err := a.find(ctx, w, pod)
	if err != nil {
		return err
	}
	mounts := 0
	if mountsToken(account, pod) {
		mounts = mountToken(pod)
	}
	if len(pod.Spec.ImagePullSecrets) == 0 {
		pod.Spec.ImagePullSecrets = slices.Clone(account.ImagePullSecrets)
	}
	if err := mayUse(w, account, pod); err != nil {
		return err
	}
	w.Step.WhyText(accountGiven, account.Name, int64(mounts))
	return nil
}

var accountThere = trace.Because("account-there",
	"its account {account:quote} is there",
	"服务账号 {account:quote} 存在")

// check judges the pod after the changes of other plugins.
func (a accounts) check(ctx context.Context, w plugin.Write, pod *corev1.Pod) error {
	attached := w.GetSubresource() != "" // ephemeral containers
	switch {
	case w.GetOperation() == admission.Update && !attached:
		w.Step.Why(pluginLeft)
		return nil
	case isMirror(pod) && !attached:
		return checkMirror(w, pod)
	case pod.Spec.ServiceAccountName == "":
		return w.Refusal("no service account specified for pod %s/%s", w.GetNamespace(), pod.Name)
	}
	account, err := a.find(ctx, w, pod)
	if err != nil {
		return err
	}
	if attached {
		err = mayAttach(account, pod)
	} else {
		err = mayUse(w, account, pod)
	}
	if err == nil {
		w.Step.WhyText(accountThere, account.Name)
	}
	return err
}

// find returns the account of a pod.
func (a accounts) find(ctx context.Context, w plugin.Write, pod *corev1.Pod) (*corev1.ServiceAccount, error) {
	name := pod.Spec.ServiceAccountName
	for look := 1; ; look++ {
		account, found, err := a.Get(ctx, w.GetNamespace(), name)
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err() // the handler says that the time is up
		case found:
			return account, nil
		case err == nil && name == defaultAccount && look < accountLooks:
			select {
			case <-ctx.Done():
			case <-time.After(accountInterval):
			}
			continue
		case err == nil:
			err = apierrors.NewNotFound(corev1.Resource("serviceaccount"), name)
		}
		return nil, w.Refusal("error looking up service account %s/%s: %w", w.GetNamespace(), name, err)
	}
}

func isMirror(pod *corev1.Pod) bool {
	_, mirror := pod.Annotations[corev1.MirrorPodAnnotationKey]
	return mirror
}

var mirrorLeft = trace.Because("mirror-left",
	"it stands for a pod in a file of its kubelet: such a pod has no account",
	"它代表 kubelet 文件中的 Pod：这种 Pod 没有服务账号")

// checkMirror refuses references that a mirror pod can't have: the server does not know its account.
func checkMirror(w plugin.Write, pod *corev1.Pod) error {
	switch {
	case pod.Spec.ServiceAccountName != "":
		return w.Refusal("a mirror pod may not reference service accounts")
	case usesSecrets(&pod.Spec):
		return w.Refusal("a mirror pod may not reference secrets")
	case slices.ContainsFunc(pod.Spec.Volumes, projectsToken):
		return w.Refusal("a mirror pod may not use ServiceAccountToken volume projections")
	}
	w.Step.Why(mirrorLeft)
	return nil
}

func projectsToken(v corev1.Volume) bool {
	return v.Projected != nil &&
		slices.ContainsFunc(v.Projected.Sources, func(s corev1.VolumeProjection) bool { return s.ServiceAccountToken != nil })
}

// usesSecrets reports whether a pod names any secret.
func usesSecrets(spec *corev1.PodSpec) bool {
	used := slices.ContainsFunc(spec.ImagePullSecrets, func(r corev1.LocalObjectReference) bool { return r.Name != "" }) ||
		slices.ContainsFunc(spec.Volumes, volumeUsesSecret)
	eachContainer(spec, func(_ string, c *corev1.EphemeralContainerCommon) {
		used = used ||
			slices.ContainsFunc(c.EnvFrom, func(e corev1.EnvFromSource) bool { return e.SecretRef != nil && e.SecretRef.Name != "" }) ||
			slices.ContainsFunc(c.Env, func(e corev1.EnvVar) bool {
				return e.ValueFrom != nil && e.ValueFrom.SecretKeyRef != nil && e.ValueFrom.SecretKeyRef.Name != ""
			})
	})
	return used
}

func volumeUsesSecret(v corev1.Volume) bool {
	local := func(r *corev1.LocalObjectReference) bool { return r != nil && r.Name != "" }
	switch {
	case v.AzureFile != nil:
		return v.AzureFile.SecretName != ""
	case v.CephFS != nil:
		return local(v.CephFS.SecretRef)
	case v.Cinder != nil:
		return local(v.Cinder.SecretRef)
	case v.FlexVolume != nil:
		return local(v.FlexVolume.SecretRef)
	case v.Projected != nil:
		return slices.ContainsFunc(v.Projected.Sources,
			func(s corev1.VolumeProjection) bool { return s.Secret != nil && s.Secret.Name != "" })
	case v.RBD != nil:
		return local(v.RBD.SecretRef)
	case v.Secret != nil:
		return v.Secret.SecretName != ""
	case v.ScaleIO != nil:
		return local(v.ScaleIO.SecretRef)
	case v.ISCSI != nil:
		return local(v.ISCSI.SecretRef)
	case v.StorageOS != nil:
		return local(v.StorageOS.SecretRef)
	case v.CSI != nil:
		return local(v.CSI.NodePublishSecretRef)
	}
	return false
}

// eachContainer visits init containers, containers and ephemeral ones, each with the name of its kind in
// refusals.
func eachContainer(spec *corev1.PodSpec, visit func(kind string, c *corev1.EphemeralContainerCommon)) {
	for i := range spec.InitContainers {
		visit("init container", (*corev1.EphemeralContainerCommon)(&spec.InitContainers[i]))
	}
	for i := range spec.Containers {
		visit("container", (*corev1.EphemeralContainerCommon)(&spec.Containers[i]))
	}
	for i := range spec.EphemeralContainers {
		visit(ephemeral, &spec.EphemeralContainers[i].EphemeralContainerCommon)
	}
}

const ephemeral = "ephemeral container"

// mountsToken reports whether the pod wants its token mounted: the pod's field decides, then its account's.
func mountsToken(account *corev1.ServiceAccount, pod *corev1.Pod) bool {
	for _, says := range []*bool{pod.Spec.AutomountServiceAccountToken, account.AutomountServiceAccountToken} {
		if says != nil {
			return *says
		}
	}
	return true
}

// mountToken mounts the token into all containers that have nothing at its path, and counts them.
func mountToken(pod *corev1.Pod) (mounts int) {
	name, there := "", false
	for _, v := range pod.Spec.Volumes {
		if strings.HasPrefix(v.Name, tokenVolume) {
			name, there = v.Name, true
			break
		}
	}
	if !there {
		name = tokenVolume + utilrand.String(5)
	}
	for _, containers := range [][]corev1.Container{pod.Spec.InitContainers, pod.Spec.Containers} {
		for i := range containers {
			c := &containers[i]
			if !slices.ContainsFunc(c.VolumeMounts, func(m corev1.VolumeMount) bool { return m.MountPath == tokenPath }) {
				c.VolumeMounts = append(c.VolumeMounts, corev1.VolumeMount{Name: name, ReadOnly: true, MountPath: tokenPath})
				mounts++
			}
		}
	}
	if !there && mounts > 0 {
		pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{Projected: tokenSources()}})
	}
	return mounts
}

// tokenSources lists what a program needs to talk to the server: a token, the CA certificates, and its own
// namespace.
func tokenSources() *corev1.ProjectedVolumeSource {
	return &corev1.ProjectedVolumeSource{
		DefaultMode: new(corev1.ProjectedVolumeSourceDefaultMode),
		Sources: []corev1.VolumeProjection{
			{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Path: "token", ExpirationSeconds: new(int64(tokenSeconds))}},
			{ConfigMap: &corev1.ConfigMapProjection{
				LocalObjectReference: corev1.LocalObjectReference{Name: "kube-root-ca.crt"},
				Items:                []corev1.KeyToPath{{Key: "ca.crt", Path: "ca.crt"}},
			}},
			{DownwardAPI: &corev1.DownwardAPIProjection{Items: []corev1.DownwardAPIVolumeFile{
				{Path: "namespace", FieldRef: &corev1.ObjectFieldSelector{APIVersion: "v1", FieldPath: "metadata.namespace"}},
			}}},
		},
	}
}

// mayUse refuses secrets that the account does not list, if it is annotated with mountableOnly.
func mayUse(w plugin.Write, account *corev1.ServiceAccount, pod *corev1.Pod) error {
	if !isMountableOnly(account) {
		return nil
	}
	for _, v := range pod.Spec.Volumes {
		if v.Secret != nil && !namesSecret(account, v.Secret.SecretName) {
			return w.Refusal("volume with secret.secretName=%q is not allowed because service account %s does not reference that secret",
				v.Secret.SecretName, account.Name)
		}
	}
	if err := containersMayUse(account, pod, func(kind string) bool { return kind != ephemeral }); err != nil {
		return w.Refusal("%w", err)
	}
	for i, secret := range pod.Spec.ImagePullSecrets {
		if !slices.Contains(account.ImagePullSecrets, secret) {
			return w.Refusal(
				"imagePullSecrets[%d].name=%q is not allowed because service account %s does not reference that imagePullSecret",
				i, secret.Name, account.Name)
		}
	}
	return nil
}

// mayAttach checks ephemeral containers in the same way. As upstream, its refusal has no Status, so the answer
// is a 500.
func mayAttach(account *corev1.ServiceAccount, pod *corev1.Pod) error {
	if !isMountableOnly(account) {
		return nil
	}
	return containersMayUse(account, pod, func(kind string) bool { return kind == ephemeral })
}

func isMountableOnly(account *corev1.ServiceAccount) bool {
	only, err := strconv.ParseBool(account.Annotations[mountableOnly])
	return err == nil && only
}

func namesSecret(account *corev1.ServiceAccount, name string) bool {
	return slices.ContainsFunc(account.Secrets, func(r corev1.ObjectReference) bool { return r.Name == name })
}

// containersMayUse returns an error for the first secret in a container's environment that the account does not
// list.
func containersMayUse(account *corev1.ServiceAccount, pod *corev1.Pod, of func(kind string) bool) (err error) {
	refuse := func(container, how, secret string) {
		if err == nil && !namesSecret(account, secret) {
			err = fmt.Errorf(
				"%s %s referencing secret.secretName=%q is not allowed because service account %s does not reference that secret",
				container, how, secret, account.Name)
		}
	}
	eachContainer(&pod.Spec, func(kind string, c *corev1.EphemeralContainerCommon) {
		if !of(kind) {
			return
		}
		for _, env := range c.Env {
			if env.ValueFrom != nil && env.ValueFrom.SecretKeyRef != nil {
				refuse(kind+" "+c.Name, fmt.Sprintf("with envVar %s", env.Name), env.ValueFrom.SecretKeyRef.Name)
			}
		}
		for _, from := range c.EnvFrom {
			if from.SecretRef != nil {
				refuse(kind+" "+c.Name, "with envFrom", from.SecretRef.Name)
			}
		}
	})
	return err
}
