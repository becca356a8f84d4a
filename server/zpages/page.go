package zpages

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"

	"github.com/kx-apiserver/kx/server/handler/negotiation"
	"github.com/kx-apiserver/kx/server/handler/responsewriters"
)

// component is the server's name on the pages.
const component = "apiserver"

const warning = "Warning: This endpoint is not meant to be machine parseable, " +
	"has no formatting compatibility guarantees and is for debugging purposes only."

// group is the API group of the pages' kinds, and old and current are their versions.
const (
	group   = "config.k8s.io"
	old     = "v1alpha1"
	current = "v1beta1"
)

// object holds the common fields of the pages as objects.
type object struct {
	Kind       string `json:"kind"`
	APIVersion string `json:"apiVersion"`
	Metadata   struct {
		Name string `json:"name"`
	} `json:"metadata"`
}

// page is one of the paths.
type page struct {
	kind   string
	errors runtime.NegotiatedSerializer // writes errors
	text   func(io.Writer)
	// structured returns the page as an object.
	structured func(object) any
}

// mediaTypes lists the media types of all pages.
var mediaTypes = []runtime.SerializerInfo{
	{MediaType: runtime.ContentTypeJSON, MediaTypeType: "application", MediaTypeSubType: "json"},
	{MediaType: runtime.ContentTypeYAML, MediaTypeType: "application", MediaTypeSubType: "yaml"},
	{MediaType: "text/plain", MediaTypeType: "text", MediaTypeSubType: "plain"},
}

// AllowsMediaTypeTransform accepts text without a kind, and other types only with the page's kind.
func (p *page) AllowsMediaTypeTransform(mimeType, _ string, target *schema.GroupVersionKind) bool {
	if mimeType == "text" {
		return target == nil
	}
	return target != nil && target.Group == group && target.Kind == p.kind && (target.Version == old || target.Version == current)
}

// AllowsServerVersion returns false: a page has no version of the meta group.
func (p *page) AllowsServerVersion(string) bool { return false }

// AllowsStreamSchema returns false: a page is no stream.
func (p *page) AllowsStreamSchema(string) bool { return false }

func (p *page) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	accept := r.Header.Get("Accept")
	if strings.TrimSpace(accept) == "" {
		accept = "text/plain"
	}
	options, ok := negotiation.NegotiateMediaTypeOptions(accept, mediaTypes, p)
	if !ok {
		var names []string
		for _, m := range mediaTypes {
			names = append(names, m.MediaType)
		}
		responsewriters.ErrorNegotiated(negotiation.NewNotAcceptableError(names), p.errors, schema.GroupVersion{}, w, r)
		return
	}
	if options.Convert == nil {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		fmt.Fprintf(w, "\n%s %s\n%s\n", component, strings.ToLower(p.kind), warning)
		p.text(w)
		return
	}
	p.serveObject(w, r, options)
}

func (p *page) serveObject(w http.ResponseWriter, r *http.Request, options negotiation.MediaTypeOptions) {
	target := *options.Convert
	o := object{Kind: p.kind, APIVersion: target.GroupVersion().String()}
	o.Metadata.Name = component
	body, err := encode(p.structured(o), options, r)
	if err != nil {
		responsewriters.ErrorNegotiated(err, p.errors, schema.GroupVersion{}, w, r)
		return
	}
	if target.Version == old {
		w.Header().Set("Warning",
			fmt.Sprintf(`299 - "This version of the %s endpoint is deprecated. Please use a newer version."`,
				strings.ToLower(p.kind)))
	}
	w.Header().Set("Content-Type", fmt.Sprintf("%s;g=%s;v=%s;as=%s", options.Accepted.MediaType, target.Group, target.Version, target.Kind))
	_, _ = w.Write(body) // the client went away
}

func encode(page any, options negotiation.MediaTypeOptions, r *http.Request) ([]byte, error) {
	switch {
	case options.Accepted.MediaType == runtime.ContentTypeYAML:
		return yaml.Marshal(page)
	case options.Pretty || negotiation.IsPrettyPrint(r):
		return json.MarshalIndent(page, "", "  ")
	}
	var b bytes.Buffer
	err := json.NewEncoder(&b).Encode(page)
	return b.Bytes(), err
}
