package registry

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	clientv3 "go.etcd.io/etcd/client/v3"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/store"
	"github.com/kx-apiserver/kx/store/embedded/embedtest"
)

func TestCreateFillsInWhatIsTheServers(t *testing.T) {
	e, ctx := newStore(t, newStrategy()), inNamespace(t, "ns")
	sent := pod("a")
	sent.UID = "mine"
	sent.SetSelfLink("/mine")
	sent.CreationTimestamp = metav1.Unix(1, 0)
	sent.DeletionTimestamp, sent.DeletionGracePeriodSeconds = p(metav1.Unix(2, 0)), p(int64(3))
	sent.Generation = 7
	got := mustCreate(t, ctx, e, sent)
	if got.Namespace != "ns" || got.UID == "" || got.UID == "mine" || got.CreationTimestamp.Unix() <= 1 || got.GetSelfLink() != "" ||
		got.DeletionTimestamp != nil || got.DeletionGracePeriodSeconds != nil || got.Generation != 1 || got.ResourceVersion == "" {
		t.Errorf("got %+v", got.ObjectMeta)
	}
	if diff := cmp.Diff(mustGet(t, ctx, e, "a"), got); diff != "" {
		t.Errorf("what Create returns is not what Get returns: %s", diff)
	}
}

func TestCreateErrors(t *testing.T) {
	e, ctx := newStore(t, newStrategy()), inNamespace(t, "ns")
	mustCreate(t, ctx, e, pod("taken"))
	mustCreate(t, ctx, e, pod("going", finalizers("kx.dev/wait")))
	if _, now, err := del(ctx, e, "going", &metav1.DeleteOptions{}); now || err != nil {
		t.Fatal(now, err)
	}
	tests := []struct {
		name    string
		pod     *corev1.Pod
		code    int32
		reason  metav1.StatusReason
		message string
		causes  []metav1.StatusCause
	}{
		{"another namespace", pod("a", func(p *corev1.Pod) { p.Namespace = "other" }), 400, metav1.StatusReasonBadRequest,
			"the namespace of the provided object does not match the namespace sent on the request", nil},
		{"no name", pod(""), 422, metav1.StatusReasonInvalid,
			`Pod "" is invalid: metadata.name: Required value: name or generateName is required`,
			[]metav1.StatusCause{{Type: "FieldValueRequired", Message: "Required value: name or generateName is required", Field: "metadata.name"}}},
		{"refused by the strategy", pod("a", func(p *corev1.Pod) { p.Spec.Hostname = "bad"; p.Labels = map[string]string{"-": ""} }), 422, metav1.StatusReasonInvalid,
			`Pod "a" is invalid: spec.hostname: Invalid value: "bad": is bad`,
			[]metav1.StatusCause{{Type: "FieldValueInvalid", Message: `Invalid value: "bad": is bad`, Field: "spec.hostname"}}},
		{"a name that is two", pod("a/b"), 422, metav1.StatusReasonInvalid,
			`Pod "a/b" is invalid: metadata.name: Invalid value: "a/b": may not contain '/'`,
			[]metav1.StatusCause{{Type: "FieldValueInvalid", Message: `Invalid value: "a/b": may not contain '/'`, Field: "metadata.name"}}},
		{"taken", pod("taken"), 409, metav1.StatusReasonAlreadyExists, `pods "taken" already exists`, nil},
		{"taken, but going", pod("going"), 409, metav1.StatusReasonAlreadyExists, `object is being deleted: pods "going" already exists`, nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, dryRun := range [][]string{nil, {metav1.DryRunAll}} {
				_, err := e.Create(ctx, tt.pod.DeepCopy(), nil, &metav1.CreateOptions{DryRun: dryRun})
				s := wantStatus(t, err, tt.code, tt.reason, tt.message)
				if tt.causes != nil {
					if diff := cmp.Diff(tt.causes, s.Details.Causes); diff != "" {
						t.Error(diff)
					}
				}
			}
		})
	}
}

// TestCreateWithResourceVersion: only the storage minds, and a dry run does not ask it to write.
func TestCreateWithResourceVersion(t *testing.T) {
	e, ctx := newStore(t, newStrategy()), inNamespace(t, "ns")
	sent := pod("a", func(p *corev1.Pod) { p.ResourceVersion = "5" })
	if _, err := e.Create(ctx, sent.DeepCopy(), nil, &metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}); err != nil {
		t.Errorf("dry run: got %v", err)
	}
	if _, err := e.Create(ctx, sent, nil, &metav1.CreateOptions{}); !errors.Is(err, store.ErrResourceVersionSetOnCreate) {
		t.Errorf("got %v", err)
	}
}

func TestCreateValidatesMetadata(t *testing.T) {
	e, ctx := newStore(t, newStrategy()), inNamespace(t, "ns")
	owner := metav1.OwnerReference{APIVersion: "v1", Kind: "Pod", Name: "o"}
	for field, change := range map[string]func(*corev1.Pod){
		"metadata.labels":                 func(p *corev1.Pod) { p.Labels = map[string]string{"-": ""} },
		"metadata.annotations":            func(p *corev1.Pod) { p.Annotations = map[string]string{"-": ""} },
		"metadata.finalizers":             func(p *corev1.Pod) { p.Finalizers = []string{"A b"} },
		"metadata.ownerReferences[0].uid": func(p *corev1.Pod) { p.OwnerReferences = []metav1.OwnerReference{owner} },
		"metadata.generateName":           func(p *corev1.Pod) { p.GenerateName = "a/" },
	} {
		_, err := e.Create(ctx, pod("a", change), nil, &metav1.CreateOptions{})
		var api apierrors.APIStatus
		if !errors.As(err, &api) || !apierrors.IsInvalid(err) || api.Status().Details.Causes[0].Field != field {
			t.Errorf("%s: got %v", field, err)
		}
	}
	wantGone(t, ctx, e, "a")
}

func TestCreateStagesInOrder(t *testing.T) {
	s := newStrategy()
	e, ctx := newStore(t, s, func(e *Store) {
		e.BeginCreate = func(_ context.Context, obj runtime.Object, _ *metav1.CreateOptions) (FinishFunc, error) {
			if obj.(*corev1.Pod).UID == "" {
				t.Error("BeginCreate came before the system fields")
			}
			s.happened.add("BeginCreate")
			return func(_ context.Context, success bool) {
				s.happened.add(map[bool]string{true: "finish", false: "revert"}[success])
			}, nil
		}
		e.AfterCreate = func(runtime.Object, *metav1.CreateOptions) { s.happened.add("AfterCreate") }
		e.Decorator = func(obj runtime.Object) {
			s.happened.add("Decorator")
			obj.(*corev1.Pod).Status.Message = "decorated"
		}
	}), inNamespace(t, "ns")
	admit := func(_ context.Context, obj runtime.Object) error {
		s.happened.add("admission")
		if obj.(*corev1.Pod).Spec.NodeName == "refused" {
			return apierrors.NewForbidden(pods, "a", errors.New("not there"))
		}
		return nil
	}

	out, err := e.Create(ctx, pod("a"), admit, &metav1.CreateOptions{})
	if err != nil || out.(*corev1.Pod).Status.Message != "decorated" {
		t.Fatal(out, err)
	}
	begin := []string{"BeginCreate", "PrepareForCreate", "Validate"}
	valid := append(slices.Clone(begin), "WarningsOnCreate", "Canonicalize", "admission")
	if diff := cmp.Diff(append(slices.Clone(valid), "finish", "AfterCreate", "Decorator"), s.happened.take()); diff != "" {
		t.Error(diff)
	}
	for name, tt := range map[string]struct {
		pod  *corev1.Pod
		want []string
	}{
		"invalid": {pod("b", func(p *corev1.Pod) { p.Spec.Hostname = "bad" }), append(slices.Clone(begin), "revert")},
		"refused": {pod("b", onNode("refused")), append(slices.Clone(valid), "revert")},
		"taken":   {pod("a"), append(slices.Clone(valid), "revert")},
	} {
		if _, err := e.Create(ctx, tt.pod, admit, &metav1.CreateOptions{}); err == nil {
			t.Errorf("%s: no error", name)
		}
		if diff := cmp.Diff(tt.want, s.happened.take()); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func TestCreateGeneratesNames(t *testing.T) {
	e, ctx := newStore(t, newStrategy()), inNamespace(t, "ns")
	long := strings.Repeat("a", 63)
	for base, want := range map[string]string{
		"web-": `^web-[bcdfghjklmnpqrstvwxz2456789]{5}$`,
		long:   `^a{58}[bcdfghjklmnpqrstvwxz2456789]{5}$`,
	} {
		got := mustCreate(t, ctx, e, pod("", func(p *corev1.Pod) { p.GenerateName = base }))
		if !regexp.MustCompile(want).MatchString(got.Name) || got.GenerateName != base {
			t.Errorf("%s: got name %q of generateName %q", base, got.Name, got.GenerateName)
		}
	}
}

// fixedNames generates names from a list.
type fixedNames struct{ names []string }

func (f *fixedNames) GenerateName(string) string {
	name := f.names[0]
	f.names = f.names[1:]
	return name
}

func TestCreateTriesAnotherGeneratedName(t *testing.T) {
	s := newStrategy()
	e, ctx := newStore(t, s), inNamespace(t, "ns")
	mustCreate(t, ctx, e, pod("taken"))
	generated := pod("", func(p *corev1.Pod) { p.GenerateName = "x" })

	s.NameGenerator = &fixedNames{names: []string{"taken", "taken", "free"}}
	if got := mustCreate(t, ctx, e, generated); got.Name != "free" {
		t.Errorf("got %q", got.Name)
	}
	names := &fixedNames{names: slices.Repeat([]string{"taken"}, 9)}
	s.NameGenerator = names
	_, err := e.Create(ctx, generated, nil, &metav1.CreateOptions{})
	status := wantStatus(t, err, 409, metav1.StatusReasonAlreadyExists,
		`pods "taken" already exists, the server was not able to generate a unique name for the object`)
	if status.Details.RetryAfterSeconds != 1 || len(names.names) != 1 {
		t.Errorf("retry after %d s, %d names left over", status.Details.RetryAfterSeconds, len(names.names))
	}
}

func TestCreateInNoNamespace(t *testing.T) {
	e := newStore(t, newStrategy())
	_, err := e.Create(inNamespace(t, ""), pod("a"), nil, &metav1.CreateOptions{})
	wantStatus(t, err, 422, metav1.StatusReasonInvalid, `Pod "a" is invalid: metadata.namespace: Required value`)
	_, err = e.Create(t.Context(), pod("a"), nil, &metav1.CreateOptions{})
	wantStatus(t, err, 500, metav1.StatusReasonInternalError, "Internal error occurred: no namespace information found in request context")

	s := newStrategy()
	s.clusterScoped = true
	c := newStore(t, s)
	if got := mustCreate(t, inNamespace(t, ""), c, pod("a", func(p *corev1.Pod) { p.Namespace = "dropped" })); got.Namespace != "" {
		t.Errorf("got namespace %q", got.Namespace)
	}
}

func TestCreateDryRunWritesNothing(t *testing.T) {
	s := newStrategy()
	e, ctx := newStore(t, s), inNamespace(t, "ns")
	out, err := e.Create(ctx, pod("a"), rest.ValidateAllObjectFunc, &metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	if err != nil {
		t.Fatal(err)
	}
	if got := out.(*corev1.Pod); got.Name != "a" || got.UID == "" || got.ResourceVersion != "" {
		t.Errorf("got %+v", got.ObjectMeta)
	}
	if !slices.Contains(s.happened.take(), "Validate") {
		t.Error("a dry run is to go through validation")
	}
	wantGone(t, ctx, e, "a")
}

// TestTTL also shows that an update gives an object its whole TTL once more, since etcd3 does not know what it had left.
func TestTTL(t *testing.T) {
	var asked []string
	options := restOptions(t)
	e, ctx := newStoreWith(t, newStrategy(), options, func(e *Store) {
		e.TTLFunc = func(obj runtime.Object, existing uint64, update bool) (uint64, error) {
			asked = append(asked, fmt.Sprint(obj.(*corev1.Pod).Name, " had ", existing, " update ", update))
			if obj.(*corev1.Pod).Spec.NodeName == "fails" {
				return 0, errors.New("no ttl for this")
			}
			return 3600, nil
		}
	}), inNamespace(t, "ns")
	created := mustCreate(t, ctx, e, pod("a"))
	created.Labels = map[string]string{"a": "b"}
	mustPut(t, ctx, e, created)
	if _, err := e.Create(ctx, pod("b", onNode("fails")), nil, &metav1.CreateOptions{}); err == nil || err.Error() != "no ttl for this" {
		t.Errorf("got %v", err)
	}
	if diff := cmp.Diff([]string{"a had 0 update false", "a had 0 update true", "b had 0 update false"}, asked); diff != "" {
		t.Error(diff)
	}
	client := embedtest.Shared(t).Client()
	defer func() { _ = client.Close() }()
	got, err := client.Get(ctx, options.StorageConfig.Prefix+"/pods/ns/a")
	if err != nil || len(got.Kvs) != 1 || got.Kvs[0].Lease == 0 {
		t.Fatalf("stored without a lease: %v, %v", got, err)
	}
	if lease, err := client.TimeToLive(ctx, clientv3.LeaseID(got.Kvs[0].Lease)); err != nil || lease.GrantedTTL < 3600 {
		t.Errorf("after the update: %+v, %v, want the whole TTL", lease, err)
	}
}
