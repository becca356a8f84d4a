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
	// ownedTimes is how many times the limit of fields the owned fields of a body may reach: each manager has its own.
	ownedTimes = 4
	// operationFields is how many fields and list items one operation of a JSON patch has at most, but for its value.
	operationFields = 5
)

// readBody reads a request's body, unless it has more bytes, fields or list items than it may. extra and stored are those of
// checkBody.
func (scope *RequestScope) readBody(ctx context.Context, req *http.Request, extra int, stored rest.Getter, name string) ([]byte, error) {
	body, err := limitedReadBody(req, scope.MaxRequestBodyBytes)
	if err != nil {
		return nil, err
	}
	return body, scope.checkBody(ctx, body, extra, stored, name)
}

// checkBody refuses a body with more fields and list items than an object may have, before any of it is decoded: a body of 3 MiB
// has a million of them, which take a hundred times as much memory. stored is nil if there can be no stored object, which
// may have more. extra is how many the form of the body adds.
func (scope *RequestScope) checkBody(ctx context.Context, body []byte, extra int, stored rest.Getter, name string) error {
	limit := scope.MaxObjectFields
	if limit <= 0 || len(body)/minField <= limit && !mayAlias(body) {
		return nil
	}
	fields, owned := 0, 0 // what is not valid is refused by its decoder
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

// liveObject is nil if there is none, or none can be read.
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

// minField is the least that a field or list item takes: in JSON with its comma, in protobuf with its number.
const minField = 2

// countJSONFields counts the fields and list items of valid JSON at any depth. Those of an object's managedFields are counted
// apart: the server writes them.
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

// stringEnd is where the string ends that begins at i.
func stringEnd(data []byte, i int) int {
	for i++; data[i] != '"'; i++ {
		if data[i] == '\\' {
			i++
		}
	}
	return i
}

// isKey says whether a colon comes after the string that ends at i.
func isKey(data []byte, i int) bool { return after(data, i) == ':' }

// isClosed says whether what opens at i closes at once.
func isClosed(data []byte, i int) bool {
	next := after(data, i)
	return next == '}' || next == ']'
}

// after is what comes after i, but for spaces; 0 at the end.
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
