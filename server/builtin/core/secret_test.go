package core

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"

	"github.com/kx-apiserver/kx/server/builtin"
)

var (
	secretDeclaration = builtin.Declare(Secret)

	secretRules, secretTables, secretAttrs = secretDeclaration.Strategy(), secretDeclaration.Table(), secretDeclaration.Attrs()
)

func secretValid() *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "s", Namespace: "default", ResourceVersion: "1"},
		Type:       corev1.SecretTypeOpaque,
		Data:       map[string][]byte{"k": []byte("v")},
	}
}

func TestSecretValidate(t *testing.T) {
	for name, tc := range map[string]struct {
		kind corev1.SecretType
		data map[string][]byte
		want []string
	}{
		"opaque":      {corev1.SecretTypeOpaque, nil, nil},
		"own type":    {"example.com/x", nil, nil},
		"key":         {corev1.SecretTypeOpaque, map[string][]byte{".": nil}, []string{`data[.]: Invalid value: ".": must not be '.'`}},
		"too large":   {corev1.SecretTypeOpaque, map[string][]byte{"k": []byte(strings.Repeat("x", corev1.MaxSecretSize+1))}, []string{`data: Too long: may not be more than 1048576 bytes`}},
		"token":       {corev1.SecretTypeServiceAccountToken, nil, []string{`metadata.annotations[kubernetes.io/service-account.name]: Required value`}},
		"dockercfg":   {corev1.SecretTypeDockercfg, nil, []string{`data[.dockercfg]: Required value`}},
		"bad json":    {corev1.SecretTypeDockerConfigJson, map[string][]byte{".dockerconfigjson": []byte("hunter2")}, []string{`data[.dockerconfigjson]: Invalid value: "<secret contents redacted>": invalid character 'h' looking for beginning of value`}},
		"json":        {corev1.SecretTypeDockerConfigJson, map[string][]byte{".dockerconfigjson": []byte("{}")}, nil},
		"basic":       {corev1.SecretTypeBasicAuth, nil, []string{`data[username]: Required value`, `data[password]: Required value`}},
		"basic, half": {corev1.SecretTypeBasicAuth, map[string][]byte{"password": nil}, nil},
		"ssh":         {corev1.SecretTypeSSHAuth, map[string][]byte{"ssh-privatekey": nil}, []string{`data[ssh-privatekey]: Required value`}},
		"tls":         {corev1.SecretTypeTLS, map[string][]byte{"tls.crt": nil}, []string{`data[tls.key]: Required value`}},
	} {
		t.Run(name, func(t *testing.T) {
			s := secretValid()
			s.Type, s.Data = tc.kind, tc.data
			if diff := cmp.Diff(tc.want, messages(secretRules.Validate(context.Background(), s))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestSecretValidateUpdate(t *testing.T) {
	const immutableMsg = "field is immutable when `immutable` is set"
	for name, tc := range map[string]struct {
		old, change func(*corev1.Secret)
		want        []string
	}{
		"data": {func(*corev1.Secret) {}, func(s *corev1.Secret) { s.Data["k"] = nil }, nil},
		"type": {func(*corev1.Secret) {}, func(s *corev1.Secret) { s.Type = "example.com/x" },
			[]string{`type: Invalid value: "example.com/x": field is immutable`}},
		"immutable": {func(s *corev1.Secret) { s.Immutable = new(true) }, func(s *corev1.Secret) { s.Data = nil },
			[]string{`immutable: Forbidden: ` + immutableMsg, `data: Forbidden: ` + immutableMsg}},
	} {
		t.Run(name, func(t *testing.T) {
			s, old := secretValid(), secretValid()
			tc.old(old)
			tc.change(s)
			if diff := cmp.Diff(tc.want, messages(secretRules.ValidateUpdate(context.Background(), s, old))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestPrepareForUpdateKeepsType(t *testing.T) {
	s, old := secretValid(), secretValid()
	s.Type, old.Type = "", corev1.SecretTypeTLS
	secretRules.PrepareForUpdate(context.Background(), s, old)
	if s.Type != corev1.SecretTypeTLS {
		t.Errorf("type %q", s.Type)
	}
}

func TestSecretDefaults(t *testing.T) {
	for name, tc := range map[string]struct{ in, want corev1.Secret }{
		"type":       {corev1.Secret{}, corev1.Secret{Type: "Opaque"}},
		"other type": {corev1.Secret{Type: "x"}, corev1.Secret{Type: "x"}},
		"stringData alone": {corev1.Secret{StringData: map[string]string{"a": "1"}},
			corev1.Secret{Type: "Opaque", Data: map[string][]byte{"a": []byte("1")}}},
		"stringData wins": {
			corev1.Secret{Data: map[string][]byte{"a": []byte("0"), "b": []byte("2")}, StringData: map[string]string{"a": "1"}},
			corev1.Secret{Type: "Opaque", Data: map[string][]byte{"a": []byte("1"), "b": []byte("2")}}},
	} {
		setSecretDefaults(&tc.in)
		if diff := cmp.Diff(tc.want, tc.in); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
}

func TestSecretAttrs(t *testing.T) {
	s := secretValid()
	s.Labels = map[string]string{"a": "b"}
	l, f, err := secretAttrs(s)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(fields.Set{"metadata.name": "s", "metadata.namespace": "default", "type": "Opaque"}, f); diff != "" || l["a"] != "b" {
		t.Error(diff, l)
	}
	if _, _, err := secretAttrs(&corev1.Pod{}); err == nil || err.Error() != "not a *v1.Secret: *v1.Pod" {
		t.Errorf("of a pod: %v", err)
	}
}

func TestSecretTable(t *testing.T) {
	s := secretValid()
	s.CreationTimestamp = metav1.NewTime(time.Now().Add(-25*time.Hour - time.Second))
	got, err := secretTables.ConvertToTable(context.Background(), s, nil)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]any{"s", "Opaque", int64(1), "25h"}, got.Rows[0].Cells); diff != "" {
		t.Error(diff)
	}
}
