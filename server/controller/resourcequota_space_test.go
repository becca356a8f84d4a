package controller_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"

	"github.com/kx-apiserver/kx/server/controller"
	"github.com/kx-apiserver/kx/server/internal/controllertest"
)

func serveQuota(t *testing.T, dir string, etcds ...string) (clients controllertest.Clients, stop func()) {
	t.Helper()
	o := withAll()
	o.Controllers = controller.Selection{controller.Quota}
	o.Admission.Disabled = []string{"ResourceQuota"} // the controller is to find out by itself
	return controllertest.Serve(t, o, dir, etcds...)
}

// quotaSpace is a namespace of a server.
type quotaSpace struct {
	controllertest.Clients
	t         *testing.T
	namespace string
}

// inQuotaSpace makes a namespace.
func inQuotaSpace(t *testing.T, clients controllertest.Clients, name string) quotaSpace {
	t.Helper()
	createNamespace(t, clients, name)
	return quotaSpace{clients, t, name}
}

// client asks for a kind's objects: those of the namespace, unless the kind has none.
func (o quotaSpace) client(kind schema.GroupVersionKind) dynamic.ResourceInterface {
	resource, _ := meta.UnsafeGuessKindToResource(kind)
	client := o.Dynamic.Resource(resource)
	switch kind.Kind {
	case "PriorityClass", "RuntimeClass", "CustomResourceDefinition":
		return client
	}
	return client.Namespace(o.namespace)
}

// apply creates objects, and writes their status if they have one. NS stands for the namespace.
func (o quotaSpace) apply(documents ...string) {
	o.t.Helper()
	for _, document := range documents {
		for one := range strings.SplitSeq(strings.ReplaceAll(document, "NS", o.namespace), "\n---\n") {
			obj := &unstructured.Unstructured{}
			if err := yaml.Unmarshal([]byte(one), &obj.Object); err != nil {
				o.t.Fatal(err, one)
			}
			client, status := o.client(obj.GroupVersionKind()), obj.Object["status"]
			made, err := client.Create(o.t.Context(), obj, metav1.CreateOptions{})
			if err != nil {
				o.t.Fatal(err, one)
			}
			if status == nil {
				continue
			}
			made.Object["status"] = status
			if _, err := client.UpdateStatus(o.t.Context(), made, metav1.UpdateOptions{}); err != nil {
				o.t.Fatal(err, one)
			}
		}
	}
}

// patch merges something into an object.
func (o quotaSpace) patch(apiVersion, kind, name, patch string, subresources ...string) {
	o.t.Helper()
	client := o.client(schema.FromAPIVersionAndKind(apiVersion, kind))
	if _, err := client.Patch(o.t.Context(), name, types.MergePatchType, []byte(patch), metav1.PatchOptions{}, subresources...); err != nil {
		o.t.Fatal(err)
	}
}

func (o quotaSpace) remove(apiVersion, kind, name string) {
	o.t.Helper()
	if err := o.client(schema.FromAPIVersionAndKind(apiVersion, kind)).Delete(o.t.Context(), name, metav1.DeleteOptions{}); err != nil {
		o.t.Fatal(err)
	}
}

// state is what quotas say, one line an amount. The ConfigMap that some servers put into each namespace is left out.
func (o quotaSpace) state() (lines []string) {
	o.t.Helper()
	list, err := o.CoreV1().ResourceQuotas(o.namespace).List(o.t.Context(), metav1.ListOptions{})
	if err != nil {
		o.t.Fatal(err)
	}
	_, err = o.CoreV1().ConfigMaps(o.namespace).Get(o.t.Context(), "kube-root-ca.crt", metav1.GetOptions{})
	published := err == nil
	for _, q := range list.Items {
		var names []string
		for name := range q.Status.Hard {
			names = append(names, string(name))
		}
		for name := range q.Status.Used {
			if !slices.Contains(names, string(name)) {
				names = append(names, string(name))
			}
		}
		if len(names) == 0 {
			lines = append(lines, q.Name+": nothing")
		}
		for _, n := range names {
			name := corev1.ResourceName(n)
			used, ok := q.Status.Used[name]
			if published && !used.IsZero() && (name == "configmaps" || name == "count/configmaps") {
				used.Sub(resource.MustParse("1"))
			}
			hard := q.Status.Hard[name]
			text := used.String()
			if !ok {
				text = "-"
			}
			lines = append(lines, fmt.Sprintf("%s: %s: %s of %s", q.Name, name, text, hard.String()))
		}
	}
	slices.Sort(lines)
	return lines
}

// eventually creates an object whose definition may not be served yet.
func (o quotaSpace) eventually(document string) {
	o.t.Helper()
	obj := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(strings.ReplaceAll(document, "NS", o.namespace)), &obj.Object); err != nil {
		o.t.Fatal(err)
	}
	var last error
	err := wait.PollUntilContextTimeout(o.t.Context(), 50*time.Millisecond, controllertest.Patience, true, func(ctx context.Context) (bool, error) {
		_, last = o.client(obj.GroupVersionKind()).Create(ctx, obj, metav1.CreateOptions{})
		return last == nil, nil
	})
	if err != nil {
		o.t.Fatal(err, last)
	}
}
