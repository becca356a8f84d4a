package admin

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func FuzzDecode(f *testing.F) {
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "web", Labels: map[string]string{"a": "b"}}, Spec: corev1.PodSpec{NodeName: "n"}}
	whole := protobufOf(f, podKind, pod)
	f.Add(whole)
	f.Add(whole[:len(whole)/2])
	f.Add([]byte(`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web"}}`))
	f.Add([]byte("\xd9\xd9\xf7\xa2\x4aapiVersion\x42v1\x44kind\x43Pod"))
	f.Add([]byte("k8s:enc:aescbc:v1:two:0123456789abcdef0123456789abcdef"))
	f.Add([]byte("k8s:enc:"))
	d := &Decoder{Prefix: DefaultPrefix, Encryption: encryptionConfig(f, "aescbc two", "identity")}
	f.Fuzz(func(t *testing.T, value []byte) {
		for _, key := range []string{"/registry/pods/default/web", secretKey, "/registry/example.com/pandas/a", "compact_rev_key"} {
			v, err := d.Decode(key, value)
			if err == nil {
				_ = v.Metadata()
				_, jsonErr := v.JSON()
				_, yamlErr := v.YAML()
				if jsonErr != nil || yamlErr != nil {
					t.Errorf("%s is decoded and can't be shown: %v, %v", key, jsonErr, yamlErr)
				}
			}
			_, _ = d.Metadata(key, value)
		}
	})
}

func FuzzRecord(f *testing.F) {
	f.Add([]byte("\x0a\x03key\x10\x02\x18\x03\x20\x01\x2a\x05value\x30\x07"))
	f.Add([]byte("\x0a\x80"))
	f.Fuzz(func(_ *testing.T, data []byte) { _, _ = parseRecord(data) })
}
