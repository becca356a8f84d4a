package responsewriters

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	auditinternal "k8s.io/apiserver/pkg/apis/audit"
	"k8s.io/apiserver/pkg/audit"
	"k8s.io/apiserver/pkg/authorization/authorizer"

	"github.com/kx-apiserver/kx/core/escape"
	"github.com/kx-apiserver/kx/core/mask"
)

// sanitizer escapes input of a client, so that browsers don't render it as markup.
var sanitizer = strings.NewReplacer(`&`, "&amp;", `<`, "&lt;", `>`, "&gt;")

// ErrorNegotiated responds with err's Status in the media type that the client asked for, or as JSON if that is
// impossible. It returns the status code.
func ErrorNegotiated(err error, s runtime.NegotiatedSerializer, gv schema.GroupVersion, w http.ResponseWriter, req *http.Request) int {
	status := ErrorToAPIStatus(req.Context(), err)
	code := int(status.Code)
	if status.Details != nil && status.Details.RetryAfterSeconds > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(status.Details.RetryAfterSeconds)))
	}
	if code == http.StatusNoContent {
		w.WriteHeader(code)
		return code
	}
	writeError(s, gv, w, req, status)
	auditQuietly(req.Context(), err)
	return code
}

// auditQuietly keeps the parts of an error that only the client may see out of the audit event: the error's text says
// less than its Status then. An event with the request's body may quote that body, but no other secret. An event with
// the response contains it whole.
func auditQuietly(ctx context.Context, err error) {
	ac := audit.AuditContextFrom(ctx)
	if !ac.Enabled() || ac.GetEventLevel().GreaterOrEqual(auditinternal.LevelRequestResponse) {
		return
	}
	text := escape.Text(err.Error())
	if status := ac.GetEventResponseStatus(); status != nil && (status.Message != text || mask.IsForClient(err)) {
		quiet := *mask.Status(status)
		quiet.Message = text
		ac.SetEventResponseStatus(&quiet)
	}
}

// RespondWithError answers a request that belongs to no API group.
func RespondWithError(w http.ResponseWriter, req *http.Request, err error, s runtime.NegotiatedSerializer) {
	w.Header().Set("X-Content-Type-Options", "nosniff")
	ErrorNegotiated(err, s, metav1.Unversioned, w, req)
}

// ForbiddenStatusError returns the 403 for attributes, with the authorizer's reason if there is one.
func ForbiddenStatusError(attributes authorizer.Attributes, reason string) *apierrors.StatusError {
	message := sanitizer.Replace(forbiddenMessage(attributes))
	if reason != "" {
		message += ": " + reason
	}
	resource := schema.GroupResource{Group: attributes.GetAPIGroup(), Resource: attributes.GetResource()}
	return apierrors.NewForbidden(resource, attributes.GetName(), errors.New(message))
}

func forbiddenMessage(attributes authorizer.Attributes) string {
	username := ""
	if user := attributes.GetUser(); user != nil {
		username = user.GetName()
	}
	if !attributes.IsResourceRequest() {
		return fmt.Sprintf("User %q cannot %s path %q", username, attributes.GetVerb(), attributes.GetPath())
	}
	resource := attributes.GetResource()
	if subresource := attributes.GetSubresource(); subresource != "" {
		resource += "/" + subresource
	}
	where := "at the cluster scope"
	if namespace := attributes.GetNamespace(); namespace != "" {
		where = fmt.Sprintf("in the namespace %q", namespace)
	}
	return fmt.Sprintf("User %q cannot %s resource %q in API group %q %s",
		username, attributes.GetVerb(), resource, attributes.GetAPIGroup(), where)
}
