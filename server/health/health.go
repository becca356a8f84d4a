// Package health answers /healthz, /livez and /readyz: whether the server works, should not be restarted, and can serve
// requests.
//
// In come named checks. Out goes "ok", or a line for each check with ?verbose or if one fails. Each check also has its
// own path. The reason of a failure goes to the log. Unauthenticated clients don't get it, and others only if the error
// is a [Reason]. A check whose error is a [Warning] passes: ?verbose shows it to authenticated clients.
package health

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/endpoints/request"
)

// Check is one named check. Its error is the reason of a failure.
type Check struct {
	Name string
	Run  func(ctx context.Context) error
}

// Reason is an error that authenticated clients may see.
type Reason string

func (r Reason) Error() string { return string(r) }

// Warning is the error of a check that passes: everything works except for the problem that it names. The code that
// returns a Warning must log it, too.
type Warning string

func (w Warning) Error() string { return string(w) }

const withheld = "reason withheld"

// publicReason returns the part of a failure that the client may see.
func publicReason(ctx context.Context, err error) string {
	var reason Reason
	if authenticated(ctx) && errors.As(err, &reason) {
		return reason.Error()
	}
	return withheld
}

func authenticated(ctx context.Context) bool {
	who, ok := request.UserFrom(ctx)
	return ok && slices.Contains(who.GetGroups(), user.AllAuthenticated)
}

// Endpoint is one of the paths, with its checks.
type Endpoint struct {
	path   string
	checks []Check
	log    *slog.Logger
	slis   *SLIs
}

// NewEndpoint makes the handler of path and of all paths below it. slis (may be nil) counts the results whenever all
// checks run.
func NewEndpoint(path string, log *slog.Logger, slis *SLIs, checks ...Check) *Endpoint {
	return &Endpoint{path: path, checks: checks, log: log, slis: slis}
}

// Paths returns the paths that the endpoint serves.
func (e *Endpoint) Paths() []string {
	paths := []string{e.path}
	for _, c := range e.checks {
		paths = append(paths, e.path+"/"+c.Name)
	}
	return paths
}

// Ping always passes, since the server responds.
var Ping = Check{Name: "ping", Run: func(context.Context) error { return nil }}

func (e *Endpoint) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	if name, below := strings.CutPrefix(r.URL.Path, e.path+"/"); below {
		e.serveOne(w, r, name)
		return
	}
	e.serveAll(w, r)
}

func (e *Endpoint) serveOne(w http.ResponseWriter, r *http.Request, name string) {
	i := slices.IndexFunc(e.checks, func(c Check) bool { return c.Name == name })
	if i < 0 {
		http.Error(w, "404 page not found", http.StatusNotFound)
		return
	}
	if _, err := e.run(r.Context(), e.checks[i]); err != nil {
		http.Error(w, "internal server error: "+publicReason(r.Context(), err), http.StatusInternalServerError)
		return
	}
	fmt.Fprint(w, "ok")
}

func (e *Endpoint) serveAll(w http.ResponseWriter, r *http.Request) {
	query := r.URL.Query()
	excluded := query["exclude"]
	title := strings.TrimPrefix(e.path, "/")
	var lines bytes.Buffer
	var failed []string
	for _, c := range e.checks {
		if slices.Contains(excluded, c.Name) {
			fmt.Fprintf(&lines, "[+]%s excluded: ok\n", c.Name)
			continue
		}
		warning, err := e.run(r.Context(), c)
		e.slis.observe(c.Name, title, err)
		if err != nil {
			fmt.Fprintf(&lines, "[-]%s failed: %s\n", c.Name, publicReason(r.Context(), err))
			failed = append(failed, c.Name)
			continue
		}
		fmt.Fprintf(&lines, "[+]%s ok\n", c.Name)
		if warning != "" && authenticated(r.Context()) {
			fmt.Fprintf(&lines, "warn: %s: %s\n", c.Name, warning)
		}
	}
	if unknown := e.unknown(excluded); len(unknown) > 0 {
		fmt.Fprintf(&lines, "warn: some health checks cannot be excluded: no matches for %s\n", strings.Join(unknown, ","))
	}
	if len(failed) > 0 {
		http.Error(w, fmt.Sprintf("%s%s check failed", lines.String(), title), http.StatusInternalServerError)
		return
	}
	if _, verbose := query["verbose"]; verbose {
		fmt.Fprintf(w, "%s%s check passed\n", lines.String(), title)
		return
	}
	fmt.Fprint(w, "ok")
}

// unknown returns the names without a check, quoted, each once.
func (e *Endpoint) unknown(names []string) []string {
	var unknown []string
	for _, name := range slices.Compact(slices.Sorted(slices.Values(names))) {
		if !slices.ContainsFunc(e.checks, func(c Check) bool { return c.Name == name }) {
			unknown = append(unknown, strconv.Quote(name))
		}
	}
	return unknown
}

func (e *Endpoint) run(ctx context.Context, c Check) (warning Warning, err error) {
	err = c.Run(ctx)
	if errors.As(err, &warning) {
		return warning, nil
	}
	if err != nil {
		e.log.Warn("a health check failed", "path", e.path, "check", c.Name, "error", err)
	}
	return "", err
}
