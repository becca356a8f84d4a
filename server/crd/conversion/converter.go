package conversion

import (
	"context"
	"fmt"
	"slices"
	"strings"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/util/webhook"

	"github.com/kx-apiserver/kx/core/steps"
	"github.com/kx-apiserver/kx/core/trace"
)

// Factory creates converters. It keeps one HTTP client for each webhook.
type Factory struct{ clients webhook.ClientManager }

// NewFactory creates a Factory. services finds webhooks; if nil, a webhook's host is <name>.<namespace>.svc.
// auth returns the credentials for webhooks; if nil, only their CA bundle is used.
func NewFactory(services webhook.ServiceResolver, auth webhook.AuthenticationInfoResolverWrapper) (*Factory, error) {
	clients, err := newClientManager(services, auth)
	if err != nil {
		return nil, fmt.Errorf("make a client for conversion webhooks: %w", err)
	}
	return &Factory{clients: clients}, nil
}

// Converter converts the objects of one CRD. It is immutable, and requests share it.
type Converter struct {
	name string
	// versions are the CRD's versions, served or not, with their selectable fields.
	versions map[schema.GroupVersion]sets.Set[string]
	// namespaced means that metadata.namespace is a selectable field, too.
	namespaced bool
	// webhook is nil if the strategy is None.
	webhook *webhookClient
}

// NewConverter creates the Converter of a CRD.
func (f *Factory) NewConverter(crd *apiextensionsv1.CustomResourceDefinition) (*Converter, error) {
	c := &Converter{
		name:       crd.Name,
		versions:   make(map[schema.GroupVersion]sets.Set[string], len(crd.Spec.Versions)),
		namespaced: crd.Spec.Scope == apiextensionsv1.NamespaceScoped,
	}
	for i := range crd.Spec.Versions {
		version := &crd.Spec.Versions[i]
		selectable := sets.New[string]()
		for _, field := range version.SelectableFields {
			selectable.Insert(strings.TrimPrefix(field.JSONPath, "."))
		}
		c.versions[schema.GroupVersion{Group: crd.Spec.Group, Version: version.Name}] = selectable
	}
	strategy := apiextensionsv1.NoneConverter
	if crd.Spec.Conversion != nil {
		strategy = crd.Spec.Conversion.Strategy
	}
	switch strategy {
	case apiextensionsv1.NoneConverter:
	case apiextensionsv1.WebhookConverter:
		var err error
		if c.webhook, err = f.newWebhookClient(crd); err != nil {
			return nil, err
		}
	default:
		return nil, fmt.Errorf("unknown conversion strategy %q for CRD %s", strategy, crd.Name)
	}
	return c, nil
}

// ChangesContent reports whether conversion can change more than the apiVersion.
func (c *Converter) ChangesContent() bool { return c.webhook != nil }

var (
	strategyNone = trace.Because("strategy-none",
		"strategy None: only apiVersion differs",
		"策略 None：只有 apiVersion 不同")
	strategyWebhook = trace.Because("strategy-webhook", "strategy Webhook", "策略 Webhook")
)

// Convert returns in, an object or a list of objects, in the version to.
func (c *Converter) Convert(ctx context.Context, in runtime.Object, to schema.GroupVersion) (out runtime.Object, err error) {
	if !needsConversion(in, to.String()) {
		return in, nil
	}
	ctx, step := trace.Start(ctx, steps.CRDConvert, c.name)
	defer step.End(&err)
	if step.Recording() {
		step.Text("from", versionsOf(in, to))
		step.Text("to", to.String())
	}
	step.Before(in)
	if err := c.validate(in, to); err != nil {
		return nil, err
	}
	if c.webhook == nil || isEmptyObject(in) {
		step.Why(strategyNone)
		out = rename(in, to.String())
	} else {
		step.Why(strategyWebhook)
		if out, err = c.webhook.convert(ctx, in, to); err != nil {
			return nil, err
		}
	}
	step.After(out)
	return out, nil
}

// needsConversion reports whether in, or one of its items, has another version.
func needsConversion(in runtime.Object, apiVersion string) bool {
	switch in := in.(type) {
	case *unstructured.Unstructured:
		return in.GetAPIVersion() != apiVersion
	case *unstructured.UnstructuredList:
		if in.GetAPIVersion() != apiVersion {
			return true
		}
		for i := range in.Items {
			if in.Items[i].GetAPIVersion() != apiVersion {
				return true
			}
		}
		return false
	}
	return true
}

// versionsOf lists the versions of the objects that need a conversion, usually one.
func versionsOf(in runtime.Object, to schema.GroupVersion) string {
	list, ok := in.(*unstructured.UnstructuredList)
	if !ok {
		return in.GetObjectKind().GroupVersionKind().GroupVersion().String()
	}
	var versions []string
	for i := range list.Items {
		if v := list.Items[i].GetAPIVersion(); v != to.String() && !slices.Contains(versions, v) {
			versions = append(versions, v)
		}
	}
	return strings.Join(versions, ", ")
}

// validate refuses an object that does not belong to the CRD.
func (c *Converter) validate(in runtime.Object, to schema.GroupVersion) error {
	if c.versions[to] == nil {
		return fmt.Errorf("request to convert CR to an invalid group/version: %s", to)
	}
	switch in := in.(type) {
	case *unstructured.Unstructured:
	case *unstructured.UnstructuredList:
		for i := range in.Items {
			if gv := in.Items[i].GroupVersionKind().GroupVersion(); c.versions[gv] == nil {
				return fmt.Errorf("request to convert CR list failed, list index %d has invalid group/version: %s", i, gv)
			}
		}
	default:
		return fmt.Errorf("input type %T in not valid for unstructured conversion", in)
	}
	if from := in.GetObjectKind().GroupVersionKind().GroupVersion(); c.versions[from] == nil {
		return fmt.Errorf("request to convert CR from an invalid group/version: %s", from)
	}
	return nil
}

// rename applies the strategy None to a copy.
func rename(in runtime.Object, apiVersion string) runtime.Object {
	list, ok := in.(*unstructured.UnstructuredList)
	if !ok {
		out := in.DeepCopyObject().(*unstructured.Unstructured)
		out.SetAPIVersion(apiVersion)
		return out
	}
	out := list.DeepCopy()
	out.SetAPIVersion(apiVersion)
	for i := range out.Items {
		out.Items[i].SetAPIVersion(apiVersion)
	}
	return out
}

// isEmptyObject reports whether in has only apiVersion and kind, like bookmarks before they get a revision. Any
// webhook would have to convert it as None does.
func isEmptyObject(in runtime.Object) bool {
	u, ok := in.(*unstructured.Unstructured)
	return ok && len(u.Object) == 2 && u.Object["kind"] != nil && u.Object["apiVersion"] != nil
}

// ConvertFieldLabel accepts the selectable fields of a version.
func (c *Converter) ConvertFieldLabel(gvk schema.GroupVersionKind, label, value string) (string, string, error) {
	if label == "metadata.name" || c.namespaced && label == "metadata.namespace" || c.versions[gvk.GroupVersion()].Has(label) {
		return label, value, nil
	}
	return "", "", fmt.Errorf("field label not supported: %s", label)
}

// WithContext adapts the Converter to a library that passes no context: its conversions belong to ctx.
func (c *Converter) WithContext(ctx context.Context) runtime.ObjectConvertor {
	return contextConverter{c, ctx}
}

type contextConverter struct {
	*Converter
	ctx context.Context
}

var _ runtime.ObjectConvertor = contextConverter{}

// Convert fills out with in, in out's version.
func (w contextConverter) Convert(in, out, _ any) error {
	from, ok := in.(*unstructured.Unstructured)
	if !ok {
		return fmt.Errorf("input type %T in not valid for unstructured conversion to %T", in, out)
	}
	to, ok := out.(*unstructured.Unstructured)
	if !ok {
		return fmt.Errorf("output type %T in not valid for unstructured conversion from %T", out, in)
	}
	converted, err := w.Converter.Convert(w.ctx, from.DeepCopy(), to.GroupVersionKind().GroupVersion())
	if err != nil {
		return err
	}
	to.Object = converted.(*unstructured.Unstructured).Object
	return nil
}

// ConvertToVersion returns a copy of in, in the version of target.
func (w contextConverter) ConvertToVersion(in runtime.Object, target runtime.GroupVersioner) (runtime.Object, error) {
	from := in.GetObjectKind().GroupVersionKind()
	to, ok := target.KindForGroupVersionKinds([]schema.GroupVersionKind{from})
	if !ok {
		return nil, fmt.Errorf("%v is unstructured and is not suitable for converting to %q", from.String(), target)
	}
	return w.Converter.Convert(w.ctx, in.DeepCopyObject(), to.GroupVersion())
}
