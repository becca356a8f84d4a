package discovery

import (
	"bytes"
	"cmp"
	"crypto/sha512"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/munnerz/goautoneg"
	apidiscoveryv2 "k8s.io/api/apidiscovery/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"

	"github.com/kx-apiserver/kx/server/handler/negotiation"
)

// encodings lists the media types of discovery, the preferred one first.
var encodings = serializer.NewCodecFactory(runtime.NewScheme()).SupportedMediaTypes()

// choice is the negotiated form: which encoding, indented or not, aggregated or not.
type choice struct {
	encoding          int
	pretty, aggregate bool
}

// page is the content of a path.
type page struct {
	plain *document
	// aggregated is nil for a page without that form.
	aggregated *document
	// lenient marks the pages that Kubernetes' aggregator serves: they answer every method, and check themselves what a
	// client accepts. All other pages are behind a router whose refusals have other texts.
	lenient bool
}

func newPage(plain, aggregated runtime.Object) *page {
	p := &page{plain: newDocument(plain)}
	if aggregated != nil {
		p.aggregated = newDocument(aggregated)
	}
	return p
}

// document is an object that is encoded at the first request and kept.
type document struct {
	object runtime.Object
	// encoded has two slots for each encoding, the second for the indented form.
	encoded [][2]atomic.Pointer[[]byte]
	etag    atomic.Pointer[string]
}

func newDocument(object runtime.Object) *document {
	return &document{object: object, encoded: make([][2]atomic.Pointer[[]byte], len(encodings))}
}

// bytes returns the object in an encoding. Two simultaneous first requests may both encode it.
func (d *document) bytes(encoding int, pretty bool) ([]byte, error) {
	place, encoder := &d.encoded[encoding][0], encodings[encoding].Serializer
	if pretty {
		place, encoder = &d.encoded[encoding][1], encodings[encoding].PrettySerializer
	}
	if b := place.Load(); b != nil {
		return *b, nil
	}
	var buf bytes.Buffer
	if err := encoder.Encode(d.object, &buf); err != nil {
		return nil, fmt.Errorf("encode %T as %s: %w", d.object, encodings[encoding].MediaType, err)
	}
	b := buf.Bytes()
	place.Store(&b)
	return b, nil
}

// tag returns the object's ETag. All encodings share it, since Vary names Accept.
func (d *document) tag() (string, error) {
	if t := d.etag.Load(); t != nil {
		return *t, nil
	}
	b, err := d.bytes(0, false)
	if err != nil {
		return "", err
	}
	t := strconv.Quote(fmt.Sprintf("%X", sha512.Sum512(b)))
	d.etag.Store(&t)
	return t, nil
}

// ServeHTTP answers GET, and refuses other methods as Kubernetes does.
func (p *page) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && !p.lenient {
		writeStatus(w, &metav1.Status{Code: http.StatusMethodNotAllowed, Reason: metav1.StatusReasonMethodNotAllowed,
			Message: "the server does not allow this method on the requested resource", Details: &metav1.StatusDetails{}})
		return
	}
	c, ok := p.negotiate(r)
	if !ok {
		p.writeNotAcceptable(w, r)
		return
	}
	if err := p.write(w, r, c); err != nil {
		writeStatus(w, &metav1.Status{Code: http.StatusInternalServerError, Reason: metav1.StatusReasonInternalError, Message: err.Error()})
	}
}

func (p *page) write(w http.ResponseWriter, r *http.Request, c choice) error {
	d, contentType := p.plain, encodings[c.encoding].MediaType
	if c.aggregate {
		d = p.aggregated
		contentType += ";g=" + apidiscoveryv2.GroupName + ";v=" + apidiscoveryv2.SchemeGroupVersion.Version + ";as=APIGroupDiscoveryList"
	}
	body, err := d.bytes(c.encoding, c.pretty)
	if err != nil {
		return err
	}
	h := w.Header()
	if c.aggregate {
		// The plain form has no Vary, because no cache keeps it.
		h.Set("Vary", "Accept")
		tag, err := d.tag()
		if err != nil {
			return err
		}
		h.Set("ETag", tag)
		h.Set("Cache-Control", "public")
		if r.Header.Get("If-None-Match") == tag {
			w.WriteHeader(http.StatusNotModified)
			return nil
		}
	}
	h.Set("Content-Type", contentType)
	h.Set("Content-Length", strconv.Itoa(len(body)))
	_, _ = w.Write(body) // an error only means that the client is gone
	return nil
}

// negotiate picks the encoding and the form that the client prefers.
func (p *page) negotiate(r *http.Request) (choice, bool) {
	for _, clause := range accepted(r) {
		aggregate, ok := p.form(clause.Params)
		if !ok {
			continue
		}
		for i, e := range encodings {
			if matches(clause, e) {
				return choice{i, e.PrettySerializer != nil && (clause.Params["pretty"] == "1" || negotiation.IsPrettyPrint(r)),
					aggregate}, true
			}
		}
	}
	return choice{}, false
}

func accepted(r *http.Request) []goautoneg.Accept {
	return goautoneg.ParseAccept(cmp.Or(r.Header.Get("Accept"), "*/*"))
}

func matches(clause goautoneg.Accept, e runtime.SerializerInfo) bool {
	return (clause.Type == e.MediaTypeType || clause.Type == "*" && clause.SubType == "*") &&
		(clause.SubType == e.MediaTypeSubType || clause.SubType == "*")
}

// form chooses the plain form if the client asks for no kind, and the aggregated form if it asks for that kind. ok is
// false for any other kind.
func (p *page) form(params map[string]string) (aggregate, ok bool) {
	if params["sv"] != "" || params["stream"] != "" && params["stream"] != "watch" {
		return false, false
	}
	group, kind, version := params["g"], params["as"], params["v"]
	if group == "" && kind == "" && version == "" {
		return false, true
	}
	aggregate = p.aggregated != nil && group == apidiscoveryv2.GroupName &&
		version == apidiscoveryv2.SchemeGroupVersion.Version && kind == "APIGroupDiscoveryList"
	return aggregate, aggregate
}

// writeNotAcceptable refuses a request whose media types are all unknown, or known only with other parameters.
func (p *page) writeNotAcceptable(w http.ResponseWriter, r *http.Request) {
	names := make([]string, len(encodings))
	known := p.lenient
	for i, e := range encodings {
		names[i] = e.MediaType
		known = known || slices.ContainsFunc(accepted(r), func(clause goautoneg.Accept) bool { return matches(clause, e) })
	}
	all := strings.Join(names, ", ")
	status := &metav1.Status{Code: http.StatusNotAcceptable, Reason: metav1.StatusReasonNotAcceptable,
		Message: "only the following media types are accepted: " + all}
	if !known {
		status.Message, status.Details = "406: Not Acceptable\n\nAvailable representations: "+all, &metav1.StatusDetails{}
	}
	writeStatus(w, status)
}

// writeStatus writes an error in JSON, whatever the client accepts.
func writeStatus(w http.ResponseWriter, status *metav1.Status) {
	status.TypeMeta = metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}
	status.Status = metav1.StatusFailure
	body, err := json.MarshalIndent(status, "", "  ")
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", runtime.ContentTypeJSON)
	w.WriteHeader(int(status.Code))
	_, _ = w.Write(body) // an error only means that the client is gone
}
