package responsewriters

import (
	"encoding/json"
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/apiserver/pkg/audit"
	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/kx-apiserver/kx/core/escape"
	"github.com/kx-apiserver/kx/server/handler/negotiation"
)

// writeError responds with the Status of an error in version gv and in the media type that the client asked for.
func writeError(s runtime.NegotiatedSerializer, gv schema.GroupVersion, w http.ResponseWriter, req *http.Request, status *metav1.Status) {
	_, serializer, err := negotiation.NegotiateErrorMediaType(req, s, negotiation.DefaultEndpointRestrictions)
	if err != nil {
		// A failure matters more than the media type that can't be negotiated.
		failure := status
		if status.Code >= http.StatusOK && status.Code < http.StatusBadRequest {
			failure = ErrorToAPIStatus(req.Context(), err)
		}
		writeRawJSON(int(failure.Code), failure, w)
		return
	}
	audit.LogResponseObject(req.Context(), status, gv, s)
	encoder := s.EncoderForVersion(serializer.Serializer, gv)
	request.TrackSerializeResponseObjectLatency(req.Context(), func() {
		SerializeObject(serializer.MediaType, encoder, w, req, int(status.Code), status)
	})
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

// writeRawJSON responds with any value as JSON, if negotiation has failed.
func writeRawJSON(statusCode int, object any, w http.ResponseWriter) {
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
