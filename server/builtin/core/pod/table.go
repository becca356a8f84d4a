package pod

import (
	"fmt"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kx-apiserver/kx/server/builtin"
	"github.com/kx-apiserver/kx/server/builtin/core/podspec"
)

var columns = []builtin.Column{
	builtin.NameColumn,
	{Name: "Ready", Type: "string", Description: "The aggregate readiness state of this pod for accepting traffic."},
	{Name: "Status", Type: "string", Description: "The aggregate status of the containers in this pod."},
	{Name: "Restarts", Type: "string",
		Description: "The number of times the containers in this pod have been restarted " +
			"and when the last container in this pod has restarted."},
	builtin.AgeColumn,
	{Name: "IP", Type: "string", Priority: 1, Description: corev1.PodStatus{}.SwaggerDoc()["podIP"]},
	{Name: "Node", Type: "string", Priority: 1, Description: corev1.PodSpec{}.SwaggerDoc()["nodeName"]},
	{Name: "Nominated Node", Type: "string", Priority: 1, Description: corev1.PodStatus{}.SwaggerDoc()["nominatedNodeName"]},
	{Name: "Readiness Gates", Type: "string", Priority: 1, Description: corev1.PodSpec{}.SwaggerDoc()["readinessGates"]},
}

func row(pod *corev1.Pod) metav1.TableRow {
	s := summarize(pod)
	podIP := ""
	if len(pod.Status.PodIPs) > 0 {
		podIP = pod.Status.PodIPs[0].IP
	}
	row := builtin.Row(pod.Name, fmt.Sprintf("%d/%d", s.ready, s.total), s.reason, s.restartsCell(), builtin.Age(pod.CreationTimestamp),
		orNone(podIP), orNone(pod.Spec.NodeName), orNone(pod.Status.NominatedNodeName), readinessGates(pod))
	switch pod.Status.Phase {
	case corev1.PodSucceeded:
		row.Conditions = completed(corev1.PodSucceeded, "The pod has completed successfully.")
	case corev1.PodFailed:
		row.Conditions = completed(corev1.PodFailed, "The pod failed.")
	}
	return row
}

func completed(phase corev1.PodPhase, message string) []metav1.TableRowCondition {
	return []metav1.TableRowCondition{{Type: metav1.RowCompleted, Status: metav1.ConditionTrue, Reason: string(phase), Message: message}}
}

func orNone(s string) string {
	if s == "" {
		return "<none>"
	}
	return s
}

// nodeUnreachable is the status reason of a pod whose node became unreachable during its deletion.
const nodeUnreachable = "NodeLost"

// summary is the combined state of a pod's containers.
type summary struct {
	ready, total int
	reason       string
	restarts     int
	lastRestart  metav1.Time
	// sidecarRestarts counts the restarts of sidecars: init containers that keep running. They count also after
	// initialization.
	sidecarRestarts    int
	lastSidecarRestart metav1.Time
}

func summarize(pod *corev1.Pod) *summary {
	s := &summary{total: len(pod.Spec.Containers), reason: string(pod.Status.Phase)}
	if pod.Status.Reason != "" {
		s.reason = pod.Status.Reason
	}
	for _, c := range pod.Status.Conditions {
		if c.Type == corev1.PodScheduled && c.Reason == corev1.PodReasonSchedulingGated {
			s.reason = corev1.PodReasonSchedulingGated
		}
	}
	if initializing := s.addInitContainers(pod); !initializing || isTrue(pod, corev1.PodInitialized) {
		s.addContainers(pod)
	}
	if pod.DeletionTimestamp != nil {
		terminal := pod.Status.Phase == corev1.PodFailed || pod.Status.Phase == corev1.PodSucceeded
		switch {
		case pod.Status.Reason == nodeUnreachable:
			s.reason = "Unknown"
		case !terminal:
			s.reason = "Terminating"
		}
	}
	return s
}

// addInitContainers adds the init containers up to the first unfinished one, and reports whether there is one.
func (s *summary) addInitContainers(pod *corev1.Pod) (initializing bool) {
	sidecars := map[string]bool{}
	for i := range pod.Spec.InitContainers {
		if c := &pod.Spec.InitContainers[i]; podspec.IsSidecar(c) {
			sidecars[c.Name] = true
			s.total++
		}
	}
	for i := range pod.Status.InitContainerStatuses {
		c := &pod.Status.InitContainerStatuses[i]
		s.restarts += int(c.RestartCount)
		advance(&s.lastRestart, c)
		if sidecars[c.Name] {
			s.sidecarRestarts += int(c.RestartCount)
			advance(&s.lastSidecarRestart, c)
		}
		ended, waiting := c.State.Terminated, c.State.Waiting
		switch {
		case ended != nil && ended.ExitCode == 0:
			continue
		case sidecars[c.Name] && c.Started != nil && *c.Started:
			if c.Ready {
				s.ready++
			}
			continue
		case ended != nil && ended.Reason == "":
			s.reason = "Init:" + exit(ended)
		case ended != nil:
			s.reason = "Init:" + ended.Reason
		case waiting != nil && waiting.Reason != "" && waiting.Reason != "PodInitializing":
			s.reason = "Init:" + waiting.Reason
		default:
			s.reason = fmt.Sprintf("Init:%d/%d", i, len(pod.Spec.InitContainers))
		}
		return true
	}
	return false
}

// addContainers adds the containers from the last to the first, so that the first one's reason is shown.
func (s *summary) addContainers(pod *corev1.Pod) {
	s.restarts, s.lastRestart = s.sidecarRestarts, s.lastSidecarRestart
	running := false
	for i := len(pod.Status.ContainerStatuses) - 1; i >= 0; i-- {
		c := &pod.Status.ContainerStatuses[i]
		s.restarts += int(c.RestartCount)
		advance(&s.lastRestart, c)
		ended, waiting := c.State.Terminated, c.State.Waiting
		switch {
		case waiting != nil && waiting.Reason != "":
			s.reason = waiting.Reason
		case ended != nil && ended.Reason != "":
			s.reason = ended.Reason
		case ended != nil:
			s.reason = exit(ended)
		case c.Ready && c.State.Running != nil:
			running = true
			s.ready++
		}
	}
	// The first container has completed, but another one runs.
	if s.reason == "Completed" && running {
		s.reason = "NotReady"
		if isTrue(pod, corev1.PodReady) {
			s.reason = "Running"
		}
	}
}

func (s *summary) restartsCell() string {
	if s.restarts == 0 || s.lastRestart.IsZero() {
		return strconv.Itoa(s.restarts)
	}
	return fmt.Sprintf("%d (%s ago)", s.restarts, builtin.Age(s.lastRestart))
}

func advance(last *metav1.Time, c *corev1.ContainerStatus) {
	if ended := c.LastTerminationState.Terminated; ended != nil && last.Before(&ended.FinishedAt) {
		*last = ended.FinishedAt
	}
}

func exit(t *corev1.ContainerStateTerminated) string {
	if t.Signal != 0 {
		return fmt.Sprintf("Signal:%d", t.Signal)
	}
	return fmt.Sprintf("ExitCode:%d", t.ExitCode)
}

func isTrue(pod *corev1.Pod, condition corev1.PodConditionType) bool {
	for _, c := range pod.Status.Conditions {
		if c.Type == condition && c.Status == corev1.ConditionTrue {
			return true
		}
	}
	return false
}

func readinessGates(pod *corev1.Pod) string {
	if len(pod.Spec.ReadinessGates) == 0 {
		return "<none>"
	}
	open := 0
	for _, gate := range pod.Spec.ReadinessGates {
		if isTrue(pod, gate.ConditionType) {
			open++
		}
	}
	return fmt.Sprintf("%d/%d", open, len(pod.Spec.ReadinessGates))
}
