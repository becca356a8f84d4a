package podspec

import (
	corev1 "k8s.io/api/core/v1"
)

// SetDefaultsPod fills in a whole pod: first the defaults of pods, then those of every pod spec.
func SetDefaultsPod(pod *corev1.Pod) {
	spec := &pod.Spec
	for _, containers := range [][]corev1.Container{spec.Containers, spec.InitContainers} {
		for i := range containers {
			requestLimits(&containers[i].Resources)
			if spec.HostNetwork {
				hostPorts(containers[i].Ports)
			}
		}
	}
	if grace := spec.TerminationGracePeriodSeconds; grace != nil && *grace < 0 {
		*grace = 1
	}
	SetDefault(&spec.EnableServiceLinks, corev1.DefaultEnableServiceLinks)
	setDefaultsPodSpec(spec)
	syncPodIPs(&pod.Status)
	for _, statuses := range [][]corev1.ContainerStatus{
		pod.Status.InitContainerStatuses, pod.Status.ContainerStatuses, pod.Status.EphemeralContainerStatuses} {
		for i := range statuses {
			RoundUpResources(statuses[i].AllocatedResources)
			if r := statuses[i].Resources; r != nil {
				RoundUpResources(r.Limits, r.Requests)
			}
		}
	}
}

// SetDefaultsPodTemplate fills in the pod spec of a template.
func SetDefaultsPodTemplate(template *corev1.PodTemplateSpec) { setDefaultsPodSpec(&template.Spec) }

// setDefaultsPodSpec fills in the defaults of every pod spec, in a pod or in a template.
func setDefaultsPodSpec(spec *corev1.PodSpec) {
	setIfZero(&spec.DNSPolicy, corev1.DNSClusterFirst)
	setIfZero(&spec.RestartPolicy, corev1.RestartPolicyAlways)
	setIfZero(&spec.SchedulerName, corev1.DefaultSchedulerName)
	SetDefault(&spec.TerminationGracePeriodSeconds, int64(corev1.DefaultTerminationGracePeriodSeconds))
	if spec.SecurityContext == nil {
		spec.SecurityContext = &corev1.PodSecurityContext{}
	}

	// serviceAccount is the old name of serviceAccountName: the new one wins, and both are stored.
	setIfZero(&spec.ServiceAccountName, spec.DeprecatedServiceAccount)
	spec.DeprecatedServiceAccount = spec.ServiceAccountName

	for i := range spec.Volumes {
		setDefaultsVolume(&spec.Volumes[i])
	}
	for i := range spec.InitContainers {
		setDefaultsContainer(&spec.InitContainers[i])
	}
	for i := range spec.Containers {
		setDefaultsContainer(&spec.Containers[i])
	}
	for i := range spec.EphemeralContainers {
		setDefaultsContainer((*corev1.Container)(&spec.EphemeralContainers[i].EphemeralContainerCommon))
	}
	RoundUpResources(spec.Overhead)
	if spec.Resources != nil {
		RoundUpResources(spec.Resources.Limits, spec.Resources.Requests)
	}
}

func setDefaultsContainer(c *corev1.Container) {
	if c.ImagePullPolicy == "" {
		c.ImagePullPolicy = pullPolicyFor(c.Image)
	}
	setIfZero(&c.TerminationMessagePath, corev1.TerminationMessagePathDefault)
	setIfZero(&c.TerminationMessagePolicy, corev1.TerminationMessageReadFile)
	for i := range c.Ports {
		setIfZero(&c.Ports[i].Protocol, corev1.ProtocolTCP)
	}
	for i := range c.Env {
		if from := c.Env[i].ValueFrom; from != nil {
			setDefaultsFieldRef(from.FieldRef)
			if from.FileKeyRef != nil {
				SetDefault(&from.FileKeyRef.Optional, false)
			}
		}
	}
	RoundUpResources(c.Resources.Limits, c.Resources.Requests)
	for _, p := range []*corev1.Probe{c.LivenessProbe, c.ReadinessProbe, c.StartupProbe} {
		setDefaultsProbe(p)
	}
	if l := c.Lifecycle; l != nil {
		for _, h := range []*corev1.LifecycleHandler{l.PostStart, l.PreStop} {
			if h != nil {
				setDefaultsHTTPGet(h.HTTPGet)
			}
		}
	}
}

func setDefaultsProbe(p *corev1.Probe) {
	if p == nil {
		return
	}
	setIfZero(&p.TimeoutSeconds, 1)
	setIfZero(&p.PeriodSeconds, 10)
	setIfZero(&p.SuccessThreshold, 1)
	setIfZero(&p.FailureThreshold, 3)
	setDefaultsHTTPGet(p.HTTPGet)
	if p.GRPC != nil {
		SetDefault(&p.GRPC.Service, "")
	}
}

func setDefaultsHTTPGet(h *corev1.HTTPGetAction) {
	if h != nil {
		setIfZero(&h.Path, "/")
		setIfZero(&h.Scheme, corev1.URISchemeHTTP)
	}
}

func setDefaultsFieldRef(ref *corev1.ObjectFieldSelector) {
	if ref != nil {
		setIfZero(&ref.APIVersion, "v1")
	}
}

// requestLimits fills in a pod's container's missing requests with its limits. It leaves templates alone: the pod
// made from the template gets the requests.
func requestLimits(r *corev1.ResourceRequirements) {
	if r.Limits == nil {
		return
	}
	if r.Requests == nil {
		r.Requests = corev1.ResourceList{}
	}
	FillInResources(r.Requests, r.Limits)
}

// hostPorts copies the container ports to missing host ports, for a pod on its host's network.
func hostPorts(ports []corev1.ContainerPort) {
	for i := range ports {
		setIfZero(&ports[i].HostPort, ports[i].ContainerPort)
	}
}

// syncPodIPs makes podIP and podIPs[0] equal. podIP wins, since older clients write only that.
func syncPodIPs(status *corev1.PodStatus) {
	switch {
	case status.PodIP != "" && (len(status.PodIPs) == 0 || status.PodIPs[0].IP != status.PodIP):
		status.PodIPs = []corev1.PodIP{{IP: status.PodIP}}
	case len(status.PodIPs) > 0:
		status.PodIP = status.PodIPs[0].IP
	}
}

func setIfZero[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

// SetDefault gives a nil field a value.
func SetDefault[T any](field **T, value T) {
	if *field == nil {
		*field = &value
	}
}
