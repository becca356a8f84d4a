package filter

import (
	"context"
	"net/http"
	"strconv"

	"github.com/kx-apiserver/kx/server/handler/responsewriters"
)

// fail answers with an error in the media type that the client asked for.
func (c *Config) fail(ctx context.Context, w http.ResponseWriter, r *http.Request, err error) {
	responsewriters.RespondWithError(w, r.WithContext(ctx), err, c.Serializer)
}

// noSeat answers a request that gets no seat as a kube-apiserver does: with plain text instead of a Status.
func noSeat(w http.ResponseWriter, retryAfter int64) {
	w.Header().Set("Retry-After", strconv.FormatInt(retryAfter, 10))
	http.Error(w, "Too many requests, please try again later.", http.StatusTooManyRequests)
}
