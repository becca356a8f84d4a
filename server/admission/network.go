package admission

import (
	"context"
	"slices"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	networkingv1beta1 "k8s.io/api/networking/v1beta1"

	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/server/admission/plugin"
)

var classNamed = trace.Because("class-named", "the object names its class", "对象指定了类")

// defaultIngressClass sets the class of ingresses that name none.
func defaultIngressClass(kit *plugin.Kit) plugin.Plugin {
	classes := plugin.ObjectsOf[*networkingv1.IngressClass](kit, networkingv1.SchemeGroupVersion.WithResource("ingressclasses"))
	return plugin.Plugin{
		Operations: onCreate, About: plugin.Resources(networkingv1.GroupName, "ingresses"),
		Admit: plugin.WithObject(func(ctx context.Context, w plugin.Write, ingress *networkingv1.Ingress) error {
			if _, old := ingress.Annotations[networkingv1beta1.AnnotationIngressClass]; old || ingress.Spec.IngressClassName != nil {
				w.Step.Why(classNamed)
				return nil
			}
			all, err := classes.List(ctx, "")
			if err != nil {
				return w.Refusal("%w", err)
			}
			isDefault := func(class *networkingv1.IngressClass) bool {
				return class.Annotations[networkingv1.AnnotationIsDefaultIngressClass] == "true"
			}
			return chooseDefault(w, all, isDefault, &ingress.Spec.IngressClassName)
		}),
	}
}

// denyServiceExternalIPs refuses new external addresses, which could capture the traffic of other services. A
// service keeps those that it already has.
func denyServiceExternalIPs(*plugin.Kit) plugin.Plugin {
	return plugin.Plugin{
		Operations: onChanges, About: plugin.Resources("", "services"),
		Validate: plugin.WithObject(func(_ context.Context, w plugin.Write, service *corev1.Service) error {
			var had []string
			if old, ok := w.GetOldObject().(*corev1.Service); ok {
				had = old.Spec.ExternalIPs
			}
			if slices.ContainsFunc(service.Spec.ExternalIPs, func(ip string) bool { return !slices.Contains(had, ip) }) {
				return w.Refusal("Use of external IPs is denied by admission control")
			}
			w.Step.Why(pluginLeft)
			return nil
		}),
	}
}
