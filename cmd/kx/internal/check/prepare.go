package check

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	schedulingv1 "k8s.io/api/scheduling/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"
)

// serverNamespaces are the namespaces that a server makes itself.
var serverNamespaces = []string{"default", "kube-system", "kube-public", "kube-node-lease"}

// assume creates the namespaces that documents refer to and that neither a server nor the documents made create. So
// their absence hides nothing.
func (c *checker) assume(ctx context.Context, documents []*document, made []int) {
	known := map[string]bool{}
	for _, name := range serverNamespaces {
		known[name] = true
	}
	for _, i := range made {
		if r := c.results[i]; r != nil && r.stored {
			known[c.documents[i].Name] = true
		}
	}
	for _, d := range documents {
		if d.root == nil || d.Namespace == "" || known[d.Namespace] || c.ofCluster(d) {
			continue
		}
		known[d.Namespace] = true
		object := &corev1.Namespace{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"}}
		object.Name = d.Namespace
		a, err := c.client.write(ctx, http.MethodPost, "/api/v1/namespaces", runtime.ContentTypeJSON, nil, object)
		if err == nil && a.status == nil {
			c.summary.Assumed = append(c.summary.Assumed, Note{d.field("metadata.namespace", nil), "Namespace " + d.Namespace})
		}
	}
}

// servedWait limits the wait for a definition, and for policies to be in force.
const servedWait = time.Minute

// serve waits until the kinds of a definition that was accepted are served.
func (c *checker) serve(ctx context.Context, d *document, r *Result) {
	definition := &apiextensionsv1.CustomResourceDefinition{}
	if err := yaml.Unmarshal(d.text, definition); err != nil {
		return
	}
	for i := range definition.Spec.Versions {
		if !definition.Spec.Versions[i].Served {
			continue
		}
		as := servedResource{
			schema.GroupVersionResource{Group: definition.Spec.Group, Version: definition.Spec.Versions[i].Name,
				Resource: definition.Spec.Names.Plural},
			definition.Spec.Scope == apiextensionsv1.NamespaceScoped,
		}
		if problem := c.awaitServed(ctx, definition.Name, d.mark, as); problem != "" {
			c.judge(r, Finding{Level: Refusal, Position: d.field("spec.names", nil), Field: "spec.names", Message: problem})
			return
		}
		c.client.add(as.resource.GroupVersion().WithKind(definition.Spec.Names.Kind), as)
	}
}

// awaitServed waits until a resource is served, with a column if mark names one, and returns why it is not.
func (c *checker) awaitServed(ctx context.Context, name, mark string, as servedResource) (problem string) {
	const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/"
	err := until(ctx, func() (bool, error) {
		list := call{method: http.MethodGet, path: as.collection("default"), query: url.Values{"limit": {"1"}}, accept: briefList}
		if mark != "" {
			list.accept = "application/json;as=Table;g=meta.k8s.io;v=v1"
		}
		a, err := c.client.do(ctx, list)
		if err != nil || a.status == nil && mark == "" {
			return true, err
		}
		if a.status == nil {
			table := metav1.Table{}
			err := json.Unmarshal(a.body, &table)
			named := func(c metav1.TableColumnDefinition) bool { return c.Name == mark }
			return err != nil || slices.ContainsFunc(table.ColumnDefinitions, named), err
		}
		if a, err = c.client.do(ctx, call{method: http.MethodGet, path: definitions + url.PathEscape(name)}); err != nil {
			return true, err
		}
		definition := &apiextensionsv1.CustomResourceDefinition{}
		if err := yaml.Unmarshal(a.body, definition); err != nil {
			return true, err
		}
		for _, condition := range definition.Status.Conditions {
			if condition.Type == apiextensionsv1.NamesAccepted && condition.Status == apiextensionsv1.ConditionFalse {
				problem = "the definition is not served: " + condition.Message
				return true, nil
			}
		}
		return false, nil
	})
	if err != nil {
		problem = "the definition is not served: " + err.Error()
	}
	return problem
}

// briefList asks for the metadata of a list.
const briefList = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"

// until calls done until it is true, with growing pauses, for servedWait at most.
func until(ctx context.Context, done func() (bool, error)) error {
	ctx, cancel := context.WithTimeoutCause(ctx, servedWait, fmt.Errorf("no success within %s", servedWait))
	defer cancel()
	for pause := time.Millisecond; ; pause = min(2*pause, 50*time.Millisecond) {
		if ok, err := done(); ok || err != nil {
			return err
		}
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// These are the names of the objects by which a check finds out that policies are in force: those of the set, and those
// that are there already.
const (
	probe      = "kx-check-probe"
	probeThere = "kx-check-probe-there"
)

// prepareProbe creates the namespace that is asked about while policies come into force. It can't be a param of theirs.
func (c *checker) prepareProbe(ctx context.Context, probe string) error {
	a, err := c.client.write(ctx, http.MethodPost, "/api/v1/namespaces", runtime.ContentTypeJSON, nil, probeObject(probe))
	if err == nil && a.status != nil && a.status.Reason != metav1.StatusReasonAlreadyExists {
		err = errors.New(a.status.Message)
	}
	return err
}

func probeObject(probe string) map[string]any {
	return map[string]any{"apiVersion": "v1", "kind": "Namespace", "metadata": map[string]any{"name": probe}}
}

// make creates an object of the check itself.
func (c *checker) make(ctx context.Context, path string, object any) error {
	a, err := c.client.write(ctx, http.MethodPost, path, runtime.ContentTypeJSON, nil, object)
	if err == nil && a.status != nil {
		err = errors.New(a.status.Message)
	}
	return err
}

// enforce waits until the policies of the set are in force. The server learns of policies by a watch, in the order in
// which they were written. So it knows all of them once it obeys two more, which enforce creates last. An answer shows
// these two whatever the policies of the set do: one fails to change an object, and all failures are reported; the
// other warns of a deletion, and no policy that changes objects sees deletions.
func (c *checker) enforce(ctx context.Context, probe string) error {
	rules := func(operation string) map[string]any {
		return map[string]any{"resourceRules": []any{map[string]any{
			"apiGroups": []string{""}, "apiVersions": []string{"v1"}, "resources": []string{"namespaces"},
			"resourceNames": []string{probe}, "operations": []string{operation},
		}}}
	}
	fails := "Object{metadata: Object.metadata{name: object.metadata.annotations['" + probe + "']}}"
	for _, policy := range []struct {
		kind string
		spec map[string]any
	}{
		{"MutatingAdmissionPolicy", map[string]any{
			"matchConstraints": rules("CREATE"), "reinvocationPolicy": "Never",
			"mutations": []any{map[string]any{
				"patchType": "ApplyConfiguration", "applyConfiguration": map[string]any{"expression": fails},
			}},
		}},
		{"MutatingAdmissionPolicyBinding", map[string]any{"policyName": probe}},
		{"ValidatingAdmissionPolicy", map[string]any{
			"matchConstraints": rules("DELETE"), "validations": []any{map[string]any{"expression": "false"}},
		}},
		{"ValidatingAdmissionPolicyBinding", map[string]any{"policyName": probe, "validationActions": []string{"Warn"}}},
	} {
		as, _ := c.client.kind(schema.GroupVersionKind{Group: groupPolicies, Version: "v1", Kind: policy.kind})
		if err := c.make(ctx, as.collection(""), map[string]any{"apiVersion": groupPolicies + "/v1", "kind": policy.kind,
			"metadata": map[string]any{"name": probe}, "spec": policy.spec}); err != nil {
			return err
		}
	}
	dryRun := url.Values{"dryRun": {metav1.DryRunAll}}
	changing := func() (bool, error) {
		a, err := c.client.write(ctx, http.MethodPost, "/api/v1/namespaces", runtime.ContentTypeJSON, dryRun, probeObject(probe))
		if err != nil || a.status == nil || a.status.Details == nil {
			return err != nil, err
		}
		failed := func(cause metav1.StatusCause) bool { return strings.Contains(cause.Message, probe) }
		return slices.ContainsFunc(a.status.Details.Causes, failed), nil
	}
	refusing := func() (bool, error) {
		a, err := c.client.do(ctx, call{method: http.MethodDelete, path: "/api/v1/namespaces/" + probe, query: dryRun})
		return err != nil || slices.ContainsFunc(a.warnings, func(w string) bool { return strings.Contains(w, probe) }), err
	}
	if err := until(ctx, changing); err != nil {
		return err
	}
	return until(ctx, refusing)
}

// reconsider asks again about documents that were created before the policies of the set were in force.
func (c *checker) reconsider(ctx context.Context, i int) {
	d, r := c.documents[i], c.results[i]
	if !r.stored {
		return
	}
	as, _ := c.client.kind(d.groupVersionKind())
	a, err := c.client.do(ctx, call{method: http.MethodPost, path: as.collection(d.namespace()), body: d.text, media: d.media,
		accept: brief, counted: true, query: url.Values{"fieldValidation": {metav1.FieldValidationWarn}, "dryRun": {metav1.DryRunAll}}})
	switch {
	case err != nil:
		c.takeError(r, d, err)
	case a.status != nil && a.status.Reason != metav1.StatusReasonAlreadyExists:
		c.judge(r, d.refusals(a.status)...)
		fallthrough
	default:
		c.warn(r, d, a.warnings)
	}
}

// equip creates what controllers of a cluster make and admission asks for: the accounts and the classes of priority of
// pods. The policies of the set are not in force yet: they are to judge the set alone.
func (c *checker) equip(ctx context.Context, documents []*document) {
	in := map[string]bool{}
	for _, d := range documents {
		if d.root != nil && d.group() == "" && d.Kind == "Pod" {
			in[d.namespace()] = true
		}
	}
	if len(in) == 0 {
		return
	}
	for _, d := range documents {
		if d.root != nil && d.group() == "" && d.Kind == "ServiceAccount" && d.Name == "default" {
			delete(in, d.namespace())
		}
	}
	for name, value := range systemClasses {
		class := &schedulingv1.PriorityClass{Value: int32(value)}
		class.APIVersion, class.Kind, class.Name = "scheduling.k8s.io/v1", "PriorityClass", name
		_, _ = c.client.write(ctx, http.MethodPost, "/apis/scheduling.k8s.io/v1/priorityclasses", runtime.ContentTypeJSON, nil, class)
	}
	for namespace := range in {
		account := &corev1.ServiceAccount{}
		account.APIVersion, account.Kind, account.Name = "v1", "ServiceAccount", "default"
		// If it fails, the answer to the pod says so.
		_, _ = c.client.write(ctx, http.MethodPost, "/api/v1/namespaces/"+url.PathEscape(namespace)+"/serviceaccounts",
			runtime.ContentTypeJSON, nil, account)
	}
}

// limit puts a quota into force: a controller copies its limits to the status.
func (c *checker) limit(ctx context.Context, d *document) {
	quota := &corev1.ResourceQuota{}
	if d.Kind != "ResourceQuota" || yaml.Unmarshal(d.text, quota) != nil {
		return
	}
	status := corev1.ResourceQuotaStatus{Hard: quota.Spec.Hard, Used: corev1.ResourceList{}}
	for name := range quota.Spec.Hard {
		status.Used[name] = resource.Quantity{}
	}
	path := "/api/v1/namespaces/" + url.PathEscape(d.namespace()) + "/resourcequotas/" + url.PathEscape(d.Name)
	if _, there := c.origin(d); there {
		old := &corev1.ResourceQuota{}
		if a, err := c.client.do(ctx, call{method: http.MethodGet, path: path}); err == nil && json.Unmarshal(a.body, old) == nil {
			maps.Copy(status.Used, old.Status.Used)
		}
	} else if c.config.Against != nil && c.config.Against.Cluster != nil && quota.Status.Hard != nil {
		status = quota.Status // it also counts objects that were not read
	}
	_, _ = c.client.write(ctx, http.MethodPatch, path+"/status", string(types.MergePatchType), nil, map[string]any{"status": status})
}
