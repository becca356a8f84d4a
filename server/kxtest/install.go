package kxtest

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/util/retry"
)

// servedMost limits the wait until the resources of a definition are served.
const servedMost = 30 * time.Second

// Webhook says where the test has to serve its webhooks, by the names of envtest's WebhookInstallOptions.
type Webhook struct {
	LocalServingHost string
	LocalServingPort int
	// LocalServingCertDir has tls.crt and tls.key.
	LocalServingCertDir string

	bundle []byte
}

// install creates what the options ask for.
func (i *instance) install(o *options) error {
	wires := len(o.webhooks) > 0 || slices.ContainsFunc(o.crds, func(m *manifest) bool { return converts(m.object) })
	if wires && i.webhook.bundle == nil {
		if err := i.serveWebhooks(); err != nil {
			return err
		}
	}
	for _, m := range o.crds {
		if err := i.webhook.wireConversion(m.object); err != nil {
			return fmt.Errorf("%v: %w", m, err)
		}
	}
	for _, m := range o.webhooks {
		if err := i.webhook.wire(m.object); err != nil {
			return fmt.Errorf("%v: %w", m, err)
		}
	}
	ctx := context.Background()
	for _, m := range o.crds {
		if err := i.client.create(ctx, m); err != nil {
			return err
		}
	}
	for _, m := range o.crds {
		if err := i.client.waitServed(ctx, m); err != nil {
			return err
		}
	}
	for _, all := range [][]*manifest{o.namespaces, o.objects, o.webhooks} {
		for _, m := range all {
			if err := i.client.create(ctx, m); err != nil {
				return err
			}
		}
	}
	return nil
}

// create creates an object. If it is there already, a definition or a configuration becomes that of the file. Others,
// such as the namespace default, get the fields of the file.
func (c *client) create(ctx context.Context, m *manifest) error {
	resource, err := c.resourceOf(m)
	if err != nil {
		return fmt.Errorf("%v: %w", m, err)
	}
	_, err = resource.Create(ctx, m.object, metav1.CreateOptions{FieldManager: "kxtest"})
	switch {
	case !apierrors.IsAlreadyExists(err):
	case m.is(crdGroup, crdKind) || m.is(webhookGroup, mutating, validating):
		err = replace(ctx, resource, m.object)
	default:
		_, err = resource.Apply(ctx, m.object.GetName(), m.object, metav1.ApplyOptions{FieldManager: "kxtest", Force: true})
	}
	if err != nil {
		return fmt.Errorf("%v: %w", m, err)
	}
	return nil
}

// replace changes a stored object into that of a file. The server's controllers write to it too.
func replace(ctx context.Context, resource dynamic.ResourceInterface, object *unstructured.Unstructured) error {
	return retry.RetryOnConflict(retry.DefaultRetry, func() error {
		stored, err := resource.Get(ctx, object.GetName(), metav1.GetOptions{})
		if err != nil {
			return err
		}
		object.SetResourceVersion(stored.GetResourceVersion())
		_, err = resource.Update(ctx, object, metav1.UpdateOptions{FieldManager: "kxtest"})
		return err
	})
}

// resourceOf returns the resource of an object, in its namespace.
func (c *client) resourceOf(m *manifest) (dynamic.ResourceInterface, error) {
	kind := m.object.GroupVersionKind()
	list, err := c.discovery.ServerResourcesForGroupVersion(kind.GroupVersion().String())
	if err != nil {
		return nil, fmt.Errorf("find the resource of %s in %s: %w", kind.Kind, kind.GroupVersion(), err)
	}
	for _, r := range list.APIResources {
		if r.Kind != kind.Kind || r.Group != "" && r.Group != kind.Group {
			continue
		}
		resource := c.dynamic.Resource(kind.GroupVersion().WithResource(r.Name))
		if !r.Namespaced {
			return resource, nil
		}
		namespace := m.object.GetNamespace()
		if namespace == "" {
			namespace = metav1.NamespaceDefault
		}
		return resource.Namespace(namespace), nil
	}
	return nil, fmt.Errorf("the server has no kind %s in %s", kind.Kind, kind.GroupVersion())
}

var definitions = schema.GroupVersionResource{Group: crdGroup, Version: "v1", Resource: "customresourcedefinitions"}

// waitServed waits until discovery has the resource of a definition in all versions that are served.
func (c *client) waitServed(ctx context.Context, m *manifest) error {
	for deadline := time.Now().Add(servedMost); ; time.Sleep(5 * time.Millisecond) {
		crd, err := c.dynamic.Resource(definitions).Get(ctx, m.object.GetName(), metav1.GetOptions{})
		if err != nil {
			return fmt.Errorf("%v: %w", m, err)
		}
		why := condition(crd, "NamesAccepted", "False")
		if why != "" {
			return fmt.Errorf("%v: its names are not accepted: %s", m, why)
		}
		if condition(crd, "Established", "True") != "" && c.served(crd) {
			return nil
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("%v is not served after %v", m, servedMost)
		}
	}
}

// condition returns the message of a condition that has the status; empty if it has not.
func condition(object *unstructured.Unstructured, name, status string) string {
	all, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
	for _, one := range all {
		if c, ok := one.(map[string]any); ok && c["type"] == name && c["status"] == status {
			return fmt.Sprint(c["message"])
		}
	}
	return ""
}

func (c *client) served(crd *unstructured.Unstructured) bool {
	group, _, _ := unstructured.NestedString(crd.Object, "spec", "group")
	plural, _, _ := unstructured.NestedString(crd.Object, "spec", "names", "plural")
	versions, _, _ := unstructured.NestedSlice(crd.Object, "spec", "versions")
	for _, one := range versions {
		version, ok := one.(map[string]any)
		if !ok || version["served"] != true {
			continue
		}
		list, err := c.discovery.ServerResourcesForGroupVersion(fmt.Sprintf("%s/%s", group, version["name"]))
		if err != nil {
			return false
		}
		found := false
		for _, r := range list.APIResources {
			found = found || r.Name == plural
		}
		if !found {
			return false
		}
	}
	return true
}

// serveWebhooks chooses where the test serves its webhooks, and makes the certificate.
func (i *instance) serveWebhooks() error {
	signer, err := newAuthority("kxtest webhooks")
	if err != nil {
		return err
	}
	w := Webhook{LocalServingHost: "127.0.0.1", LocalServingCertDir: i.process.dir.file("webhook"), bundle: signer.pem}
	listener, err := net.Listen("tcp", net.JoinHostPort(w.LocalServingHost, "0"))
	if err != nil {
		return fmt.Errorf("find a free port for the webhooks: %w", err)
	}
	w.LocalServingPort = listener.Addr().(*net.TCPAddr).Port
	cert, key, err := signer.server(w.LocalServingHost)
	if err = errors.Join(err, listener.Close(), os.Mkdir(w.LocalServingCertDir, 0o700)); err != nil {
		return err
	}
	i.webhook = w
	return errors.Join(os.WriteFile(filepath.Join(w.LocalServingCertDir, "tls.crt"), cert, 0o600),
		os.WriteFile(filepath.Join(w.LocalServingCertDir, "tls.key"), key, 0o600))
}

// wire points the webhooks of a configuration at the test.
func (w *Webhook) wire(configuration *unstructured.Unstructured) error {
	hooks, found, err := unstructured.NestedSlice(configuration.Object, "webhooks")
	if err != nil || !found {
		return errors.Join(errors.New("it has no webhooks"), err)
	}
	for at, one := range hooks {
		hook, ok := one.(map[string]any)
		if !ok {
			return fmt.Errorf("webhooks[%d] is no object", at)
		}
		config, _ := hook["clientConfig"].(map[string]any)
		wired, err := w.local(config)
		if err != nil {
			return fmt.Errorf("the webhook %q can't be pointed at this test: %w", hook["name"], err)
		}
		hook["clientConfig"] = wired
	}
	return unstructured.SetNestedSlice(configuration.Object, hooks, "webhooks")
}

// atService leads to the service of a definition's conversion webhook.
var atService = []string{"spec", "conversion", "webhook", "clientConfig", "service"}

func converts(crd *unstructured.Unstructured) bool {
	_, found, err := unstructured.NestedMap(crd.Object, atService...)
	return found && err == nil
}

// wireConversion points the conversion webhook of a definition at the test, if it has one behind a service.
func (w *Webhook) wireConversion(crd *unstructured.Unstructured) error {
	if !converts(crd) {
		return nil
	}
	at := atService[:len(atService)-1]
	config, _, err := unstructured.NestedMap(crd.Object, at...)
	if err != nil {
		return err
	}
	wired, err := w.local(config)
	if err != nil {
		return fmt.Errorf("the conversion webhook can't be pointed at this test: %w", err)
	}
	return unstructured.SetNestedMap(crd.Object, wired, at...)
}

// local returns the configuration of a client that finds in this test what another one finds behind a service.
func (w *Webhook) local(config map[string]any) (map[string]any, error) {
	if url, ok := config["url"]; ok {
		return nil, fmt.Errorf("it has the url %v, and no service", url)
	}
	service, ok := config["service"].(map[string]any)
	if !ok {
		return nil, errors.New("its clientConfig has no service")
	}
	path, _ := service["path"].(string)
	host := net.JoinHostPort(w.LocalServingHost, strconv.Itoa(w.LocalServingPort))
	return map[string]any{"url": "https://" + host + path, "caBundle": base64.StdEncoding.EncodeToString(w.bundle)}, nil
}
