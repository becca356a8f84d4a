package kxapi

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kx-apiserver/kx/core/escape"
	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/core/mask"
	"github.com/kx-apiserver/kx/store/admin"
)

// valueOf converts the value of a key for clients: decrypted, decoded and masked.
func (e *Etcd) valueOf(kv *admin.KV) *v1alpha1.KeyValue {
	out := &v1alpha1.KeyValue{}
	v, err := e.Decoder.Decode(kv.Key, kv.Value)
	secret := e.isSecret(kv.Key, v)
	if err != nil {
		out.Error = errorText(err, secret)
	}
	encrypted := admin.IsEncrypted(kv.Value)
	if v != nil {
		out.Format, out.Encryption = string(v.Format), v.Encryption
	}
	switch {
	case v == nil || v.Object == nil:
		if v != nil && v.Format == admin.Text && !secret && utf8.Valid(v.Plain) {
			out.Text = string(v.Plain)
		}
	case secret:
		// Masked as in journeys. Another kind of value at a Secret's key is not shown at all.
		if isSecretKind(v) {
			out.Object = &runtime.RawExtension{Raw: mask.Object(&unstructured.Unstructured{Object: v.Object}, true)}
		}
	default:
		data, found, err := maskedJSON(v.Object)
		if err != nil {
			out.Error = errorText(err, false)
			break
		}
		out.Object = &runtime.RawExtension{Raw: data}
		secret = found
	}
	if out.Masked = secret; !secret || encrypted {
		out.Raw = kv.Value
	}
	return out
}

// maskedJSON returns an object's JSON with its secrets masked, and whether it has any.
func maskedJSON(object map[string]any) (data []byte, found bool, err error) {
	whole, err := json.Marshal(object)
	if err != nil {
		return nil, false, err
	}
	data, err = mask.JSON(whole, false)
	return data, !bytes.Equal(data, whole), err
}

// errorText explains to clients why a value can't be read.
func errorText(err error, secret bool) string {
	if secret {
		return mask.Error(err)
	}
	return escape.Line(err.Error())
}

// isSecret reports whether to mask a value, by its key or by its kind. v is nil if the value can't be read.
func (e *Etcd) isSecret(key string, v *admin.Value) bool {
	if path, _, ok := admin.SplitKey(e.Decoder.Prefix, key); ok && path == "secrets" {
		return true
	}
	return v != nil && isSecretKind(v)
}

func isSecretKind(v *admin.Value) bool {
	return v.Kind == corev1.SchemeGroupVersion.WithKind("Secret")
}
