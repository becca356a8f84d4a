//go:build linux

package torture

import (
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/kx-apiserver/kx/server/testdata/torture/history"
)

// registry is what keys in etcd begin with.
const registry = "/registry/"

// kind is a resource whose objects hold one value.
type kind struct {
	resource schema.GroupVersionResource
	name     string
	// prefix is that of its keys in histories: etcd's without registry.
	prefix string
	// field holds the value.
	field []string
	// unconditional is whether an update needs no resourceVersion.
	unconditional bool
	// encrypted is whether etcd has it encrypted in the rounds that encrypt.
	encrypted bool
}

var (
	configMaps = kind{corev1.SchemeGroupVersion.WithResource("configmaps"), "ConfigMap", "configmaps/", []string{"data", "v"}, true, false}
	secrets    = kind{corev1.SchemeGroupVersion.WithResource("secrets"), "Secret", "secrets/", []string{"data", "v"}, true, true}
	widgets    = kind{schema.GroupVersionResource{Group: "torture.kx.dev", Version: "v1", Resource: "widgets"}, "Widget",
		"torture.kx.dev/widgets/", []string{"spec", "v"}, false, true}

	kinds = []kind{configMaps, secrets, widgets}
)

// object is one of the kind with a value.
func (k kind) object(ns, name, value string) *unstructured.Unstructured {
	u := &unstructured.Unstructured{Object: map[string]any{}}
	u.SetGroupVersionKind(k.resource.GroupVersion().WithKind(k.name))
	u.SetNamespace(ns)
	u.SetName(name)
	u.SetLabels(map[string]string{"color": history.Color(value)})
	if k.name == "Secret" {
		value = base64.StdEncoding.EncodeToString([]byte(value))
	}
	_ = unstructured.SetNestedField(u.Object, value, k.field...)
	return u
}

// seen is what a client or etcd says of an object.
func (k kind) seen(obj runtime.Object) (history.Object, error) {
	m, ok := obj.(metav1.Object)
	if !ok {
		return history.Object{}, fmt.Errorf("%T is no object", obj)
	}
	o := history.Object{Key: k.key(m.GetNamespace(), m.GetName())}
	if rv := m.GetResourceVersion(); rv != "" {
		var err error
		if o.Revision, err = strconv.ParseInt(rv, 10, 64); err != nil {
			return o, err
		}
	}
	switch obj := obj.(type) {
	case *corev1.ConfigMap:
		o.Value = obj.Data["v"]
	case *corev1.Secret:
		o.Value = string(obj.Data["v"])
	case *unstructured.Unstructured:
		o.Value, _, _ = unstructured.NestedString(obj.Object, k.field...)
		if k.name == "Secret" {
			value, err := base64.StdEncoding.DecodeString(o.Value)
			if err != nil {
				return o, err
			}
			o.Value = string(value)
		}
	default:
		return o, fmt.Errorf("%T is of no known kind", obj)
	}
	return o, nil
}

func (k kind) key(ns, name string) string { return k.prefix + ns + "/" + name }

// has is whether a key of histories is one of the kind.
func (k kind) has(key string) bool { return strings.HasPrefix(key, k.prefix) }

// stored decodes what etcd has at a key; ok is whether it is of a kind that is watched here.
func stored(key string, value []byte, encryption *encryption) (o history.Object, ok bool, err error) {
	full, key := key, strings.TrimPrefix(key, registry)
	for _, k := range kinds {
		if !k.has(key) {
			continue
		}
		if len(value) == 0 {
			return history.Object{Key: key}, true, nil
		}
		if encryption != nil && k.encrypted {
			if value, err = encryption.open(full, value); err != nil {
				return o, true, err
			}
		}
		var obj runtime.Object
		if k.resource.Group == widgets.resource.Group {
			u := &unstructured.Unstructured{}
			err, obj = u.UnmarshalJSON(value), u
		} else {
			obj, _, err = scheme.Codecs.UniversalDeserializer().Decode(value, nil, nil)
		}
		if err != nil {
			return o, true, fmt.Errorf("decode %s: %w", key, err)
		}
		o, err = k.seen(obj)
		return o, true, err
	}
	return o, false, nil
}
