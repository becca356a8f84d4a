package builtin

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/endpoints/request"
)

// RequestVersion returns the version of the API that the request uses, if ctx belongs to a request.
func RequestVersion(ctx context.Context) (schema.GroupVersion, bool) {
	info, ok := request.RequestInfoFrom(ctx)
	if !ok {
		return schema.GroupVersion{}, false
	}
	return schema.GroupVersion{Group: info.APIGroup, Version: info.APIVersion}, true
}
