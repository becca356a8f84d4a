package openapi

import (
	"compress/gzip"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/munnerz/goautoneg"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
)

// ServeHTTP answers GET and HEAD.
func (s *Service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		http.Error(w, "405: Method Not Allowed", http.StatusMethodNotAllowed)
		return
	}
	switch path, below := strings.CutPrefix(r.URL.Path, "/openapi/v3/"); {
	case r.URL.Path == "/openapi/v2":
		s.serveDocument(w, r, s.documentV2(), v2)
	case r.URL.Path == "/openapi/v3":
		s.serveIndex(w, r)
	case below:
		if document := s.document(path); document != nil {
			s.serveDocument(w, r, document, v3)
			return
		}
		w.WriteHeader(http.StatusNotFound)
	default:
		http.NotFound(w, r)
	}
}

// serveIndex lists the path of each group version's document, with its hash.
func (s *Service) serveIndex(w http.ResponseWriter, r *http.Request) {
	type entry struct {
		ServerRelativeURL string `json:"serverRelativeURL"`
	}
	paths := map[string]entry{}
	for _, document := range s.all() {
		paths[document.path] = entry{locationOf(document)}
	}
	body, err := json.Marshal(map[string]any{"paths": paths})
	if err != nil {
		utilruntime.HandleErrorWithContext(r.Context(), err, "cannot encode the index of OpenAPI v3")
		http.Error(w, "500: cannot encode the index of OpenAPI v3", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Vary", "Accept-Encoding")
	send(w, r, fmt.Sprintf("%X", sha256.Sum256(body)), func(w io.Writer) error {
		_, err := w.Write(body)
		return err
	})
}

func locationOf(t *document) string {
	at := url.URL{Path: "/openapi/v3/" + t.path, RawQuery: url.Values{"hash": {t.etagV3()}}.Encode()}
	return at.String()
}

// mediaTypes lists the media types of documents, in the order in which they are tried.
func (d *dialect) mediaTypes() []mediaType {
	given := "com.github.proto-openapi.spec." + d.name + ".v1.0+protobuf"
	return []mediaType{
		{"json", "application/json", (*document).writeJSON},
		{given, "application/" + given, (*document).writeProto},
		{"com.github.proto-openapi.spec." + d.name + "@v1.0+protobuf", "application/" + given, (*document).writeProto},
	}
}

// mediaType is a subtype of application that a client may ask for, with the one of the response and its encoder.
type mediaType struct {
	asked, given string
	write        func(*document, io.Writer, *dialect) error
}

// negotiate returns the media type that the client prefers, or nil.
func negotiate(accept string, types []mediaType) *mediaType {
	if accept == "" {
		accept = "*/*"
	}
	for _, clause := range goautoneg.ParseAccept(accept) {
		for i := range types {
			if (clause.Type == "application" || clause.Type == "*") && (clause.SubType == types[i].asked || clause.SubType == "*") {
				return &types[i]
			}
		}
	}
	return nil
}

func (s *Service) serveDocument(w http.ResponseWriter, r *http.Request, t *document, d *dialect) {
	// kx compresses all documents, Kubernetes only that of v2. The order is that of Kubernetes.
	w.Header().Add("Vary", "Accept-Encoding")
	w.Header().Add("Vary", "Accept")
	as := negotiate(r.Header.Get("Accept"), d.mediaTypes())
	if as == nil {
		w.WriteHeader(http.StatusNotAcceptable)
		return
	}
	etag := t.etagV3
	if d == v2 {
		etag = t.etagV2
	}
	w.Header().Set("Content-Type", as.given)
	if hash := r.URL.Query().Get("hash"); hash != "" && d == v3 {
		if hash != etag() {
			w.Header().Set("Etag", strconv.Quote(etag()))
			http.Redirect(w, r, locationOf(t), http.StatusMovedPermanently)
			return
		}
		// A document below its hash never changes.
		w.Header().Set("Cache-Control", "public, immutable")
		w.Header().Set("Expires", time.Now().AddDate(1, 0, 0).UTC().Format(http.TimeFormat))
	}
	send(w, r, etag(), func(w io.Writer) error { return as.write(t, w, d) })
}

// send responds with the output of write, or with 304 if the client has the document.
func send(w http.ResponseWriter, r *http.Request, etag string, write func(io.Writer) error) {
	etag = strconv.Quote(etag)
	w.Header().Set("Etag", etag)
	if has(r.Header.Values("If-None-Match"), etag) {
		w.Header().Del("Content-Type")
		w.WriteHeader(http.StatusNotModified)
		return
	}
	if !takesGzip(r.Header.Get("Accept-Encoding")) {
		report(r, write(w))
		return
	}
	w.Header().Set("Content-Encoding", "gzip")
	compressed, err := gzip.NewWriterLevel(w, gzip.BestSpeed)
	if err == nil {
		err = write(compressed)
	}
	if err == nil {
		err = compressed.Close()
	}
	report(r, err)
}

// report cuts a connection whose document was written in part, so that the client does not take it for the whole.
func report(r *http.Request, err error) {
	if err == nil {
		return
	}
	if r.Context().Err() == nil {
		utilruntime.HandleErrorWithContext(r.Context(), err, "cannot send the OpenAPI document", "path", r.URL.Path)
	}
	panic(http.ErrAbortHandler)
}

// has reports whether the client sent this tag.
func has(headers []string, etag string) bool {
	for _, header := range headers {
		for tag := range strings.SplitSeq(header, ",") {
			if tag = strings.TrimPrefix(strings.TrimSpace(tag), "W/"); tag == etag || tag == "*" {
				return true
			}
		}
	}
	return false
}

func takesGzip(acceptEncoding string) bool {
	for coding := range strings.SplitSeq(acceptEncoding, ",") {
		name, quality, _ := strings.Cut(strings.TrimSpace(coding), ";")
		if strings.TrimSpace(name) == "gzip" {
			q, err := strconv.ParseFloat(strings.TrimPrefix(strings.TrimSpace(quality), "q="), 64)
			return err != nil || q > 0
		}
	}
	return false
}
