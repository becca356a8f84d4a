package builtin

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/endpoints/request"
)

// RequestVersion is the version of the API that the request uses, if ctx is a request's.
func RequestVersion(ctx context.Context) (schema.GroupVersion, bool) {
	info, ok := request.RequestInfoFrom(ctx)
	if !ok {
		return schema.GroupVersion{}, false
	}
	return schema.GroupVersion{Group: info.APIGroup, Version: info.APIVersion}, true
}
