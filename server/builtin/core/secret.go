package core

import (
	"crypto/tls"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kx-apiserver/kx/server/builtin"
)

// Secret is the resource secrets: small confidential data.
//
// Defaulting moves stringData into data before any other code reads the object: rest and store never see stringData.
var Secret = builtin.Resource[*corev1.Secret]{
	Names:          builtin.Names{Plural: "secrets", Singular: "secret"},
	List:           &corev1.SecretList{},
	Stored:         corev1.SchemeGroupVersion,
	Default:        setSecretDefaults,
	Fields:         []builtin.Field[*corev1.Secret]{{Label: "type", Value: func(s *corev1.Secret) string { return string(s.Type) }}},
	PrepareUpdate:  keepType,
	Validate:       validateSecret,
	ValidateUpdate: validateSecretUpdate,
	Warnings:       secretWarnings,
	Sample: `
type: Opaque
stringData: {key: value}`,
	Columns: []builtin.Column{
		builtin.NameColumn,
		{Name: "Type", Type: "string", Description: corev1.Secret{}.SwaggerDoc()["type"]},
		{Name: "Data", Type: "string", Description: corev1.Secret{}.SwaggerDoc()["data"]},
		builtin.AgeColumn,
	},
	Row: func(s *corev1.Secret) metav1.TableRow {
		return builtin.Row(s.Name, string(s.Type), int64(len(s.Data)), builtin.Age(s.CreationTimestamp))
	},
}

func setSecretDefaults(s *corev1.Secret) {
	if s.Type == "" {
		s.Type = corev1.SecretTypeOpaque
	}
	if len(s.StringData) == 0 {
		s.StringData = nil
		return
	}
	if s.Data == nil {
		s.Data = make(map[string][]byte, len(s.StringData))
	}
	for k, v := range s.StringData {
		s.Data[k] = []byte(v)
	}
	s.StringData = nil
}

// secretWarnings reports a certificate and a key that do not match, or that cannot be parsed.
func secretWarnings(s, _ *corev1.Secret) []string {
	if s.Type != corev1.SecretTypeTLS {
		return nil
	}
	if _, err := tls.X509KeyPair(s.Data[corev1.TLSCertKey], s.Data[corev1.TLSPrivateKeyKey]); err != nil {
		return []string{err.Error()}
	}
	return nil
}

// keepType keeps the stored type if the client leaves it out.
func keepType(s, old *corev1.Secret) {
	if s.Type == "" {
		s.Type = old.Type
	}
}
