package pod

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/authorization/authorizer"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/util/proxy"
	"k8s.io/streaming/pkg/httpstream/wsstream"

	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/server/builtin"
	"github.com/kx-apiserver/kx/server/kubelet"
)

// StreamREST is a subresource that connects a client to a pod's processes: exec, attach or portforward.
type StreamREST struct {
	pods       *builtin.REST
	kubelets   *kubelet.Client
	authorizer authorizer.UnconditionalAuthorizer
	// options is an empty object of the options' type. location makes the kubelet's request from the pod and the
	// client's options.
	options  runtime.Object
	location func(pod *corev1.Pod, options runtime.Object) (*location, error)
}

var _ rest.Connecter[http.Handler] = &StreamREST{}

// location is the request to a kubelet, and the translation of a client's WebSocket to the kubelet's SPDY.
type location struct {
	path  string
	query url.Values
	// translated reports whether translate handles a request. Other requests are passed on unchanged.
	translated func(*http.Request) bool
	translate  func(to kubelet.Location, plain http.Handler) http.Handler
}

func (n Needs) streamed(options runtime.Object, at func(*corev1.Pod, runtime.Object) (*location, error)) builtin.Make {
	return func(pods *builtin.REST) rest.Storage {
		return &StreamREST{pods: pods, kubelets: n.Kubelets, authorizer: n.Authorizer, options: options, location: at}
	}
}

func (r *StreamREST) New() runtime.Object { return r.options.DeepCopyObject() }

// Destroy does nothing: the resource pods owns the storage.
func (*StreamREST) Destroy() {}

// ConnectMethods includes GET, since browsers open WebSockets with GET.
func (*StreamREST) ConnectMethods() []string { return []string{http.MethodGet, http.MethodPost} }

func (r *StreamREST) NewConnectOptions() (runtime.Object, bool, string) { return r.New(), false, "" }

// Connect returns a handler that proxies to the pod's kubelet. A kubelet that supports WebSockets gets them
// untranslated.
func (r *StreamREST) Connect(ctx context.Context, name string, options runtime.Object, responder rest.Responder) (http.Handler, error) {
	if err := authorizeCreate(ctx, r.authorizer); err != nil {
		return nil, err
	}
	pod, err := getPod(ctx, r.pods, name)
	if err != nil {
		return nil, err
	}
	at, err := r.location(pod, options)
	if err != nil {
		return nil, err
	}
	if pod.Spec.NodeName == "" {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("pod %s does not have a host assigned", name))
	}
	node, err := r.kubelets.GetConnectionInfo(ctx, pod.Spec.NodeName)
	if err != nil {
		return nil, err
	}
	to := kubelet.Location{Transport: node.Transport, URL: &url.URL{
		Scheme: node.Scheme, Host: node.Host(), Path: at.path, RawQuery: at.query.Encode(),
	}}
	plain := kubelet.Proxy(to, true, responder)
	if slices.Contains(node.NodeFeatures, knowsWebSockets) {
		return plain, nil
	}
	return proxy.NewTranslatingHandler(plain, at.translate(to, plain), at.translated), nil
}

// knowsWebSockets is the feature of nodes whose kubelets support WebSockets.
const knowsWebSockets = "ExtendWebSocketsToKubelet"

func execLocation(pod *corev1.Pod, options runtime.Object) (*location, error) {
	o, err := builtin.As[*corev1.PodExecOptions](options)
	if err != nil {
		return nil, err
	}
	at, err := processLocation(pod, "exec", o.Container, proxy.Options{Stdin: o.Stdin, Stdout: o.Stdout, Stderr: o.Stderr, Tty: o.TTY})
	if err == nil && len(o.Command) > 0 {
		at.query["command"] = o.Command
	}
	return at, err
}

func attachLocation(pod *corev1.Pod, options runtime.Object) (*location, error) {
	o, err := builtin.As[*corev1.PodAttachOptions](options)
	if err != nil {
		return nil, err
	}
	return processLocation(pod, "attach", o.Container, proxy.Options{Stdin: o.Stdin, Stdout: o.Stdout, Stderr: o.Stderr, Tty: o.TTY})
}

// processLocation makes the location for the streams of a container's process.
func processLocation(pod *corev1.Pod, verb, named string, streams proxy.Options) (*location, error) {
	container, err := containerOf(pod, named)
	if err != nil {
		return nil, err
	}
	query := url.Values{}
	for name, wanted := range map[string]bool{
		corev1.ExecStdinParam: streams.Stdin, corev1.ExecStdoutParam: streams.Stdout, corev1.ExecStderrParam: streams.Stderr,
		corev1.ExecTTYParam: streams.Tty,
	} {
		if wanted {
			query.Set(name, "1")
		}
	}
	return &location{
		path:       fmt.Sprintf("/%s/%s/%s/%s", verb, pod.Namespace, pod.Name, container),
		query:      query,
		translated: wsstream.IsWebSocketRequestWithStreamCloseProtocol,
		translate: func(to kubelet.Location, _ http.Handler) http.Handler {
			return proxy.NewStreamTranslatorHandler(to.URL, to.Transport, 0, streams)
		},
	}, nil
}

func portForwardLocation(pod *corev1.Pod, options runtime.Object) (*location, error) {
	o, err := builtin.As[*corev1.PodPortForwardOptions](options)
	if err != nil {
		return nil, err
	}
	query := url.Values{}
	if len(o.Ports) > 0 {
		ports := make([]string, len(o.Ports))
		for i, p := range o.Ports {
			ports[i] = strconv.Itoa(int(p))
		}
		query.Set(corev1.PortHeader, strings.Join(ports, ","))
	}
	return &location{
		path:       fmt.Sprintf("/portForward/%s/%s", pod.Namespace, pod.Name),
		query:      query,
		translated: wsstream.IsWebSocketRequestWithTunnelingProtocol,
		translate:  func(_ kubelet.Location, plain http.Handler) http.Handler { return proxy.NewTunnelingHandler(plain) },
	}, nil
}

// authorizeCreate requires the permission to create also for a GET: a WebSocket begins with GET, and has the effect
// of a POST. Otherwise users with read access alone could run commands.
func authorizeCreate(ctx context.Context, a authorizer.UnconditionalAuthorizer) error {
	info, ok := request.RequestInfoFrom(ctx)
	if !ok {
		return apierrors.NewInternalError(errors.New("no request info in context"))
	}
	if info.Verb == "create" {
		return nil
	}
	if a == nil {
		return apierrors.NewInternalError(errors.New("no authorizer available"))
	}
	user, _ := request.UserFrom(ctx)
	decision, reason, err := a.Authorize(ctx, authorizer.AttributesRecord{
		User: user, Verb: "create", ResourceRequest: info.IsResourceRequest, Path: info.Path,
		APIGroup: info.APIGroup, APIVersion: info.APIVersion, Resource: info.Resource, Subresource: info.Subresource,
		Namespace: info.Namespace, Name: info.Name,
	})
	if err != nil {
		return err
	}
	if decision != authorizer.DecisionAllow {
		resource := schema.GroupResource{Group: info.APIGroup, Resource: info.Resource}
		return apierrors.NewForbidden(resource, info.Name, errors.New(reason))
	}
	return nil
}
