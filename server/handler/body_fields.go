package handler

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kx-apiserver/kx/core/rest"
)

const (
	// ownedTimes multiplies the limit of fields for the owned fields of a body, because each manager has its own.
	ownedTimes = 4
	// operationFields is the most fields and list items that one operation of a JSON patch has, apart from its value.
	operationFields = 5
)

// readBody reads a request's body, unless it exceeds the limits on bytes, fields and list items. extra and stored go to
// checkBody.
func (scope *RequestScope) readBody(ctx context.Context, req *http.Request, extra int, stored rest.Getter, name string) ([]byte, error) {
	body, err := limitedReadBody(req, scope.MaxRequestBodyBytes)
	if err != nil {
		return nil, err
	}
	return body, scope.checkBody(ctx, body, extra, stored, name)
}

// checkBody refuses a body with more fields and list items than an object may have, before any of it is decoded. A body
// of 3 MiB can have a million of them, which take a hundred times as much memory. A stored object may exceed the limit
// already; stored reads it, and is nil if there can be none. extra is the number of fields that the form of the body
// adds.
func (scope *RequestScope) checkBody(ctx context.Context, body []byte, extra int, stored rest.Getter, name string) error {
	limit := scope.MaxObjectFields
	if limit <= 0 || len(body)/minField <= limit && !mayAlias(body) {
		return nil
	}
	fields, owned := 0, 0 // the decoder refuses an invalid body
	switch {
	case bytes.HasPrefix(body, protobufPrefix):
		fields = countProtobufFields(body, scope.Creater, len(body))
	case json.Valid(body):
		fields, owned = countJSONFields(body)
	default:
		expanded := expand(body)
		if expanded.bytes > expandedMost {
			return apierrors.NewRequestEntityTooLargeError(fmt.Sprintf(
				"the body has %d bytes when its aliases are replaced, the limit is %d", expanded.bytes, expandedMost))
		}
		fields = expanded.fields
	}
	if fields <= limit+extra && owned <= ownedTimes*limit {
		return nil
	}
	if live := liveObject(ctx, stored, name); live != nil {
		most := countFields(live, 0) + extra
		if fields <= most && owned <= ownedTimes*most {
			return nil
		}
	}
	return apierrors.NewRequestEntityTooLargeError(fmt.Sprintf(
		"the body has %d fields and list items, the limit that --max-object-fields sets is %d", fields+owned, limit))
}

// liveObject returns the stored object, or nil if it does not exist or can't be read.
func liveObject(ctx context.Context, stored rest.Getter, name string) runtime.Object {
	if stored == nil {
		return nil
	}
	live, err := stored.Get(ctx, name, &metav1.GetOptions{})
	if err != nil {
		return nil
	}
	return live
}

// minField is the least size of a field or list item: in JSON with its comma, in protobuf with its number.
const minField = 2

// countJSONFields counts the fields and list items of valid JSON at any depth. It counts those in an object's
// managedFields separately, because the server writes them.
func countJSONFields(data []byte) (fields, owned int) {
	depth := 0
	inMetadata, inManagedFields := false, false
	for i := 0; i < len(data); i++ {
		switch data[i] {
		case '"':
			end := stringEnd(data, i)
			if text := data[i+1 : end]; isKey(data, end) {
				switch depth {
				case 1:
					inMetadata, inManagedFields = string(text) == "metadata", false
				case 2:
					inManagedFields = inMetadata && string(text) == "managedFields"
				}
			}
			i = end
			continue
		case '{', '[':
			depth++
			if !isClosed(data, i) {
				break // its first field or item
			}
			continue
		case '}', ']':
			depth--
			continue
		case ',':
		default:
			continue
		}
		if inManagedFields && depth > 2 {
			owned++
		} else {
			fields++
		}
	}
	return fields, owned
}

// stringEnd returns the index of the closing quote of the string that begins at i.
func stringEnd(data []byte, i int) int {
	for i++; data[i] != '"'; i++ {
		if data[i] == '\\' {
			i++
		}
	}
	return i
}

// isKey reports whether a colon follows the string that ends at i.
func isKey(data []byte, i int) bool { return after(data, i) == ':' }

// isClosed reports whether the object or list that opens at i is empty.
func isClosed(data []byte, i int) bool {
	next := after(data, i)
	return next == '}' || next == ']'
}

// after returns the first byte after i that is no white space; 0 at the end.
func after(data []byte, i int) byte {
	for i++; i < len(data); i++ {
		switch data[i] {
		case ' ', '\t', '\r', '\n':
		default:
			return data[i]
		}
	}
	return 0
}
