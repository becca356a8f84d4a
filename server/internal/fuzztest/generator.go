package fuzztest

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strings"
)

// maxRequests limits the requests of a sequence.
const maxRequests = 8

// Request is one request of a sequence.
type Request struct {
	Method string
	Target string // path and query, as on the wire
	Header http.Header
	Body   []byte
	// Admin sends the administrator's client certificate.
	Admin bool
	// As is whom the request acts as, after impersonation.
	As Identity
	// By is who sends it, before impersonation.
	By Identity
	// Long is a request that may not end by itself, such as a watch: the client ends it.
	Long bool
	// HTTP1 is sent over HTTP/1.1: it asks for an upgrade of the connection.
	HTTP1 bool
}

// Generator makes the requests of one sequence.
type Generator struct {
	bytes   []byte
	surface *Surface
	taken   map[string]bool
	made    int

	// What answers said, for the requests behind them.
	next, revision, uid, name, token, journey string

	// The parts of the request that is being made.
	request            Request
	resource, previous Resource
	query              []string
}

// New returns a generator of the sequence that bytes stand for.
func New(bytes []byte, surface *Surface) *Generator {
	return &Generator{bytes: bytes, surface: surface, taken: map[string]bool{}}
}

// Taken returns the names of the productions that the sequence took so far.
func (g *Generator) Taken() map[string]bool { return g.taken }

// Next makes the next request. There is always one, however few the bytes.
func (g *Generator) Next() (*Request, bool) {
	if g.made == maxRequests || g.made > 0 && len(g.bytes) == 0 {
		return nil, false
	}
	g.made++
	g.request, g.query, g.resource = Request{Header: http.Header{}}, nil, Resource{}
	choose(g, "user", users)
	target := choose(g, "request", requests)
	for g.once(4) {
		choose(g, "header", headers)
	}
	if len(g.query) > 0 {
		target += "?" + strings.Join(g.query, "&")
	}
	r := g.request
	r.Target = onWire(target)
	r.Long = long.MatchString(r.Target)
	return &r, true
}

// long matches requests that may last: watches, logs that are followed, and connections to pods.
var long = regexp.MustCompile(`watch|follow|/(exec|attach|portforward|proxy|log)\b|seconds=|profile|trace`)

// onWire escapes what no client can send in the first line of a request.
func onWire(target string) string {
	var b strings.Builder
	for _, c := range []byte(target) {
		if c <= ' ' || c == 0x7f || c == '#' {
			fmt.Fprintf(&b, "%%%02X", c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}

// Learn has what an answer says used by the requests behind it.
func (g *Generator) Learn(header http.Header, body []byte) {
	if id := header.Get("Kx-Journey"); id != "" {
		g.journey = id
	}
	var answer struct {
		Kind     string `json:"kind"`
		Metadata struct {
			Name            string `json:"name"`
			UID             string `json:"uid"`
			ResourceVersion string `json:"resourceVersion"`
			Continue        string `json:"continue"`
		} `json:"metadata"`
		Status any `json:"status"`
	}
	if json.Unmarshal(body, &answer) != nil || answer.Kind == "Status" {
		return
	}
	m := answer.Metadata
	for _, learned := range []struct {
		to   *string
		from string
	}{{&g.next, m.Continue}, {&g.revision, m.ResourceVersion}, {&g.uid, m.UID}, {&g.name, m.Name}} {
		if learned.from != "" {
			*learned.to = learned.from
		}
	}
	if status, ok := answer.Status.(map[string]any); ok && answer.Kind == "TokenRequest" {
		g.token, _ = status["token"].(string)
	}
}

// subject is the identity that a token of a service account gives.
func subject(token string) Identity {
	parts := strings.Split(token, ".")
	if len(parts) != 3 {
		return Identity{}
	}
	claims, err := base64.RawURLEncoding.DecodeString(parts[1])
	if err != nil {
		return Identity{}
	}
	var c struct {
		Sub string `json:"sub"`
	}
	if json.Unmarshal(claims, &c) != nil {
		return Identity{}
	}
	return ServiceAccount(c.Sub)
}

// ServiceAccount is the identity of a service account by its user name.
func ServiceAccount(name string) Identity {
	parts := strings.Split(name, ":")
	if len(parts) != 4 {
		return Identity{}
	}
	return Identity{name, []string{"system:serviceaccounts", "system:serviceaccounts:" + parts[2], "system:authenticated"}}
}
