package handler

import (
	"cmp"
	"context"
	"io"
	"net/http"

	"k8s.io/streaming/pkg/httpstream/wsstream"

	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/core/steps"
	"github.com/kx-apiserver/kx/core/trace"
)

// streamObject responds with a stream, such as a log. If it returns an error, nothing has been written yet. The content
// of the stream is not recorded.
func streamObject(ctx context.Context, scope *RequestScope, from rest.ResourceStreamer, out http.ResponseWriter,
	req *http.Request) (err error) {
	ctx, step := trace.Start(ctx, steps.HandlerStream, "")
	defer step.End(&err)
	w, end := newPatientWriter(ctx, out)
	defer end()
	in, flush, contentType, err := from.InputStream(w.ctx, scope.Kind.GroupVersion().String(), req.Header.Get("Accept"))
	if err != nil {
		return err
	}
	if in == nil {
		w.WriteHeader(http.StatusNoContent)
		return nil
	}
	defer in.Close()
	if wsstream.IsWebSocketRequest(req) {
		// The client sees the end of the stream.
		_ = wsstream.NewReader(in, true, wsstream.NewDefaultReaderProtocols()).Copy(w, req.WithContext(w.ctx))
		return nil
	}
	w.Header().Set("Content-Type", cmp.Or(contentType, "application/octet-stream"))
	w.WriteHeader(http.StatusOK)
	w.Flush()
	var to io.Writer = w
	if flush {
		to = flushWriter{w}
	}
	n, _ := io.Copy(to, in) // a stream may end at any time, and the client sees that it did
	step.Int("bytes", n)
	return nil
}

// flushWriter sends each write at once.
type flushWriter struct{ *patientWriter }

func (f flushWriter) Write(b []byte) (int, error) {
	n, err := f.patientWriter.Write(b)
	if err == nil {
		err = f.FlushError()
	}
	return n, err
}
