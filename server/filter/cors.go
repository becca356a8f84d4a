package filter

import (
	"net/http"
	"strings"

	"github.com/kx-apiserver/kx/core/trace"
)

const (
	corsMethods = "POST, GET, OPTIONS, PUT, DELETE, PATCH"
	corsHeaders = "Content-Type, Content-Length, Accept-Encoding, X-CSRF-Token, Authorization, X-Requested-With, If-Modified-Since"
)

// WithCORS lets pages of the allowed origins call the server from a browser.
func WithCORS(next http.Handler, c *Config) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		origin := r.Header.Get("Origin")
		_, step := trace.Start(r.Context(), trace.FilterCORS, origin)
		allowed := origin != "" && originAllowed(origin, c)
		if allowed {
			h := w.Header()
			h.Set("Access-Control-Allow-Origin", origin)
			h.Set("Access-Control-Allow-Methods", corsMethods)
			h.Set("Access-Control-Allow-Headers", corsHeaders)
			h.Set("Access-Control-Expose-Headers", "Date, "+JourneyHeader)
			h.Set("Access-Control-Allow-Credentials", "true")
			h.Add("Vary", "Origin")
		}
		step.End(nil)
		if allowed && r.Method == http.MethodOptions {
			w.WriteHeader(http.StatusNoContent)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func originAllowed(origin string, c *Config) bool {
	for _, re := range c.CORSAllowedOrigins {
		if re.MatchString(strings.ToLower(origin)) {
			return true
		}
	}
	return false
}
