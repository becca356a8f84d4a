package admission

import (
	"context"
	"errors"
	"maps"
	"slices"

	admissionv1 "k8s.io/api/admission/v1"
	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/audit"
	"k8s.io/apiserver/pkg/warning"
	podsecurityadmission "k8s.io/pod-security-admission/admission"
	"k8s.io/pod-security-admission/admission/api/load"
	"k8s.io/pod-security-admission/admission/api/validation"
	podsecurityapi "k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/metrics"
	"k8s.io/pod-security-admission/policy"

	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/server/admission/plugin"
)

// podSecurity checks pods against the level in the labels of their namespace, and warns of templates of such
// pods.
func podSecurity(plugins *Plugins, data []byte) (plugin.Plugin, error) {
	c, err := load.LoadFromData(data)
	if err != nil {
		return plugin.Plugin{}, err
	}
	if errs := validation.ValidatePodSecurityConfiguration(c); len(errs) > 0 { // before the library sets defaults
		return plugin.Plugin{}, errs.ToAggregate()
	}
	evaluator, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	if err != nil {
		return plugin.Plugin{}, err
	}
	s := &podsecurityadmission.Admission{
		Configuration: c, Evaluator: evaluator, Metrics: noMetrics{},
		PodSpecExtractor: podsecurityadmission.DefaultPodSpecExtractor{},
		NamespaceGetter:  namespaces(plugins.Namespace),
		PodLister:        pods{plugin.ObjectsOf[*corev1.Pod](plugins.kit, corev1.SchemeGroupVersion.WithResource("pods"))},
	}
	if err := s.CompleteConfiguration(); err != nil {
		return plugin.Plugin{}, err
	}
	if err := s.ValidateConfiguration(); err != nil {
		return plugin.Plugin{}, err
	}
	return plugin.Plugin{
		Operations: onChanges,
		About: slices.Concat(
			plugin.Resources("", "namespaces", "pods", "pods/ephemeralcontainers", "pods/resize", "replicationcontrollers", "podtemplates"),
			plugin.Resources(appsv1.GroupName, "replicasets", "deployments", "statefulsets", "daemonsets"),
			plugin.Resources(batchv1.GroupName, "jobs", "cronjobs")),
		Validate: func(ctx context.Context, w plugin.Write) error {
			return answer(ctx, w, s.Validate(ctx, writeAttributes{w}))
		},
	}, nil
}

var (
	securityHeld = trace.Because("security-held",
		"it keeps to the level {level:word} that the namespace enforces",
		"符合命名空间强制执行的级别 {level:word}")
	securityWarned = trace.Because("security-warned",
		"the client is warned {count} times: some pods go beyond a level of the namespace",
		"向客户端发出 {count} 条警告：有 Pod 超出命名空间的级别")
)

// answer reports the library's decision to the client, the audit log and the step.
func answer(ctx context.Context, w plugin.Write, r *admissionv1.AdmissionResponse) error {
	for _, text := range r.Warnings {
		warning.AddWarning(ctx, "", text)
	}
	for _, key := range slices.Sorted(maps.Keys(r.AuditAnnotations)) {
		audit.AddAuditAnnotation(ctx, podsecurityapi.AuditAnnotationPrefix+key, r.AuditAnnotations[key])
	}
	if r.Allowed {
		switch level, enforced := r.AuditAnnotations[podsecurityapi.EnforcedPolicyAnnotationKey]; {
		case len(r.Warnings) > 0:
			w.Step.Why(securityWarned, int64(len(r.Warnings)))
		case enforced:
			w.Step.WhyText(securityHeld, level)
		default:
			w.Step.Why(pluginLeft)
		}
		return nil
	}
	//lint:ignore ST1005 clients see the words of a Kubernetes API server
	refused := admission.NewForbidden(w, errors.New("Not allowed by PodSecurity"))
	status := (*apierrors.StatusError)(nil)
	if said := r.Result; said != nil && errors.As(refused, &status) {
		if said.Message != "" {
			status.ErrStatus.Message = said.Message
		}
		if said.Reason != "" {
			status.ErrStatus.Reason = said.Reason
		}
		if said.Details != nil {
			status.ErrStatus.Details = said.Details
		}
		if said.Code != 0 {
			status.ErrStatus.Code = said.Code
		}
	}
	return refused
}

// writeAttributes presents a write as the library's attributes.
type writeAttributes struct{ plugin.Write }

func (a writeAttributes) GetOperation() admissionv1.Operation {
	return admissionv1.Operation(a.Write.GetOperation())
}
func (a writeAttributes) GetObject() (runtime.Object, error)    { return a.Write.GetObject(), nil }
func (a writeAttributes) GetOldObject() (runtime.Object, error) { return a.Write.GetOldObject(), nil }
func (a writeAttributes) GetUserName() string                   { return a.GetUserInfo().GetName() }

type namespaces func(ctx context.Context, name string) (*corev1.Namespace, error)

func (n namespaces) GetNamespace(ctx context.Context, name string) (*corev1.Namespace, error) {
	return n(ctx, name)
}

type pods struct{ plugin.Objects[*corev1.Pod] }

func (p pods) ListPods(ctx context.Context, namespace string) ([]*corev1.Pod, error) {
	return p.List(ctx, namespace)
}

// noMetrics keeps no metrics of decisions: the library's are process-wide.
type noMetrics struct{}

func (noMetrics) RecordEvaluation(metrics.Decision, podsecurityapi.LevelVersion, metrics.Mode, podsecurityapi.Attributes) {
}
func (noMetrics) RecordExemption(podsecurityapi.Attributes)   {}
func (noMetrics) RecordError(bool, podsecurityapi.Attributes) {}
