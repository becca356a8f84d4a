package bootstrap

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kx-apiserver/kx/server/builtin/core/service"
)

const (
	// apiService is the service of the API for clients inside a cluster, in the namespace default.
	apiService     = "kubernetes"
	services       = "/api/v1/namespaces/default/services"
	cidrs          = "/apis/networking.k8s.io/v1/servicecidrs"
	cidrController = "kubernetes-service-cidr-controller"
	servicePort    = 443
	portName       = "https"
)

// service creates the service, which it never changes later, and its endpoints.
func (t *Tasks) service(ctx context.Context, goOn func()) error {
	if !t.config.Serves(corev1.SchemeGroupVersion.WithResource("services")) {
		return nil
	}
	ip := t.config.ServiceIPs.Addr().Next().String()
	err := t.ensure(ctx, services, apiService, &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{
			Name: apiService, Namespace: metav1.NamespaceDefault,
			Labels: map[string]string{"provider": "kubernetes", "component": "apiserver"},
		},
		Spec: corev1.ServiceSpec{
			Type: corev1.ServiceTypeClusterIP, ClusterIP: ip, SessionAffinity: corev1.ServiceAffinityNone,
			IPFamilyPolicy: new(corev1.IPFamilyPolicySingleStack),
			Ports: []corev1.ServicePort{{
				Name: portName, Protocol: corev1.ProtocolTCP, Port: servicePort,
				TargetPort: intstr.FromInt32(int32(t.config.Address.Port())),
			}},
		},
	})
	if err != nil {
		return err
	}
	goOn()
	return t.reconcile(ctx, goOn)
}

// serviceCIDR creates the default ServiceCIDR, and sets its condition Ready if the server allocates addresses
// from that range. If another client has set the condition to false, it stays.
func (t *Tasks) serviceCIDR(ctx context.Context, _ func()) error {
	if !t.config.Serves(networkingv1.SchemeGroupVersion.WithResource("servicecidrs")) {
		return nil
	}
	var cidr networkingv1.ServiceCIDR
	err := t.client.get(ctx, cidrs+"/"+service.DefaultCIDR, &cidr)
	if apierrors.IsNotFound(err) {
		made := &networkingv1.ServiceCIDR{
			ObjectMeta: metav1.ObjectMeta{Name: service.DefaultCIDR},
			Spec:       networkingv1.ServiceCIDRSpec{CIDRs: []string{t.config.ServiceIPs.String()}},
		}
		if err = t.client.create(ctx, cidrs, made); err == nil || apierrors.IsAlreadyExists(err) {
			err = t.client.get(ctx, cidrs+"/"+service.DefaultCIDR, &cidr)
		}
	}
	if err != nil {
		return err
	}
	ready := apimeta.FindStatusCondition(cidr.Status.Conditions, networkingv1.ServiceCIDRConditionReady)
	if !cidr.DeletionTimestamp.IsZero() || len(cidr.Spec.CIDRs) != 1 || cidr.Spec.CIDRs[0] != t.config.ServiceIPs.String() ||
		ready != nil && ready.Status != metav1.ConditionUnknown {
		return nil
	}
	err = t.client.apply(ctx, cidrs+"/"+service.DefaultCIDR+"/status", cidrController, ready != nil, map[string]any{
		"apiVersion": networkingv1.SchemeGroupVersion.String(), "kind": "ServiceCIDR",
		"metadata": map[string]any{"name": service.DefaultCIDR},
		"status": map[string]any{"conditions": []any{map[string]any{
			"type": networkingv1.ServiceCIDRConditionReady, "status": metav1.ConditionTrue,
			"message": "Kubernetes default Service CIDR is ready", "lastTransitionTime": metav1.Now(),
		}}},
	})
	if ready == nil && apierrors.IsConflict(err) {
		return nil // the controller of ranges has set it since
	}
	return err
}

// apply applies obj for a field manager. With force it takes fields from their owners; otherwise that is a
// conflict.
func (c *client) apply(ctx context.Context, path, manager string, force bool, obj any) error {
	return c.do(ctx, "PATCH", fmt.Sprintf("%s?fieldManager=%s&force=%t", path, manager, force), "application/apply-patch+yaml", obj, nil)
}
