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

// WriteObjectNegotiated answers req with object in version gv and in the media type that the client asked for.
// listGVKInContentType adds the kind that was asked for to the Content-Type, as aggregated discovery does.
func WriteObjectNegotiated(s runtime.NegotiatedSerializer, restrictions negotiation.EndpointRestrictions, gv schema.GroupVersion,
	w http.ResponseWriter, req *http.Request, statusCode int, object runtime.Object, listGVKInContentType bool) {
	options, serializer, err := negotiation.NegotiateErrorMediaType(req, s, restrictions)
	if err != nil {
		// An error that is being reported matters more than the form in which it can't be.
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

// WriteObject answers req with object in version gv, by the serializer of s that was negotiated before.
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

// SerializeObject writes object by encoder. If that fails before anything was sent, the client gets the error instead; later
// the connection is cut.
func SerializeObject(mediaType string, encoder runtime.Encoder, hw http.ResponseWriter, req *http.Request, statusCode int, object runtime.Object) {
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
	utilruntime.HandleErrorWithContext(req.Context(), forLog(req.Context(), err), "Failed to write a response", "mediaType", mediaType, "path", escape.Line(req.URL.Path))
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
	// The client may be gone: nothing is left to tell, or to whom.
	_, _ = s.Write(output)
	_ = s.Close()
}

// WriteRawJSON answers with any value as JSON, for when nothing could be negotiated.
func WriteRawJSON(statusCode int, object any, w http.ResponseWriter) {
	output, err := json.MarshalIndent(object, "", "  ")
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(statusCode)
	// An error here is the client's leaving.
	_, _ = w.Write(output)
}
