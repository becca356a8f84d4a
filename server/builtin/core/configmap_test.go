package core

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kx-apiserver/kx/server/builtin"
)

var (
	configMapDeclaration = builtin.Declare(ConfigMap)

	configMapRules, configMapTables = configMapDeclaration.Strategy(), configMapDeclaration.Table()
)

func configMapValid() *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Name: "app", Namespace: "default", ResourceVersion: "1"},
		Data:       map[string]string{"k": "v"},
	}
}

func messages(errs field.ErrorList) []string {
	var all []string
	for _, err := range errs {
		all = append(all, err.Error())
	}
	return all
}

func TestConfigMapValidate(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(*corev1.ConfigMap)
		want   []string
	}{
		"valid": {func(*corev1.ConfigMap) {}, nil},
		"name": {func(cm *corev1.ConfigMap) { cm.Name = "No_Good" }, []string{
			`metadata.name: Invalid value: "No_Good": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`,
		}},
		"no namespace": {func(cm *corev1.ConfigMap) { cm.Namespace = "" }, []string{`metadata.namespace: Required value`}},
		"finalizer": {func(cm *corev1.ConfigMap) { cm.Finalizers = []string{"mine"} }, []string{
			`metadata.finalizers[0]: Invalid value: "mine": name is neither a standard finalizer name nor is it fully qualified`,
		}},
		"known finalizer": {func(cm *corev1.ConfigMap) { cm.Finalizers = []string{"orphan", "example.com/x"} }, nil},
		"key": {func(cm *corev1.ConfigMap) { cm.Data = map[string]string{"a b": ""} }, []string{
			`data[a b]: Invalid value: "a b": a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')`,
		}},
		"dot": {func(cm *corev1.ConfigMap) { cm.BinaryData = map[string][]byte{"..": nil} }, []string{
			`binaryData[..]: Invalid value: "..": must not be '..'`,
		}},
		"key in both": {func(cm *corev1.ConfigMap) { cm.BinaryData = map[string][]byte{"k": nil} }, []string{
			`data[k]: Invalid value: "k": duplicate of key present in binaryData`,
		}},
		"too large": {func(cm *corev1.ConfigMap) {
			cm.Data["k"] = strings.Repeat("x", corev1.MaxSecretSize)
			cm.BinaryData = map[string][]byte{"b": {1}}
		}, []string{`[]: Too long: may not be more than 1048576 bytes`}},
		"just not too large": {func(cm *corev1.ConfigMap) { cm.Data["k"] = strings.Repeat("x", corev1.MaxSecretSize) }, nil},
	} {
		t.Run(name, func(t *testing.T) {
			cm := configMapValid()
			tc.change(cm)
			if diff := cmp.Diff(tc.want, messages(configMapRules.Validate(context.Background(), cm))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestConfigMapValidateUpdate(t *testing.T) {
	immutable := func(cm *corev1.ConfigMap) { cm.Immutable = new(true) }
	const immutableMsg = "field is immutable when `immutable` is set"
	for name, tc := range map[string]struct {
		old, change func(*corev1.ConfigMap)
		want        []string
	}{
		"data": {func(*corev1.ConfigMap) {}, func(cm *corev1.ConfigMap) { cm.Data["k"] = "w" }, nil},
		"immutable, unchanged data": {immutable, func(cm *corev1.ConfigMap) {
			immutable(cm)
			cm.Labels = map[string]string{"a": "b"}
		}, nil},
		"immutable taken away": {immutable, func(*corev1.ConfigMap) {}, []string{`immutable: Forbidden: ` + immutableMsg}},
		"immutable, data": {immutable, func(cm *corev1.ConfigMap) {
			immutable(cm)
			cm.Data["k"] = "w"
		}, []string{`data: Forbidden: ` + immutableMsg}},
		"immutable, binaryData": {immutable, func(cm *corev1.ConfigMap) {
			immutable(cm)
			cm.BinaryData = map[string][]byte{"x": {1}}
		}, []string{`binaryData: Forbidden: ` + immutableMsg}},
		"made immutable": {func(*corev1.ConfigMap) {}, immutable, nil},
		"finalizer": {func(*corev1.ConfigMap) {}, func(cm *corev1.ConfigMap) { cm.Finalizers = []string{"mine"} }, []string{
			// The rule is asked as of a new object and as of a changed one. The answer to a client has it once.
			`metadata.finalizers[0]: Invalid value: "mine": name is neither a standard finalizer name nor is it fully qualified`,
			`metadata.finalizers[0]: Invalid value: "mine": name is neither a standard finalizer name nor is it fully qualified`}},
	} {
		t.Run(name, func(t *testing.T) {
			cm, old := configMapValid(), configMapValid()
			tc.old(old)
			tc.change(cm)
			if diff := cmp.Diff(tc.want, messages(configMapRules.ValidateUpdate(context.Background(), cm, old))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestConfigMapDefaults(t *testing.T) {
	cm := &corev1.ConfigMap{}
	setConfigMapDefaults(cm)
	if cm.Data == nil {
		t.Error("data is nil")
	}
}

func TestConfigMapTable(t *testing.T) {
	cm := configMapValid()
	cm.BinaryData = map[string][]byte{"x": nil, "y": nil}
	cm.CreationTimestamp = metav1.NewTime(time.Now().Add(-5*time.Minute - time.Second))
	got, err := configMapTables.ConvertToTable(context.Background(), cm, nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]any{"app", int64(3), "5m1s"}, got.Rows[0].Cells); diff != "" {
		t.Error(diff)
	}
	if got.ResourceVersion != "1" {
		t.Errorf("resourceVersion %q", got.ResourceVersion)
	}
}
