package etcd3

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kx-apiserver/kx/core/object"
	"github.com/kx-apiserver/kx/core/steps"
	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/store/transform"
)

// authenticatedDataString is an etcd key as a transformer sees it. Only a transformer that asks for the data copies it.
type authenticatedDataString string

func (d authenticatedDataString) AuthenticatedData() []byte { return []byte(d) }

var storedWithOldKey = trace.Because("stored-with-old-key",
	"stored in a form that is no longer written: the next update writes it anew",
	"存储的格式已不再使用：下次更新会重新写入")

// transformFromStorage decrypts a stored value into the encoded object.
func (s *store) transformFromStorage(ctx context.Context, key string, value []byte, dataCtx transform.Context) (data []byte, stale bool,
	err error) {
	ctx, step := trace.Start(ctx, steps.TransformFromStorage, key)
	defer step.End(&err)
	data, stale, err = s.transformer.TransformFromStorage(ctx, value, dataCtx)
	step.Int("bytesIn", int64(len(value)))
	step.Int("bytesOut", int64(len(data)))
	if err != nil {
		return nil, false, transformError(key, err)
	}
	if stale {
		step.Why(storedWithOldKey)
	}
	return data, stale, nil
}

// transformToStorage encrypts an encoded object into the value to store.
func (s *store) transformToStorage(ctx context.Context, key string, data []byte) (value []byte, err error) {
	ctx, step := trace.Start(ctx, steps.TransformToStorage, key)
	defer step.End(&err)
	value, err = s.transformer.TransformToStorage(ctx, data, authenticatedDataString(key))
	step.Int("bytesIn", int64(len(data)))
	step.Int("bytesOut", int64(len(value)))
	return value, err
}

// encode makes the bytes to store of obj, which PrepareObjectForStorage has been called with.
func (s *store) encode(ctx context.Context, key string, obj runtime.Object) (data []byte, err error) {
	_, step := trace.Start(ctx, steps.Etcd3Encode, key)
	defer step.End(&err)
	step.Before(obj)
	data, err = runtime.Encode(s.codec, obj)
	step.Int("bytes", int64(len(data)))
	return data, err
}

var decodeSpared = trace.Because("decode-spared",
	"not decoded: the answer can be made of the bytes",
	"不解码：响应可以直接用这些字节")

// decode fills out with the object that data is, at the revision of its last change. An object.Encoded has the bytes,
// and stays as it is.
func (s *store) decode(ctx context.Context, key string, data []byte, out runtime.Object, revision int64) (err error) {
	_, step := trace.Start(ctx, steps.Etcd3Decode, key)
	defer step.End(&err)
	step.Int("bytes", int64(len(data)))
	step.Int("resourceVersion", revision)
	if encoded, ok := out.(*object.Encoded); ok {
		step.Why(decodeSpared)
		step.After(encoded)
		return nil
	}
	if err := s.decoder.Decode(data, out, revision); err != nil {
		s.metrics.DecodeError()
		return decodeError(key, err)
	}
	step.After(out)
	return nil
}
