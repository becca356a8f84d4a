package server_test

import (
	"log/slog"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apiextensions "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/kx-apiserver/kx/server/controller"
	"github.com/kx-apiserver/kx/server/internal/wiretest"
	"github.com/kx-apiserver/kx/server/options"
	"github.com/kx-apiserver/kx/store/admin"
)

// fruit is a definition of a custom resource, in a group of its own.
func fruit(plural, kind string) *apiextensionsv1.CustomResourceDefinition {
	preserve := true
	return &apiextensionsv1.CustomResourceDefinition{
		ObjectMeta: metav1.ObjectMeta{Name: plural + "." + plural + ".example"},
		Spec: apiextensionsv1.CustomResourceDefinitionSpec{
			Group: plural + ".example", Scope: apiextensionsv1.NamespaceScoped,
			Names: apiextensionsv1.CustomResourceDefinitionNames{Plural: plural, Kind: kind},
			Versions: []apiextensionsv1.CustomResourceDefinitionVersion{{Name: "v1", Served: true, Storage: true, Schema: &apiextensionsv1.CustomResourceValidation{
				OpenAPIV3Schema: &apiextensionsv1.JSONSchemaProps{Type: "object", XPreserveUnknownFields: &preserve},
			}}},
		},
	}
}

func fruits(plural string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: plural + ".example", Version: "v1", Resource: plural}
}

const badDefinition = "apiextensions.k8s.io/customresourcedefinitions/apples.apples.example"

// damagedEtcd is an etcd in which one object of each resource that a server makes or reads at its start is damaged.
type damagedEtcd struct {
	address string
	client  *clientv3.Client
	// whole has the values that were damaged, by key.
	whole map[string]string
}

// spoil starts a server that makes what every cluster has, and two definitions with an object each, and then damages one object of
// each resource, so that its value becomes what damage makes of it.
func spoil(t *testing.T, damage func(value string) string) *damagedEtcd {
	t.Helper()
	d := &damagedEtcd{address: (&rival{}).startEtcd(t), whole: map[string]string{}}
	var err error
	d.client, err = clientv3.New(clientv3.Config{Endpoints: []string{d.address}})
	must(t, err)
	t.Cleanup(func() { _ = d.client.Close() })
	first, stop, err := launch(d.on)
	must(t, err)
	first.ready(t)
	definitions, err := apiextensions.NewForConfig(first.config)
	must(t, err)
	objects, err := dynamic.NewForConfig(first.config)
	must(t, err)
	for plural, kind := range map[string]string{"apples": "Apple", "pears": "Pear"} {
		_, err := definitions.ApiextensionsV1().CustomResourceDefinitions().Create(t.Context(), fruit(plural, kind), metav1.CreateOptions{})
		must(t, err)
		until(t, "objects of "+kind+" are taken", func() bool { return makeFruit(t, objects, plural, kind, "old") == nil })
	}
	core := first.admin(t).CoreV1()
	_, err = core.Secrets("kube-public").Create(t.Context(), &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "s"}}, metav1.CreateOptions{})
	must(t, err)
	_, err = core.LimitRanges("kube-public").Create(t.Context(), &corev1.LimitRange{ObjectMeta: metav1.ObjectMeta{Name: "l"}}, metav1.CreateOptions{})
	must(t, err)
	_, err = core.ResourceQuotas("kube-public").Create(t.Context(), &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: "q"}}, metav1.CreateOptions{})
	must(t, err)
	hooks := first.admin(t).AdmissionregistrationV1()
	_, err = hooks.ValidatingWebhookConfigurations().Create(t.Context(), &admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "w"}}, metav1.CreateOptions{})
	must(t, err)
	_, err = hooks.MutatingWebhookConfigurations().Create(t.Context(), &admissionregistrationv1.MutatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: "w"}}, metav1.CreateOptions{})
	must(t, err)
	until(t, "the controllers have made what namespaces have", func() bool {
		_, err := core.ServiceAccounts("kube-public").Get(t.Context(), "default", metav1.GetOptions{})
		_, err2 := core.ConfigMaps("kube-public").Get(t.Context(), "kube-root-ca.crt", metav1.GetOptions{})
		return err == nil && err2 == nil
	})
	must(t, stop())

	got, err := d.client.Get(t.Context(), "/registry/", clientv3.WithPrefix())
	must(t, err)
	for _, kv := range got.Kvs {
		key := strings.TrimPrefix(string(kv.Key), "/registry/")
		resource, _, _ := admin.SplitKey("", "/"+key)
		again := slices.ContainsFunc(slices.Collect(maps.Keys(d.whole)), func(k string) bool { return strings.HasPrefix(k, "/registry/"+resource+"/") })
		switch {
		case again, resource == "pears.example/pears", resource == "leases", key == "namespaces/default":
			continue
		}
		d.whole[string(kv.Key)] = string(kv.Value)
		_, err := d.client.Put(t.Context(), string(kv.Key), damage(string(kv.Value)))
		must(t, err)
	}
	if d.whole["/registry/"+badDefinition] == "" || len(d.whole) < 15 {
		t.Fatalf("only %d are damaged: %v", len(d.whole), slices.Collect(maps.Keys(d.whole)))
	}
	return d
}

func (d *damagedEtcd) on(o *options.Options) {
	o.Etcd.Servers, o.Controllers = []string{d.address}, controller.Selection{"*"}
	withObjects("192.0.2.1")(o)
}

func makeFruit(t *testing.T, objects dynamic.Interface, plural, kind, name string) error {
	_, err := objects.Resource(fruits(plural)).Namespace("default").Create(t.Context(), &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": fruits(plural).GroupVersion().String(), "kind": kind, "metadata": map[string]any{"name": name},
	}}, metav1.CreateOptions{})
	return err
}

// TestDamagedObjects starts a server on an etcd with a damaged object of each resource that the start reads. It becomes ready, says
// which definition it cannot read and what can be done, and serves all others. It refuses writes until what configures admission is mended. Then
// controllers and roles work. It serves what is mended without being started again.
func TestDamagedObjects(t *testing.T) {
	t.Parallel()
	for name, damage := range map[string]func(string) string{
		"cut":       func(v string) string { return v[:len(v)/2] },
		"empty":     func(string) string { return "" },
		"encrypted": func(v string) string { return "k8s:enc:aescbc:v1:gone:" + v },
		"text":      func(string) string { return "it was an object" },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			testDamaged(t, spoil(t, damage))
		})
	}
}

func testDamaged(t *testing.T, d *damagedEtcd) {
	begun := time.Now()
	text := &log{}
	r, stop, err := launchLogging(slog.New(slog.NewTextHandler(text, nil)), nil, d.on)
	must(t, err)
	t.Cleanup(func() { must(t, stop()) })
	r.ready(t)
	_, answer := ask(t, r.httpClient(t), "GET", r.URL+"/readyz?verbose", nil)
	if !strings.Contains(string(answer), "warn: poststarthook/crd-informer-synced: the stored value of "+badDefinition) || !strings.Contains(string(answer), "`kx etcd delete`") {
		t.Errorf("readyz: %s", answer)
	}
	objects, err := dynamic.NewForConfig(r.config)
	must(t, err)
	unreadable := func(err error) bool {
		return apierrors.IsForbidden(err) && strings.Contains(err.Error(), "webhookconfigurations/w can't be read")
	}
	if err := makeFruit(t, objects, "pears", "Pear", "new"); !unreadable(err) {
		t.Errorf("a write while configurations of webhooks can't be read: %v", err)
	}
	d.mend(t, "/registry/mutatingwebhookconfigurations/w", "/registry/validatingwebhookconfigurations/w")
	until(t, "writes are admitted", func() bool {
		err := makeFruit(t, objects, "pears", "Pear", "new")
		if !unreadable(err) {
			must(t, err)
		}
		return err == nil
	})
	list, err := objects.Resource(fruits("pears")).Namespace("default").List(t.Context(), metav1.ListOptions{})
	if err != nil || len(list.Items) != 2 {
		t.Errorf("%v, %v", list, err)
	}
	if err := makeFruit(t, objects, "apples", "Apple", "new"); !apierrors.IsInternalError(err) || !strings.Contains(err.Error(), badDefinition) {
		t.Errorf("an object of the definition that can't be read: %v", err)
	}
	works(t, r)

	d.mend(t, "/registry/"+badDefinition)
	until(t, "what is mended is served", func() bool { return makeFruit(t, objects, "apples", "Apple", "new") == nil })
	until(t, "nothing is said to be damaged", func() bool {
		_, answer := ask(t, r.httpClient(t), "GET", r.URL+"/readyz?verbose", nil)
		return !strings.Contains(string(answer), "warn:")
	})
	c := r.admin(t)
	must(t, c.CoreV1().Namespaces().Delete(t.Context(), "later", metav1.DeleteOptions{}))
	until(t, "a namespace goes beside one that can't be read", func() bool {
		_, err := c.CoreV1().Namespaces().Get(t.Context(), "later", metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	})
	d.mend(t, slices.Collect(maps.Keys(d.whole))...)
	until(t, "all else that is mended can be read", func() bool {
		_, err := c.RbacV1().ClusterRoles().List(t.Context(), metav1.ListOptions{})
		_, err2 := c.CoreV1().Namespaces().List(t.Context(), metav1.ListOptions{})
		return err == nil && err2 == nil
	})
	// Some try again by the clock.
	lines, most := map[string]int{}, 30+int(time.Since(begun).Seconds())
	for line := range strings.Lines(text.String()) {
		_, message, _ := strings.Cut(line, "msg=")
		if strings.HasPrefix(message, `"a health check failed"`) {
			continue // this test asks often
		}
		if lines[message]++; lines[message] == most {
			t.Errorf("again and again: %s", line)
		}
	}
}

// TestDamagedAdmission starts a server on an etcd in which a policy, its binding or a configuration of webhooks is damaged. Writes are refused, and
// the answer names the key, until that is mended or deleted, which the server never refuses. Afterwards what could not be read holds.
func TestDamagedAdmission(t *testing.T) {
	t.Parallel()
	const group, maps = "/apis/admissionregistration.k8s.io/v1/", "/api/v1/namespaces/default/configmaps"
	etcd := (&rival{}).startEtcd(t)
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{etcd}})
	must(t, err)
	t.Cleanup(func() { _ = client.Close() })
	on := func(o *options.Options) { o.Etcd.Servers = []string{etcd} }
	first, stop, err := launch(on)
	must(t, err)
	about := `"resourceRules":[{"apiGroups":[""],"apiVersions":["v1"],"operations":["CREATE"],"resources":["configmaps"]}]`
	hooks := `{"metadata":{"name":"a"},"webhooks":[]}`
	objects := [][2]string{
		{"mutatingadmissionpolicies", `{"metadata":{"name":"a"},"spec":{"reinvocationPolicy":"Never","matchConstraints":{` + about + `},
"mutations":[{"patchType":"ApplyConfiguration","applyConfiguration":{"expression":"Object{metadata: Object.metadata{labels: {'a': 'b'}}}"}}]}}`},
		{"mutatingadmissionpolicybindings", `{"metadata":{"name":"a"},"spec":{"policyName":"a"}}`},
		{"mutatingwebhookconfigurations", hooks},
		{"validatingadmissionpolicies", `{"metadata":{"name":"a"},"spec":{"matchConstraints":{` + about + `},"validations":[{"expression":"object.metadata.name != 'refused'"}]}}`},
		{"validatingadmissionpolicybindings", `{"metadata":{"name":"a"},"spec":{"policyName":"a","validationActions":["Deny"]}}`},
		{"validatingwebhookconfigurations", hooks},
	}
	c := first.client(t)
	for _, o := range objects {
		if answer := c.Ask(t, "POST "+group+o[0]+"\n\n"+o[1]); !strings.HasPrefix(answer, "201") {
			t.Fatal(answer)
		}
	}
	must(t, stop())

	try := func(c *wiretest.Client, name string) string {
		return c.Ask(t, "POST "+maps+"?dryRun=All\n\n"+`{"metadata":{"name":"`+name+`"}}`)
	}
	unreadable := func(c *wiretest.Client, key string) {
		t.Helper()
		if answer := try(c, "other"); !strings.HasPrefix(answer, "403") || !strings.Contains(answer, "not yet ready to handle request: "+key+" can't be read") {
			t.Errorf("a write while %s can't be read: %s", key, answer)
		}
	}
	for _, o := range objects {
		key := o[0] + "/a"
		whole, err := client.Get(t.Context(), "/registry/"+key)
		must(t, err)
		_, err = client.Put(t.Context(), "/registry/"+key, "k8s:enc:aescbc:v1:gone:"+string(whole.Kvs[0].Value))
		must(t, err)
		r, stop, err := launch(on)
		must(t, err)
		c := r.client(t)
		unreadable(c, key)
		_, err = client.Put(t.Context(), "/registry/"+key, string(whole.Kvs[0].Value))
		must(t, err)
		until(t, key+" is read", func() bool { return strings.HasPrefix(try(c, "other"), "201") })
		if answer := try(c, "refused"); !strings.HasPrefix(answer, "422") || !strings.Contains(answer, "'a' with binding 'a' denied request") {
			t.Errorf("a write that the policy refuses, after %s was mended: %s", key, answer)
		}

		must(t, stop())
		_, err = client.Put(t.Context(), "/registry/"+key, "no object")
		must(t, err)
		r, stop, err = launch(on)
		must(t, err)
		c = r.client(t)
		unreadable(c, key)
		if answer := c.Ask(t, "DELETE "+group+key+"?ignoreStoreReadErrorWithClusterBreakingPotential=true"); !strings.HasPrefix(answer, "200") {
			t.Errorf("%s can't be deleted: %s", key, answer)
		}
		until(t, key+" is gone", func() bool { return strings.HasPrefix(try(c, "other"), "201") })
		if answer := c.Ask(t, "POST "+group+o[0]+"\n\n"+o[1]); !strings.HasPrefix(answer, "201") {
			t.Error(answer)
		}
		must(t, stop())
	}
}

// works makes objects and has controllers and roles do their work on them.
func works(t *testing.T, r *running) {
	t.Helper()
	c := r.admin(t)
	_, err := c.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "later"}}, metav1.CreateOptions{})
	must(t, err)
	configMaps := c.CoreV1().ConfigMaps("later")
	until(t, "the new namespace has what all have", func() bool {
		_, err := configMaps.Get(t.Context(), "kube-root-ca.crt", metav1.GetOptions{})
		_, err2 := c.CoreV1().ServiceAccounts("later").Get(t.Context(), "default", metav1.GetOptions{})
		return err == nil && err2 == nil
	})
	owner, err := configMaps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "owner"}}, metav1.CreateOptions{})
	must(t, err)
	_, err = configMaps.Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "dependent", OwnerReferences: []metav1.OwnerReference{
		{APIVersion: "v1", Kind: "ConfigMap", Name: owner.Name, UID: owner.UID},
	}}}, metav1.CreateOptions{})
	must(t, err)
	must(t, configMaps.Delete(t.Context(), "owner", metav1.DeleteOptions{}))
	until(t, "the dependent of a deleted owner goes", func() bool {
		_, err := configMaps.Get(t.Context(), "dependent", metav1.GetOptions{})
		return apierrors.IsNotFound(err)
	})
	binding := &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "viewers"}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "view"},
		Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: "ann"}}}
	_, err = c.RbacV1().RoleBindings("later").Create(t.Context(), binding, metav1.CreateOptions{})
	must(t, err)
	config := rest.CopyConfig(r.config)
	config.Impersonate.UserName = "ann"
	ann, err := kubernetes.NewForConfig(config)
	must(t, err)
	review := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{
		ResourceAttributes: &authorizationv1.ResourceAttributes{Namespace: "later", Verb: "list", Resource: "configmaps"},
	}}
	until(t, "a role gives a right", func() bool {
		got, err := ann.AuthorizationV1().SelfSubjectAccessReviews().Create(t.Context(), review, metav1.CreateOptions{})
		return err == nil && got.Status.Allowed
	})
}

// mend puts back what was there.
func (d *damagedEtcd) mend(t *testing.T, keys ...string) {
	t.Helper()
	for _, key := range keys {
		_, err := d.client.Put(t.Context(), key, d.whole[key])
		must(t, err)
	}
}
