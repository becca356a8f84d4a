package object

import (
	"k8s.io/apimachinery/pkg/runtime"
)

// StoredSize is the number of bytes in etcd.
func (e *Encoded) StoredSize() int {
	p := e.bytes.Load()
	if p == nil {
		return 0
	}
	return len(p.data) - p.n
}

// SizeOf estimates the encoded size of an object, well enough to bound the memory of many.
func SizeOf(obj runtime.Object) int {
	switch obj := obj.(type) {
	case *Encoded:
		return obj.StoredSize()
	case runtime.Unstructured:
		return sizeOfValue(obj.UnstructuredContent())
	case interface{ Size() int }: // in protobuf
		return obj.Size()
	}
	return 0
}

func sizeOfValue(value any) int {
	const punctuation = 4 // quotes, a colon, a comma
	switch value := value.(type) {
	case map[string]any:
		size := punctuation
		for name, field := range value {
			size += len(name) + punctuation + sizeOfValue(field)
		}
		return size
	case []any:
		size := punctuation
		for _, item := range value {
			size += sizeOfValue(item)
		}
		return size
	case string:
		return len(value) + punctuation
	}
	return 2 * punctuation
}
