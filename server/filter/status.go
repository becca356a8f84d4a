package filter

import (
	"net/http"

	"github.com/kx-apiserver/kx/server/handler/responsewriters"
)

// fail answers with an error in the media type that the client asked for.
func (c *Config) fail(w http.ResponseWriter, r *http.Request, err error) {
	responsewriters.RespondWithError(w, r, err, c.Serializer)
}
