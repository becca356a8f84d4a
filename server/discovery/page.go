package discovery

import (
	"bytes"
	"crypto/sha512"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/munnerz/goautoneg"
	apidiscoveryv2 "k8s.io/api/apidiscovery/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer"
)

// encodings are the media types of discovery, the preferred one first. JSON comes once more, for human eyes.
var encodings = func() []encoding {
	var all []encoding
	for _, info := range serializer.NewCodecFactory(runtime.NewScheme()).SupportedMediaTypes() {
		e := encoding{info.MediaType, info.MediaTypeType, info.MediaTypeSubType, info.Serializer, len(all)}
		all = append(all, e)
		if info.PrettySerializer != nil {
			e.encoder, e.index = info.PrettySerializer, len(all)
			all = append(all, e)
		}
	}
	return all
}()

type encoding struct {
	mediaType, major, minor string
	encoder                 runtime.Encoder
	// index is where it stands among encodings. The one for human eyes follows its media type's first.
	index int
}

// page is what a path answers.
type page struct {
	plain *document
	// aggregated is nil for a page that has no such form.
	aggregated *document
}

func newPage(plain, aggregated runtime.Object) *page {
	p := &page{plain: newDocument(plain)}
	if aggregated != nil {
		p.aggregated = newDocument(aggregated)
	}
	return p
}

// document is an object, encoded when first asked for and kept.
type document struct {
	object  runtime.Object
	encoded []atomic.Pointer[[]byte]
	etag    atomic.Pointer[string]
}

func newDocument(object runtime.Object) *document {
	return &document{object: object, encoded: make([]atomic.Pointer[[]byte], len(encodings))}
}

// bytes are the object in an encoding. Two that ask first at the same time may both do the work.
func (d *document) bytes(e encoding) ([]byte, error) {
	if b := d.encoded[e.index].Load(); b != nil {
		return *b, nil
	}
	var buf bytes.Buffer
	if err := e.encoder.Encode(d.object, &buf); err != nil {
		return nil, fmt.Errorf("encode %T as %s: %w", d.object, e.mediaType, err)
	}
	b := buf.Bytes()
	d.encoded[e.index].Store(&b)
	return b, nil
}

// tag is the ETag of the object. It is the same in all encodings, since Vary names Accept.
func (d *document) tag() (string, error) {
	if t := d.etag.Load(); t != nil {
		return *t, nil
	}
	b, err := d.bytes(encodings[0])
	if err != nil {
		return "", err
	}
	t := strconv.Quote(fmt.Sprintf("%X", sha512.Sum512(b)))
	d.etag.Store(&t)
	return t, nil
}

// ServeHTTP answers GET.
func (p *page) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet {
		w.Header().Set("Allow", http.MethodGet)
		http.Error(w, "405: Method Not Allowed", http.StatusMethodNotAllowed)
		return
	}
	accepted, aggregate, ok := p.negotiate(r)
	if !ok {
		writeNotAcceptable(w)
		return
	}
	if err := p.write(w, r, accepted, aggregate); err != nil {
		writeStatus(w, &metav1.Status{Code: http.StatusInternalServerError, Reason: metav1.StatusReasonInternalError, Message: err.Error()})
	}
}

func (p *page) write(w http.ResponseWriter, r *http.Request, e encoding, aggregate bool) error {
	d, contentType := p.plain, e.mediaType
	if aggregate {
		d = p.aggregated
		contentType += ";g=" + apidiscoveryv2.GroupName + ";v=" + apidiscoveryv2.SchemeGroupVersion.Version + ";as=APIGroupDiscoveryList"
	}
	body, err := d.bytes(e)
	if err != nil {
		return err
	}
	h := w.Header()
	if p.aggregated != nil {
		// Also where the plain form is the answer: a cache must not give it to who asks for the other.
		h.Set("Vary", "Accept")
	}
	if aggregate {
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
	_, _ = w.Write(body) // A client that is gone needs no answer.
	return nil
}

// negotiate picks the encoding and the form that the client likes best.
func (p *page) negotiate(r *http.Request) (e encoding, aggregate, ok bool) {
	header := r.Header.Get("Accept")
	if header == "" {
		header = "*/*"
	}
	for _, clause := range goautoneg.ParseAccept(header) {
		for i, e := range encodings {
			if i > 0 && encodings[i-1].mediaType == e.mediaType || !matches(clause, e) {
				continue
			}
			aggregate, ok := p.form(clause.Params)
			if !ok {
				continue
			}
			if i+1 < len(encodings) && encodings[i+1].mediaType == e.mediaType && wantsPretty(r, clause.Params) {
				e = encodings[i+1]
			}
			return e, aggregate, true
		}
	}
	return encoding{}, false, false
}

func matches(clause goautoneg.Accept, e encoding) bool {
	return (clause.Type == e.major || clause.Type == "*" && clause.SubType == "*") &&
		(clause.SubType == e.minor || clause.SubType == "*")
}

// form is plain if no kind is asked for, and otherwise aggregated or nothing that there is.
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

// wantsPretty says whether a person is going to read the answer.
func wantsPretty(r *http.Request, params map[string]string) bool {
	if params["pretty"] == "1" {
		return true
	}
	if asked := r.URL.Query().Get("pretty"); asked != "" {
		pretty, _ := strconv.ParseBool(asked)
		return pretty
	}
	for _, agent := range []string{"curl", "Wget", "Mozilla/5.0"} {
		if strings.HasPrefix(r.UserAgent(), agent) {
			return true
		}
	}
	return false
}

func writeNotAcceptable(w http.ResponseWriter) {
	var names []string
	for i, e := range encodings {
		if i == 0 || encodings[i-1].mediaType != e.mediaType {
			names = append(names, e.mediaType)
		}
	}
	writeStatus(w, &metav1.Status{Code: http.StatusNotAcceptable, Reason: metav1.StatusReasonNotAcceptable,
		Message: "only the following media types are accepted: " + strings.Join(names, ", ")})
}

// writeStatus refuses in JSON, whatever was asked for.
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
	_, _ = w.Write(body) // A client that is gone needs no answer.
}
