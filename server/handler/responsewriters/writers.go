package responsewriters

import (
	"encoding/json"
	"net/http"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apiserver/pkg/audit"
	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/kx-apiserver/kx/core/escape"
	"github.com/kx-apiserver/kx/server/handler/negotiation"
)

// WriteObjectNegotiated responds with object in version gv and in the media type that the client asked for.
// listGVKInContentType adds the requested kind to the Content-Type, as aggregated discovery does.
func WriteObjectNegotiated(s runtime.NegotiatedSerializer, restrictions negotiation.EndpointRestrictions, gv schema.GroupVersion,
	w http.ResponseWriter, req *http.Request, statusCode int, object runtime.Object, listGVKInContentType bool) {
	options, serializer, err := negotiation.NegotiateErrorMediaType(req, s, restrictions)
	if err != nil {
		// The error to report matters more than the media type that can't be negotiated.
		if statusCode < http.StatusOK || statusCode >= http.StatusBadRequest {
			WriteRawJSON(statusCode, object, w)
			return
		}
		status := ErrorToAPIStatus(req.Context(), err)
		WriteRawJSON(int(status.Code), status, w)
		return
	}

	if listGVKInContentType {
		serializer.MediaType = mediaTypeWithGVK(serializer.MediaType, options.Convert)
	}
	WriteObject(s, serializer, gv, w, req, statusCode, object)
}

// WriteObject responds with object in version gv, by the negotiated serializer of s.
func WriteObject(s runtime.NegotiatedSerializer, negotiated runtime.SerializerInfo, gv schema.GroupVersion,
	w http.ResponseWriter, req *http.Request, statusCode int, object runtime.Object) {
	audit.LogResponseObject(req.Context(), object, gv, s)
	encoder := s.EncoderForVersion(negotiated.Serializer, gv)
	request.TrackSerializeResponseObjectLatency(req.Context(), func() {
		SerializeObject(negotiated.MediaType, encoder, w, req, statusCode, object)
	})
}

func mediaTypeWithGVK(mediaType string, gvk *schema.GroupVersionKind) string {
	if gvk == nil {
		return mediaType
	}
	for _, p := range []struct{ name, value string }{{"g", gvk.Group}, {"v", gvk.Version}, {"as", gvk.Kind}} {
		if p.value != "" {
			mediaType += ";" + p.name + "=" + p.value
		}
	}
	return mediaType
}

// SerializeObject encodes object into the response. If that fails before anything was sent, the client gets the error
// instead; later the connection is cut.
func SerializeObject(mediaType string, encoder runtime.Encoder, hw http.ResponseWriter, req *http.Request, statusCode int,
	object runtime.Object) {
	s := NewStream(mediaType, hw, req, statusCode)
	reused := encoder
	if reuser, ok := encoder.(runtime.EncoderWithAllocator); ok {
		allocator := runtime.AllocatorPool.Get().(*runtime.Allocator)
		defer runtime.AllocatorPool.Put(allocator)
		reused = runtime.NewEncoderWithAllocator(reuser, allocator)
	}
	err := reused.Encode(object, s)
	if err == nil {
		err = s.Close()
	}
	if err == nil {
		return
	}
	utilruntime.HandleErrorWithContext(req.Context(), forLog(req.Context(), err), "Failed to write a response", "mediaType",
		mediaType, "path", escape.Line(req.URL.Path))
	if s.Sent() {
		s.Abort()
	}
	s.discard()
	status := ErrorToAPIStatus(req.Context(), err)
	if statusCode >= http.StatusOK && statusCode < http.StatusBadRequest {
		s.statusCode = int(status.Code)
	}
	output, err := runtime.Encode(encoder, status)
	if err != nil {
		s.mediaType = "text/plain"
		output = []byte(string(status.Reason) + ": " + status.Message)
	}
	// Errors only mean that the client is gone.
	_, _ = s.Write(output)
	_ = s.Close()
}

// WriteRawJSON responds with any value as JSON, if negotiation has failed.
func WriteRawJSON(statusCode int, object any, w http.ResponseWriter) {
	output, err := json.MarshalIndent(object, "", "  ")
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(statusCode)
	// An error only means that the client is gone.
	_, _ = w.Write(output)
}
