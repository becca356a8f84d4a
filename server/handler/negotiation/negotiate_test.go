package negotiation

import (
	"net/http"
	"net/http/httptest"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metainternalversionscheme "k8s.io/apimachinery/pkg/apis/meta/internalversion/scheme"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var codecs = metainternalversionscheme.Codecs

// endpoint allows tables in JSON, version v1 of the meta group, and watches.
type endpoint struct{}

func (endpoint) AllowsMediaTypeTransform(_, sub string, target *schema.GroupVersionKind) bool {
	return target == nil || target.Kind == "Table" && sub == "json"
}
func (endpoint) AllowsServerVersion(version string) bool { return version == "v1" }
func (endpoint) AllowsStreamSchema(schema string) bool   { return schema == "watch" }

func TestNegotiateOutputMediaType(t *testing.T) {
	for _, tc := range []struct{ accept, mediaType, as string }{
		{"", "application/json", ""},
		{"*/*", "application/json", ""},
		{"application/*", "application/json", ""},
		{"*/json", "", ""},
		{"application/yaml", "application/yaml", ""},
		{"application/yaml;q=0.1, application/vnd.kubernetes.protobuf", "application/vnd.kubernetes.protobuf", ""},
		{"text/html,application/xhtml+xml,*/*;q=0.8", "application/json", ""},
		{"application/json;as=Table;g=meta.k8s.io;v=v1", "application/json", "meta.k8s.io/v1, Kind=Table"},
		{"application/yaml;as=Table;g=meta.k8s.io;v=v1,application/json", "application/json", ""},
		{"application/json;as=Chair", "", ""},
		{"application/json;stream=watch", "application/json", ""},
		{"application/json;stream=flood", "", ""},
		{"application/json;sv=v1", "application/json", ""},
		{"application/json;sv=v2", "", ""},
		{"application/json;unknown=1", "application/json", ""},
		{"nonsense", "", ""},
		{";;;,,,", "", ""},
	} {
		req := httptest.NewRequest(http.MethodGet, "/", nil)
		req.Header.Set("Accept", tc.accept)
		options, info, err := NegotiateOutputMediaType(req, codecs, endpoint{})
		if tc.mediaType == "" {
			const want = "only the following media types are accepted: application/json, application/yaml, application/vnd.kubernetes.protobuf"
			if !apierrors.IsNotAcceptable(err) || err.Error() != want {
				t.Errorf("%q: want a 406, got %v", tc.accept, err)
			}
			continue
		}
		as := ""
		if options.Convert != nil {
			as = options.Convert.String()
		}
		if err != nil || info.MediaType != tc.mediaType || as != tc.as {
			t.Errorf("%q: got %s as %q, %v", tc.accept, info.MediaType, as, err)
		}
	}
}

func TestNegotiateInputSerializer(t *testing.T) {
	for contentType, want := range map[string]string{
		"": "application/json", "application/json": "application/json", "application/json; charset=utf-8": "application/json",
		"application/yaml": "application/yaml", "application/vnd.kubernetes.protobuf": "application/vnd.kubernetes.protobuf",
		"text/plain": "", "application/*": "", "/": "",
	} {
		req := httptest.NewRequest(http.MethodPost, "/", nil)
		req.Header.Set("Content-Type", contentType)
		info, err := NegotiateInputSerializer(req, codecs)
		if info.MediaType != want || (want == "") != apierrors.IsUnsupportedMediaType(err) {
			t.Errorf("%q: got %q, %v", contentType, info.MediaType, err)
		}
	}
}

func TestDefaultEndpointRestrictionsAllowNoOtherKind(t *testing.T) {
	for accept, ok := range map[string]bool{
		"application/json": true, "application/json;stream=watch": true,
		"application/json;as=Table;g=meta.k8s.io;v=v1": false, "application/json;sv=v1": false,
	} {
		if _, got := NegotiateMediaTypeOptions(accept, codecs.SupportedMediaTypes(), DefaultEndpointRestrictions); got != ok {
			t.Errorf("%q: got %v", accept, got)
		}
	}
}

func FuzzAccept(f *testing.F) {
	f.Add("application/json;as=Table;g=meta.k8s.io;v=v1;q=0.5, */*")
	f.Fuzz(func(t *testing.T, accept string) {
		req := httptest.NewRequest(http.MethodGet, "/", nil)
		req.Header["Accept"] = []string{accept}
		req.Header["Content-Type"] = []string{accept}
		if _, info, err := NegotiateOutputMediaType(req, codecs, endpoint{}); (err == nil) != (info.Serializer != nil) {
			t.Errorf("%q: %v, %v", accept, info, err)
		}
		if info, err := NegotiateInputSerializer(req, codecs); (err == nil) != (info.Serializer != nil) {
			t.Errorf("%q: %v, %v", accept, info, err)
		}
	})
}
