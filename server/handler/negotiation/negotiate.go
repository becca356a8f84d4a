package negotiation

import (
	"mime"
	"net/http"
	"strconv"
	"strings"

	"github.com/munnerz/goautoneg"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kx-apiserver/kx/core/steps"
	"github.com/kx-apiserver/kx/core/trace"
)

// MediaTypeOptions holds the choice from a client's Accept header.
type MediaTypeOptions struct {
	// Pretty asks for indented text.
	Pretty bool
	// Stream asks for the streaming form of the media type. Only "watch" exists.
	Stream string
	// Convert asks for another kind than the resource's, such as Table.
	Convert *schema.GroupVersionKind
	// UseServerVersion names the version of the meta group to use.
	UseServerVersion string
	// Profile narrows discovery, for example to the resources that this server itself serves.
	Profile string
	// Accepted is the chosen serializer.
	Accepted runtime.SerializerInfo
}

// EndpointRestrictions declare the special forms of response that an endpoint supports.
type EndpointRestrictions interface {
	// AllowsMediaTypeTransform reports whether the endpoint can respond in the media type with an object of kind
	// target. A nil target is the resource's own kind.
	AllowsMediaTypeTransform(mimeType, mimeSubType string, target *schema.GroupVersionKind) bool
	// AllowsServerVersion reports whether the endpoint has this version of the meta group.
	AllowsServerVersion(version string) bool
	// AllowsStreamSchema reports whether the endpoint can stream in this form.
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

// MediaTypesForSerializer returns the media types of ns, and those that it can stream.
func MediaTypesForSerializer(ns runtime.NegotiatedSerializer) (mediaTypes, streamMediaTypes []string) {
	for _, info := range ns.SupportedMediaTypes() {
		mediaTypes = append(mediaTypes, info.MediaType)
		if info.StreamSerializer != nil {
			streamMediaTypes = append(streamMediaTypes, info.MediaType+";stream=watch")
		}
	}
	return mediaTypes, streamMediaTypes
}

var noMediaType = trace.Because("no-media-type",
	"the resource can do nothing of what the client takes",
	"客户端接受的形式，资源都不支持")

// NegotiateOutputMediaType chooses the form of the response. It returns the pretty serializer if the client asks for
// that.
func NegotiateOutputMediaType(req *http.Request, ns runtime.NegotiatedSerializer,
	restrictions EndpointRestrictions) (_ MediaTypeOptions, _ runtime.SerializerInfo, err error) {
	header := req.Header.Get("Accept")
	_, step := trace.Start(req.Context(), steps.HandlerMediaType, header)
	defer step.End(&err)
	options, better, ok := negotiate(header, ns.SupportedMediaTypes(), restrictions)
	if !ok {
		step.Why(noMediaType)
		return options, runtime.SerializerInfo{}, notAcceptable(ns)
	}
	if step.Recording() {
		noteClause(step, header, &options, better)
	}
	return options, options.ForPeople(req, options.Accepted), nil
}

// NegotiateErrorMediaType is NegotiateOutputMediaType for an error. It makes no step, because the resource decides
// nothing here.
func NegotiateErrorMediaType(req *http.Request, ns runtime.NegotiatedSerializer,
	restrictions EndpointRestrictions) (MediaTypeOptions, runtime.SerializerInfo, error) {
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

var (
	anyMediaType = trace.Because("any-media-type",
		"the client takes anything: {form:word}, the first that the resource has",
		"客户端什么都接受：{form:word}，即资源支持的第一种")
	mediaTypeAsked = trace.Because("media-type-asked",
		"the client asked for {form:word} first, and the resource has it",
		"客户端首选 {form:word}，资源也支持")
	mediaTypeNext = trace.Because("media-type-next",
		"{form:word}: the resource can do nothing of the {clauses} that the client likes better",
		"{form:word}：客户端更想要的 {clauses} 种，资源都不支持")
)

// noteClause adds to step the clause of the header that chose the media type. better is the number of clauses that
// precede it.
func noteClause(step *trace.Step, header string, options *MediaTypeOptions, better int) {
	form := options.Accepted.MediaType
	if options.Convert != nil {
		form += " as " + options.Convert.Kind
	}
	switch {
	case header == "" || header == "*/*":
		step.WhyText(anyMediaType, form)
	case better == 0:
		step.WhyText(mediaTypeAsked, form)
	default:
		step.WhyText(mediaTypeNext, form, int64(better))
	}
}

// ForPeople returns info with the pretty serializer as its serializer, if there is one and req asks for it.
func (options MediaTypeOptions) ForPeople(req *http.Request, info runtime.SerializerInfo) runtime.SerializerInfo {
	if info.PrettySerializer != nil && (options.Pretty || IsPrettyPrint(req)) {
		info.Serializer = info.PrettySerializer
	}
	return info
}

// NegotiateInputSerializer chooses the serializer for req's body. Without a Content-Type it is the first one of ns.
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

// NegotiateMediaTypeOptions tries the clauses in the order of the client's preference. For each it takes the first
// serializer that matches and that the endpoint allows.
func NegotiateMediaTypeOptions(header string, accepted []runtime.SerializerInfo, endpoint EndpointRestrictions) (MediaTypeOptions, bool) {
	options, _, ok := negotiate(header, accepted, endpoint)
	return options, ok
}

// negotiate also returns how many clauses the client prefers to the chosen one.
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

// acceptMediaTypeOptions parses the parameters of a clause. It returns false if the endpoint does not allow them.
func acceptMediaTypeOptions(params map[string]string, info *runtime.SerializerInfo,
	endpoint EndpointRestrictions) (MediaTypeOptions, bool) {
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

// humanAgents begin the User-Agent of clients whose users read the response themselves.
var humanAgents = []string{"curl", "Wget", "Mozilla/5.0"}

// IsPrettyPrint reports whether req asks for indented text. Without "pretty" in the query, the User-Agent decides.
func IsPrettyPrint(req *http.Request) bool {
	// Most queries have no such parameter, so parsing them would be wasted.
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
