package etcd3

import (
	"fmt"

	"k8s.io/apimachinery/pkg/conversion"
	"k8s.io/apimachinery/pkg/runtime"

	storage "github.com/kx-apiserver/kx/store"
)

// Decoder decodes the bytes that a transformer returned.
type Decoder interface {
	// Decode fills objPtr with the object that value is, and sets its resourceVersion to rev.
	Decode(value []byte, objPtr runtime.Object, rev int64) error
}

// NewDefaultDecoder returns the Decoder that is made of a codec and a versioner.
func NewDefaultDecoder(codec runtime.Codec, versioner storage.Versioner) Decoder {
	return &defaultDecoder{codec: codec, versioner: versioner}
}

type defaultDecoder struct {
	codec     runtime.Codec
	versioner storage.Versioner
}

func (d *defaultDecoder) Decode(value []byte, objPtr runtime.Object, rev int64) error {
	if _, err := conversion.EnforcePtr(objPtr); err != nil {
		return fmt.Errorf("unable to convert output object to pointer: %w", err)
	}
	if _, _, err := d.codec.Decode(value, nil, objPtr); err != nil {
		return err
	}
	// An object without metadata has no place for its revision and is good nevertheless.
	_ = d.versioner.UpdateObject(objPtr, uint64(rev))
	return nil
}
