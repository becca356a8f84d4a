package negotiation

import (
	"mime"
	"net/http"
	"strconv"
	"strings"

	"github.com/munnerz/goautoneg"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kx-apiserver/kx/core/trace"
)

// MediaTypeOptions is what a client asked for in its Accept header.
type MediaTypeOptions struct {
	// Pretty asks for text that people can read.
	Pretty bool
	// Stream asks for the form of the media type that a watch is sent in; "watch" is the only one there is.
	Stream string
	// Convert asks for another kind than the resource's, such as Table.
	Convert *schema.GroupVersionKind
	// UseServerVersion names the version of the meta group to use.
	UseServerVersion string
	// Profile narrows discovery, such as to what this server itself serves.
	Profile string
	// Accepted is the serializer that suits the client.
	Accepted runtime.SerializerInfo
}

// EndpointRestrictions say what an endpoint can do beyond a plain answer.
type EndpointRestrictions interface {
	// AllowsMediaTypeTransform says whether the endpoint can answer in the media type with an object of kind target,
	// nil being the resource's own.
	AllowsMediaTypeTransform(mimeType, mimeSubType string, target *schema.GroupVersionKind) bool
	// AllowsServerVersion says whether version is one of the meta group's that the endpoint has.
	AllowsServerVersion(version string) bool
	// AllowsStreamSchema says whether the endpoint can stream in this form.
	AllowsStreamSchema(schema string) bool
}

// DefaultEndpointRestrictions allow watches and nothing else.
var DefaultEndpointRestrictions EndpointRestrictions = plainEndpoint{}

type plainEndpoint struct{}

func (plainEndpoint) AllowsMediaTypeTransform(_, _ string, target *schema.GroupVersionKind) bool {
	return target == nil
}
func (plainEndpoint) AllowsServerVersion(string) bool       { return false }
func (plainEndpoint) AllowsStreamSchema(schema string) bool { return schema == "watch" }

// MediaTypesForSerializer are the media types of ns, and those that it can stream.
func MediaTypesForSerializer(ns runtime.NegotiatedSerializer) (mediaTypes, streamMediaTypes []string) {
	for _, info := range ns.SupportedMediaTypes() {
		mediaTypes = append(mediaTypes, info.MediaType)
		if info.StreamSerializer != nil {
			streamMediaTypes = append(streamMediaTypes, info.MediaType+";stream=watch")
		}
	}
	return mediaTypes, streamMediaTypes
}

// NegotiateOutputMediaType finds how to answer req. The serializer that it returns is the pretty one if that is wanted.
func NegotiateOutputMediaType(req *http.Request, ns runtime.NegotiatedSerializer, restrictions EndpointRestrictions) (_ MediaTypeOptions, _ runtime.SerializerInfo, err error) {
	header := req.Header.Get("Accept")
	_, step := trace.Start(req.Context(), trace.HandlerMediaType, header)
	defer step.End(&err)
	options, better, ok := negotiate(header, ns.SupportedMediaTypes(), restrictions)
	if !ok {
		step.Why(trace.NoMediaType)
		return options, runtime.SerializerInfo{}, notAcceptable(ns)
	}
	if step.Recording() {
		why(step, header, &options, better)
	}
	return options, options.ForPeople(req, options.Accepted), nil
}

// NegotiateErrorMediaType is NegotiateOutputMediaType for an error, which is no decision of the resource's: it takes no step.
func NegotiateErrorMediaType(req *http.Request, ns runtime.NegotiatedSerializer, restrictions EndpointRestrictions) (MediaTypeOptions, runtime.SerializerInfo, error) {
	options, ok := NegotiateMediaTypeOptions(req.Header.Get("Accept"), ns.SupportedMediaTypes(), restrictions)
	if !ok {
		return options, runtime.SerializerInfo{}, notAcceptable(ns)
	}
	return options, options.ForPeople(req, options.Accepted), nil
}

func notAcceptable(ns runtime.NegotiatedSerializer) error {
	supported, _ := MediaTypesForSerializer(ns)
	return NewNotAcceptableError(supported)
}

// why says in step by which clause of the header the media type was chosen: better is how many come before it.
func why(step *trace.Step, header string, options *MediaTypeOptions, better int) {
	form := options.Accepted.MediaType
	if options.Convert != nil {
		form += " as " + options.Convert.Kind
	}
	switch {
	case header == "" || header == "*/*":
		step.WhyText(trace.AnyMediaType, form)
	case better == 0:
		step.WhyText(trace.MediaTypeAsked, form)
	default:
		step.WhyText(trace.MediaTypeNext, form, int64(better))
	}
}

// ForPeople is info with the pretty serializer as its serializer, if there is one and req wants it.
func (options MediaTypeOptions) ForPeople(req *http.Request, info runtime.SerializerInfo) runtime.SerializerInfo {
	if info.PrettySerializer != nil && (options.Pretty || IsPrettyPrint(req)) {
		info.Serializer = info.PrettySerializer
	}
	return info
}

// NegotiateInputSerializer finds how to read req's body. No Content-Type means the first that ns supports.
func NegotiateInputSerializer(req *http.Request, ns runtime.NegotiatedSerializer) (runtime.SerializerInfo, error) {
	supported := ns.SupportedMediaTypes()
	contentType := req.Header.Get("Content-Type")
	if contentType == "" {
		return supported[0], nil
	}
	if mediaType, _, err := mime.ParseMediaType(contentType); err == nil {
		if info, ok := runtime.SerializerInfoForMediaType(supported, mediaType); ok {
			return info, nil
		}
	}
	mediaTypes, _ := MediaTypesForSerializer(ns)
	return runtime.SerializerInfo{}, NewUnsupportedMediaTypeError(mediaTypes)
}

// NegotiateMediaTypeOptions takes the client's clauses in the order of its preference, and of each the first serializer
// that matches it and that the endpoint can use.
func NegotiateMediaTypeOptions(header string, accepted []runtime.SerializerInfo, endpoint EndpointRestrictions) (MediaTypeOptions, bool) {
	options, _, ok := negotiate(header, accepted, endpoint)
	return options, ok
}

// negotiate also returns how many clauses the client likes better than the one that it found.
func negotiate(header string, accepted []runtime.SerializerInfo, endpoint EndpointRestrictions) (_ MediaTypeOptions, better int, ok bool) {
	if header == "" && len(accepted) > 0 {
		return MediaTypeOptions{Accepted: accepted[0]}, 0, true
	}
	for better, clause := range goautoneg.ParseAccept(header) {
		for i := range accepted {
			info := &accepted[i]
			if clause.Type != "*" && clause.Type != info.MediaTypeType {
				continue
			}
			if clause.SubType != "*" && (clause.Type == "*" || clause.SubType != info.MediaTypeSubType) {
				continue
			}
			if options, ok := acceptMediaTypeOptions(clause.Params, info, endpoint); ok {
				return options, better, true
			}
		}
	}
	return MediaTypeOptions{}, 0, false
}

// acceptMediaTypeOptions reads the parameters of a clause, or says that the endpoint can't do what they ask.
func acceptMediaTypeOptions(params map[string]string, info *runtime.SerializerInfo, endpoint EndpointRestrictions) (MediaTypeOptions, bool) {
	options := MediaTypeOptions{Accepted: *info}
	convert := func() *schema.GroupVersionKind {
		if options.Convert == nil {
			options.Convert = &schema.GroupVersionKind{}
		}
		return options.Convert
	}
	for key, value := range params {
		switch key {
		case "as":
			convert().Kind = value
		case "g":
			convert().Group = value
		case "v":
			convert().Version = value
		case "stream":
			if value != "" && (info.StreamSerializer == nil || !endpoint.AllowsStreamSchema(value)) {
				return MediaTypeOptions{}, false
			}
			options.Stream = value
		case "sv":
			if value != "" && !endpoint.AllowsServerVersion(value) {
				return MediaTypeOptions{}, false
			}
			options.UseServerVersion = value
		case "pretty":
			options.Pretty = value == "1"
		case "profile":
			options.Profile = value
		}
	}
	ok := endpoint.AllowsMediaTypeTransform(info.MediaTypeType, info.MediaTypeSubType, options.Convert)
	return options, ok
}

// humanAgents begin the User-Agent of clients that people look at.
var humanAgents = []string{"curl", "Wget", "Mozilla/5.0"}

// IsPrettyPrint says whether req asks for readable text. Without a "pretty" in its query, its client decides.
func IsPrettyPrint(req *http.Request) bool {
	// Most queries have no such parameter: look before parsing.
	if strings.Contains(req.URL.RawQuery, "pretty") {
		if value := req.URL.Query().Get("pretty"); value != "" {
			pretty, _ := strconv.ParseBool(value)
			return pretty
		}
	}
	agent := req.UserAgent()
	for _, human := range humanAgents {
		if strings.HasPrefix(agent, human) {
			return true
		}
	}
	return false
}
