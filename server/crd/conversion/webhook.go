package conversion

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1beta1"
	"k8s.io/apiextensions-apiserver/pkg/apiserver/conversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/apiserver/pkg/util/webhook"
	"k8s.io/client-go/rest"

	"github.com/kx-apiserver/kx/core/steps"
	"github.com/kx-apiserver/kx/core/trace"
	kxwebhook "github.com/kx-apiserver/kx/server/webhook"
)

// maxAnswerBytes limits the answer to a request of some size: objects may grow, but not without limit.
func maxAnswerBytes(asked int64) int64 { return 8*max(asked, 0) + 8<<20 }

// webhookClient calls the conversion webhook of one CRD.
type webhookClient struct {
	client *rest.RESTClient
	url    string
	// reviewVersion is the version of ConversionReview that the webhook understands.
	reviewVersion string
}

func newClientManager(services webhook.ServiceResolver, auth webhook.AuthenticationInfoResolverWrapper) (webhook.ClientManager, error) {
	clients, err := webhook.NewClientManager(
		[]schema.GroupVersion{apiextensionsv1.SchemeGroupVersion, v1beta1.SchemeGroupVersion},
		v1beta1.AddToScheme, apiextensionsv1.AddToScheme)
	if err != nil {
		return clients, err
	}
	resolver, err := webhook.NewDefaultAuthenticationInfoResolver("")
	if err != nil {
		return clients, err
	}
	if services == nil {
		services = webhook.NewDefaultServiceResolver()
	}
	clients.SetAuthenticationInfoResolver(resolver)
	clients.SetAuthenticationInfoResolverWrapper(auth)
	clients.SetAuthenticationInfoResolverWrapper(kxwebhook.Distrust(maxAnswerBytes))
	clients.SetServiceResolver(services)
	return clients, clients.Validate()
}

func (f *Factory) newWebhookClient(crd *apiextensionsv1.CustomResourceDefinition) (*webhookClient, error) {
	hook := crd.Spec.Conversion.Webhook
	if hook == nil || hook.ClientConfig == nil {
		return nil, fmt.Errorf("CRD %s has the conversion strategy Webhook and no webhook.clientConfig", crd.Name)
	}
	version, err := reviewVersion(hook.ConversionReviewVersions)
	if err != nil {
		return nil, err
	}
	client, err := f.clients.HookClient(clientConfig(crd.Name, hook.ClientConfig))
	if err != nil {
		return nil, err
	}
	url := *client.Post().URL()
	url.RawQuery = "" // it says how long an answer is waited for
	return &webhookClient{client: client, url: url.String(), reviewVersion: version}, nil
}

func clientConfig(crd string, config *apiextensionsv1.WebhookClientConfig) webhook.ClientConfig {
	out := webhook.ClientConfig{Name: "conversion_webhook_for_" + crd, CABundle: config.CABundle}
	if len(bytes.TrimSpace(out.CABundle)) == 0 {
		out.CABundle = nil // as if there were none: the system's roots are trusted
	}
	if config.URL != nil {
		out.URL = *config.URL
	}
	if service := config.Service; service != nil {
		out.Service = &webhook.ClientConfigService{Name: service.Name, Namespace: service.Namespace}
		if service.Port != nil {
			out.Service.Port = *service.Port
		}
		if service.Path != nil {
			out.Service.Path = *service.Path
		}
	}
	return out
}

// reviewVersion returns the first wanted version that kx knows.
func reviewVersion(wanted []string) (string, error) {
	for _, version := range wanted {
		if version == apiextensionsv1.SchemeGroupVersion.Version || version == v1beta1.SchemeGroupVersion.Version {
			return version, nil
		}
	}
	return "", fmt.Errorf("no supported conversion review versions")
}

// convert sends an object or a list to the webhook. The result shares no memory with in.
func (w *webhookClient) convert(ctx context.Context, in runtime.Object, to schema.GroupVersion) (runtime.Object, error) {
	list, ok := in.(*unstructured.UnstructuredList)
	if !ok {
		obj := in.(*unstructured.Unstructured)
		converted, err := w.ask(ctx, []*unstructured.Unstructured{obj}, to, false)
		if err != nil {
			return nil, err
		}
		return converted[0], nil
	}
	out := &unstructured.UnstructuredList{Object: runtime.DeepCopyJSON(list.Object),
		Items: make([]unstructured.Unstructured, len(list.Items))}
	out.SetAPIVersion(to.String())
	var ask []*unstructured.Unstructured
	var at []int
	for i := range list.Items {
		if list.Items[i].GetAPIVersion() == to.String() {
			out.Items[i] = *list.Items[i].DeepCopy()
		} else {
			ask, at = append(ask, &list.Items[i]), append(at, i)
		}
	}
	if len(ask) == 0 {
		return out, nil
	}
	converted, err := w.ask(ctx, ask, to, true)
	if err != nil {
		return nil, err
	}
	for i, obj := range converted {
		out.Items[at[i]] = *obj
	}
	return out, nil
}

// ask calls the webhook once. Errors name the kind of the first object, and the index of a bad one in a list.
func (w *webhookClient) ask(ctx context.Context, objects []*unstructured.Unstructured, to schema.GroupVersion,
	isList bool) (out []*unstructured.Unstructured, err error) {
	uid := uuid.NewUUID()
	ctx, step := trace.Start(ctx, steps.CRDWebhook, w.url)
	defer step.End(&err)
	step.Int("objects", int64(len(objects)))
	step.Text("uid", string(uid))
	if err := step.Err(); err != nil {
		return nil, err
	}
	start := time.Now()
	ctx, exchange := kxwebhook.Observe(ctx, step)

	failed := func(kind conversion.ConversionWebhookErrorType, err error) ([]*unstructured.Unstructured, error) {
		conversion.Metrics.ObserveConversionWebhookFailure(ctx, time.Since(start), kind)
		return nil, err
	}
	from := objects[0].GroupVersionKind()
	request, response := w.review(objects, to, uid)
	err = w.client.Post().Body(request).Do(ctx).Into(response)
	step.Int("attempts", exchange.Attempts)
	// Drop the type of the webhook's error: a Status from the webhook must not pass for one of this server.
	if err != nil {
		return failed(conversion.ConversionWebhookCallFailure, fmt.Errorf("conversion webhook for %v failed: %v", from, err))
	}
	raw, err := convertedObjects(response, uid)
	if err != nil {
		return failed(conversion.ConversionWebhookMalformedResponseFailure, fmt.Errorf("conversion webhook for %v failed: %v", from, err))
	}
	if len(raw) != len(objects) {
		return failed(conversion.ConversionWebhookPartialResponseFailure,
			fmt.Errorf("conversion webhook for %v returned %d objects, expected %d", from, len(raw), len(objects)))
	}
	out = make([]*unstructured.Unstructured, len(raw))
	for i := range raw {
		var bad *badAnswer
		if out[i], bad = accept(objects[i], raw[i], to); bad != nil {
			return failed(conversion.ConversionWebhookInvalidConvertedObjectFailure,
				fmt.Errorf("conversion webhook for %v returned invalid %s: %w", from, bad.describeObject(isList, i), bad.err))
		}
	}
	conversion.Metrics.ObserveConversionWebhookSuccess(ctx, time.Since(start))
	return out, nil
}

// review returns the request, and a value to decode the answer into.
func (w *webhookClient) review(objects []*unstructured.Unstructured, to schema.GroupVersion,
	uid types.UID) (request, response runtime.Object) {
	raw := make([]runtime.RawExtension, len(objects))
	for i, obj := range objects {
		raw[i].Object = obj
	}
	if w.reviewVersion == v1beta1.SchemeGroupVersion.Version {
		return &v1beta1.ConversionReview{
			Request:  &v1beta1.ConversionRequest{Objects: raw, DesiredAPIVersion: to.String(), UID: uid},
			Response: &v1beta1.ConversionResponse{},
		}, &v1beta1.ConversionReview{}
	}
	return &apiextensionsv1.ConversionReview{
		Request:  &apiextensionsv1.ConversionRequest{Objects: raw, DesiredAPIVersion: to.String(), UID: uid},
		Response: &apiextensionsv1.ConversionResponse{},
	}, &apiextensionsv1.ConversionReview{}
}

// convertedObjects returns the objects of a successful answer. v1beta1 webhooks need not repeat the request's UID.
func convertedObjects(response runtime.Object, uid types.UID) ([]runtime.RawExtension, error) {
	var result metav1.Status
	var objects []runtime.RawExtension
	switch review := response.(type) {
	case *apiextensionsv1.ConversionReview:
		expected := apiextensionsv1.SchemeGroupVersion.WithKind("ConversionReview")
		if got := review.GroupVersionKind(); got != expected {
			return nil, fmt.Errorf("expected webhook response of %v, got %v", expected, got)
		}
		if review.Response == nil {
			return nil, errors.New("no response provided")
		}
		if review.Response.UID != uid {
			return nil, fmt.Errorf("expected response.uid=%q, got %q", uid, review.Response.UID)
		}
		result, objects = review.Response.Result, review.Response.ConvertedObjects
	case *v1beta1.ConversionReview:
		if review.Response == nil {
			return nil, errors.New("no response provided")
		}
		result, objects = review.Response.Result, review.Response.ConvertedObjects
	}
	switch {
	case result.Status == metav1.StatusSuccess:
		return objects, nil
	case result.Message != "":
		return nil, errors.New(result.Message)
	}
	return nil, fmt.Errorf("response.result.status was '%s', not 'Success'", result.Status)
}
