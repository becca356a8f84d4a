package aggregator_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	apidiscoveryv2 "k8s.io/api/apidiscovery/v2"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	"k8s.io/utils/ptr"

	"github.com/kx-apiserver/kx/server/controller"
	"github.com/kx-apiserver/kx/server/internal/controllertest"
	"github.com/kx-apiserver/kx/server/options"
)

type stage struct{ *controllertest.Stage }

func must[T any](t *testing.T) func(T, error) T {
	return func(v T, err error) T {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
}

func (s stage) group() string { return s.Namespace + ".example.com" }

// service makes the service that the API service names.
func (s stage) service(spec corev1.ServiceSpec) {
	s.T.Helper()
	must[*corev1.Service](s.T)(s.CoreV1().Services(s.Namespace).Create(s.T.Context(), &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "far"}, Spec: spec}, metav1.CreateOptions{}))
}

func ports(name string) corev1.ServiceSpec {
	return corev1.ServiceSpec{Ports: []corev1.ServicePort{{Name: name, Port: 443}}}
}

// endpoints makes a slice of the service with one endpoint.
func (s stage) endpoints(port string, ready bool) {
	s.T.Helper()
	must[*discoveryv1.EndpointSlice](s.T)(s.DiscoveryV1().EndpointSlices(s.Namespace).Create(s.T.Context(), &discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Name: "far-1", Labels: map[string]string{discoveryv1.LabelServiceName: "far"}},
		AddressType: discoveryv1.AddressTypeIPv4,
		Endpoints:   []discoveryv1.Endpoint{{Addresses: []string{"192.0.2.1"}, Conditions: discoveryv1.EndpointConditions{Ready: &ready}}},
		Ports:       []discoveryv1.EndpointPort{{Name: &port, Port: ptr.To[int32](443)}},
	}, metav1.CreateOptions{}))
}

// register makes the API service.
func (s stage) register(edit func(*apiregistrationv1.APIServiceSpec)) {
	s.T.Helper()
	one := apiregistrationv1.APIService{ObjectMeta: metav1.ObjectMeta{Name: "v1." + s.group()}, Spec: apiregistrationv1.APIServiceSpec{
		Group: s.group(), Version: "v1", GroupPriorityMinimum: 100, VersionPriority: 10, InsecureSkipTLSVerify: true,
		Service: &apiregistrationv1.ServiceReference{Namespace: s.Namespace, Name: "far"},
	}}
	if edit != nil {
		edit(&one.Spec)
	}
	body := must[[]byte](s.T)(json.Marshal(&one))
	err := s.RESTClient().Post().AbsPath("/apis/apiregistration.k8s.io/v1/apiservices").SetHeader("Content-Type", "application/json").Body(body).Do(s.T.Context()).Error()
	if err != nil {
		s.T.Fatal(err)
	}
}

// serve starts a server behind the service, and registers it.
func (s stage) serve(answer http.HandlerFunc, edit func(*apiregistrationv1.APIServiceSpec)) {
	s.T.Helper()
	server := httptest.NewTLSServer(answer)
	s.T.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	at := must[*url.URL](s.T)(url.Parse(server.URL))
	s.service(corev1.ServiceSpec{Type: corev1.ServiceTypeExternalName, ExternalName: at.Hostname()})
	port := must[int](s.T)(strconv.Atoi(at.Port()))
	s.register(func(spec *apiregistrationv1.APIServiceSpec) {
		spec.Service.Port = ptr.To(int32(port))
		if edit != nil {
			edit(spec)
		}
	})
}

// answers is a server with a resource, which tells who asks for it.
func (s stage) answers(asList bool) http.HandlerFunc {
	root := "/apis/" + s.group() + "/v1"
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch {
		case r.URL.Path == "/apis" && asList:
			w.Header().Set("Content-Type", "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList")
			fmt.Fprintf(w, `{"kind":"APIGroupDiscoveryList","apiVersion":"apidiscovery.k8s.io/v2","items":[{"metadata":{"name":%q},"versions":[{"version":"v1","freshness":"Current",
				"resources":[{"resource":"things","responseKind":{"kind":"Thing"},"scope":"Cluster","singularResource":"thing","verbs":["list"],
				"subresources":[{"subresource":"status","verbs":["get"]}]}]}]}]}`, s.group())
		case r.URL.Path == root:
			fmt.Fprintf(w, `{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"%s/v1","resources":[{"name":"things","kind":"Thing","singularName":"thing","verbs":["list"]}]}`, s.group())
		case r.URL.Path == root+"/things":
			for name, values := range r.Header {
				if strings.HasPrefix(name, "X-Remote-") || name == "Authorization" || name == "Impersonate-User" {
					fmt.Fprintf(w, "%s: %s; ", name, strings.Join(values, ", "))
				}
			}
		case r.URL.Path == root+"/teapots":
			w.WriteHeader(http.StatusTeapot)
			fmt.Fprintf(w, "%s %s", r.Method, r.URL.RawQuery)
		case r.URL.Path == root+"/moved":
			http.Redirect(w, r, "https://192.0.2.1/elsewhere", http.StatusFound)
		default:
			http.NotFound(w, r)
		}
	}
}

var scenes = map[string]func(s stage){
	"no service": func(s stage) { s.register(nil) },
	"another port": func(s stage) {
		s.service(ports(""))
		s.register(func(spec *apiregistrationv1.APIServiceSpec) { spec.Service.Port = ptr.To[int32](8443) })
	},
	"no endpoints": func(s stage) { s.service(ports("")); s.register(nil) },
	"an endpoint that is not ready": func(s stage) {
		s.service(ports("https"))
		s.endpoints("https", false)
		s.register(nil)
	},
	"an endpoint with another port": func(s stage) {
		s.service(ports("https"))
		s.endpoints("http", true)
		s.register(nil)
	},
	"a server":                func(s stage) { s.serve(s.answers(true), nil) },
	"a server without a list": func(s stage) { s.serve(s.answers(false), nil) },
	"a server that refuses": func(s stage) {
		s.serve(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusForbidden) }, nil)
	},
	"a server that redirects": func(s stage) { s.serve(http.RedirectHandler("https://192.0.2.1/", http.StatusFound).ServeHTTP, nil) },
	"a server that is silent": func(s stage) { s.serve(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }, nil) },
	"a server that hangs up":  func(s stage) { s.serve(func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, nil) },
	"an authority that is not": func(s stage) {
		s.serve(s.answers(true), func(spec *apiregistrationv1.APIServiceSpec) {
			spec.InsecureSkipTLSVerify, spec.CABundle = false, []byte(otherCA)
		})
	},
}

// otherCA has signed nothing.
const otherCA = `-----BEGIN CERTIFICATE-----
MIIBeDCCAR2gAwIBAgIUdu2gWiCNkDyP37CvYskzwFTVTCwwCgYIKoZIzj0EAwIw
EDEOMAwGA1UEAwwFb3RoZXIwIBcNMjYxMTI0MDMzMzI0WhgPMjEyNjEwMzEwMzMz
MjRaMBAxDjAMBgNVBAMMBW90aGVyMFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE
KW3GlZOxs1rIiZiyTikLzyiQlUvLEkphWKeikSFyUdiDT0R9ev6L3WXmifrw1dFC
yt9Id7NP4DLCQNmkmLYF1KNTMFEwHQYDVR0OBBYEFHIuxerOKyCERS88xVON2Xmz
+BcuMB8GA1UdIwQYMBaAFHIuxerOKyCERS88xVON2Xmz+BcuMA8GA1UdEwEB/wQF
MAMBAf8wCgYIKoZIzj0EAwIDSQAwRgIhAK9idrlv1LANcqT+PkN0ZpHv8NE3+04j
DWeCjnekFk3yAiEA0tOejkYLq8hd7gfZaqd98vxTED4Rk9fDfI3eS7A0Lpk=
-----END CERTIFICATE-----
`

var masks = []*regexp.Regexp{regexp.MustCompile(`127\.0\.0\.1:\d+`), regexp.MustCompile(`(read tcp |write tcp )\S+`)}

// conditions are those of the API service.
func conditions(s *controllertest.Stage) (lines []string) {
	s.T.Helper()
	var one apiregistrationv1.APIService
	data := must[[]byte](s.T)(s.RESTClient().Get().AbsPath("/apis/apiregistration.k8s.io/v1/apiservices/v1." + s.Namespace + ".example.com").DoRaw(s.T.Context()))
	if err := json.Unmarshal(data, &one); err != nil {
		s.T.Fatal(err)
	}
	for _, c := range one.Status.Conditions {
		lines = append(lines, fmt.Sprintf("condition %s %s %s: %s", c.Type, c.Status, c.Reason, c.Message))
	}
	return lines
}

// state has the condition, what requests get, and what discovery says.
func state(s *controllertest.Stage) (lines []string) {
	s.T.Helper()
	ctx, group := s.T.Context(), s.Namespace+".example.com"
	add := func(format string, args ...any) {
		line := fmt.Sprintf(format, args...)
		for _, m := range masks {
			line = m.ReplaceAllString(line, "<address>")
		}
		lines = append(lines, line)
	}
	for _, line := range conditions(s) {
		add("%s", line)
	}
	for _, path := range []string{"/apis/" + group, "/apis/" + group + "/v1", "/apis/" + group + "/v1/things", "/apis/" + group + "/v1/teapots?a=b", "/apis/" + group + "/v1/moved"} {
		var code int
		result := s.RESTClient().Get().RequestURI(path).SetHeader("Impersonate-User", "jane").SetHeader("Impersonate-Group", "system:masters").
			SetHeader("Impersonate-Uid", "17").SetHeader("Impersonate-Extra-Scopes", "view").SetHeader("X-Remote-User", "mallory").SetHeader("X-Remote-Extra-More", "all").Do(ctx)
		body, err := result.StatusCode(&code).Raw()
		_ = err // it is in the body
		add("GET %s: %d %s", path, code, sorted(string(body)))
	}
	var list apidiscoveryv2.APIGroupDiscoveryList
	data := must[[]byte](s.T)(s.RESTClient().Get().AbsPath("/apis").SetHeader("Accept", "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList").DoRaw(ctx))
	if err := json.Unmarshal(data, &list); err != nil {
		s.T.Fatal(err)
	}
	for _, g := range list.Items {
		if g.Name == group {
			text := must[[]byte](s.T)(json.Marshal(g.Versions))
			add("discovery %s", text)
		}
	}
	return lines
}

// sorted has the headers of an answer in one order.
func sorted(body string) string {
	if !strings.HasPrefix(body, "X-Remote-") {
		return body
	}
	all := strings.Split(strings.TrimSuffix(body, "; "), "; ")
	slices.Sort(all)
	return strings.Join(all, "; ")
}

// TestUpstream registers other servers, and compares what becomes of them with a kube-apiserver v1.37.1.
func TestUpstream(t *testing.T) {
	all := controllertest.Scenes{
		Play: map[string]func(*controllertest.Stage){}, State: state, Quiet: 8 * time.Second,
		Begun: func(lines []string) bool {
			return slices.ContainsFunc(lines, func(line string) bool { return strings.HasPrefix(line, "condition") })
		},
	}
	for name, play := range scenes {
		all.Play[name] = func(s *controllertest.Stage) { play(stage{s}) }
	}
	all.Compare(t, func(t *testing.T) controllertest.Clients {
		o := options.New()
		o.Controllers = controller.Selection{controller.Namespace}
		clients, _ := controllertest.Serve(t, o, controllertest.ShortDir(t))
		return clients
	})
}
