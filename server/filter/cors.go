package filter

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kx-apiserver/kx/core/steps"
	"github.com/kx-apiserver/kx/core/trace"
)

const (
	corsMethods = "POST, GET, OPTIONS, PUT, DELETE, PATCH"
	corsHeaders = "Content-Type, Content-Length, Accept-Encoding, X-CSRF-Token, Authorization, X-Requested-With, If-Modified-Since"
)

// WithCORS lets pages of the allowed origins call the server from a browser. Pages of other sites may neither write nor
// upgrade to a WebSocket: with the user's certificate, or through the user's proxy, they would act as that user. They
// may send reads, because the browser hides the answer from them.
func WithCORS(next Handler, c *Config) Handler {
	return func(ctx context.Context, w http.ResponseWriter, r *http.Request) {
		origin := r.Header.Get("Origin")
		_, step := trace.Start(ctx, steps.FilterCORS, origin)
		allowed := origin != "" && originAllowed(origin, c)
		if allowed {
			h := w.Header()
			h.Set("Access-Control-Allow-Origin", origin)
			h.Set("Access-Control-Allow-Methods", corsMethods)
			h.Set("Access-Control-Allow-Headers", corsHeaders)
			h.Set("Access-Control-Expose-Headers", "Date, "+JourneyHeader)
			h.Set("Access-Control-Allow-Credentials", "true")
			h.Add("Vary", "Origin")
		} else if err := refuseOtherSite(r); err != nil {
			step.End(&err)
			closeConnectionOfStranger(w, r)
			c.fail(ctx, w, r, err)
			return
		}
		step.End(nil)
		if allowed && r.Method == http.MethodOptions {
			w.WriteHeader(http.StatusNoContent)
			return
		}
		next(ctx, w, r)
	}
}

func originAllowed(origin string, c *Config) bool {
	for _, re := range c.CORSAllowedOrigins {
		if re.MatchString(strings.ToLower(origin)) {
			return true
		}
	}
	return false
}

// refuseOtherSite returns the 403 for a write or an upgrade by a page of another site. Browsers set the two headers,
// and pages can't change them. Other clients don't send them.
func refuseOtherSite(r *http.Request) error {
	origin, site := r.Header.Get("Origin"), r.Header.Get("Sec-Fetch-Site")
	if origin == "" && site == "" {
		return nil
	}
	request := &http.Request{Method: r.Method, Header: r.Header, Host: r.Host}
	if r.Header.Get("Upgrade") != "" {
		request.Method = http.MethodPost // an upgrade is a GET, but the page can read what comes back
	}
	if new(http.CrossOriginProtection).Check(request) == nil {
		return nil
	}
	message := fmt.Sprintf("pages of another site may neither write nor upgrade: Origin is %.200q and Sec-Fetch-Site %.20q; "+
		"to allow an origin, start the server with --cors-allowed-origins", origin, site)
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		Status: metav1.StatusFailure, Code: http.StatusForbidden, Reason: metav1.StatusReasonForbidden, Message: message,
	}}
}
