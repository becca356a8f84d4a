package filter

import (
	"net/http"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kx-apiserver/kx/server/handler/responsewriters"
)

// fail answers with an error, in the form that the client asked for.
func (c *Config) fail(w http.ResponseWriter, r *http.Request, err error) {
	w.Header().Set("X-Content-Type-Options", "nosniff")
	responsewriters.ErrorNegotiated(err, c.Serializer, metav1.Unversioned, w, r)
}
