package pod

import (
	"context"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/server/builtin"
	"github.com/kx-apiserver/kx/server/builtin/core/podspec"
	"github.com/kx-apiserver/kx/server/kubelet"
)

// LogREST is the subresource log: the output of a container, read from its node.
type LogREST struct {
	pods     *builtin.REST
	kubelets *kubelet.Client
}

var _ rest.GetterWithOptions = &LogREST{}

func (*LogREST) New() runtime.Object { return &corev1.Pod{} }

// Destroy does nothing: the resource pods owns the storage.
func (*LogREST) Destroy() {}

func (*LogREST) NewGetOptions() (runtime.Object, bool, string) {
	return &corev1.PodLogOptions{}, false, ""
}

// StreamsText declares the response as text.
func (*LogREST) StreamsText() bool { return true }

// Get returns a stream of the log. A pod without a node has no log.
func (r *LogREST) Get(ctx context.Context, name string, options runtime.Object) (runtime.Object, error) {
	asked, err := builtin.As[*corev1.PodLogOptions](options)
	if err != nil {
		return nil, err
	}
	if errs := validateLogOptions(asked); len(errs) > 0 {
		return nil, apierrors.NewInvalid(corev1.SchemeGroupVersion.WithKind("PodLogOptions").GroupKind(), name, errs)
	}
	to, err := r.location(ctx, name, asked)
	if err != nil {
		return nil, err
	}
	return &kubelet.LocationStreamer{To: to, Flush: asked.Follow, Resource: corev1.Resource("pods/log"), Name: name}, nil
}

func validateLogOptions(o *corev1.PodLogOptions) field.ErrorList {
	var errs field.ErrorList
	if o.TailLines != nil && *o.TailLines < 0 {
		errs = append(errs, field.Invalid(field.NewPath("tailLines"), *o.TailLines, "must be greater than or equal to 0"))
	}
	if o.LimitBytes != nil && *o.LimitBytes < 1 {
		errs = append(errs, field.Invalid(field.NewPath("limitBytes"), *o.LimitBytes, "must be greater than 0"))
	}
	switch {
	case o.SinceSeconds != nil && o.SinceTime != nil:
		errs = append(errs, field.Forbidden(field.NewPath(""), "at most one of `sinceTime` or `sinceSeconds` may be specified"))
	case o.SinceSeconds != nil && *o.SinceSeconds < 1:
		errs = append(errs, field.Invalid(field.NewPath("sinceSeconds"), *o.SinceSeconds, "must be greater than 0"))
	}
	if o.Stream != nil {
		errs = append(errs, field.Forbidden(field.NewPath("stream"), "may not be specified"))
	}
	return errs
}

func (r *LogREST) location(ctx context.Context, name string, o *corev1.PodLogOptions) (*kubelet.Location, error) {
	pod, err := getPod(ctx, r.pods, name)
	if err != nil {
		return nil, err
	}
	container, err := containerOf(pod, o.Container)
	if err != nil || pod.Spec.NodeName == "" {
		return nil, err
	}
	node, err := r.kubelets.GetConnectionInfo(ctx, pod.Spec.NodeName)
	if err != nil {
		return nil, err
	}
	to := &kubelet.Location{Transport: node.Transport, URL: &url.URL{
		Scheme: node.Scheme, Host: node.Host(), RawQuery: logQuery(o).Encode(),
		Path: fmt.Sprintf("/containerLogs/%s/%s/%s", pod.Namespace, pod.Name, container),
	}}
	if o.InsecureSkipTLSVerifyBackend {
		to.Transport = node.InsecureSkipTLSVerifyTransport
	}
	return to, nil
}

// logQuery encodes the options for a kubelet.
func logQuery(o *corev1.PodLogOptions) url.Values {
	query := url.Values{}
	for name, set := range map[string]bool{"follow": o.Follow, "previous": o.Previous, "timestamps": o.Timestamps} {
		if set {
			query.Set(name, "true")
		}
	}
	for name, n := range map[string]*int64{"sinceSeconds": o.SinceSeconds, "tailLines": o.TailLines, "limitBytes": o.LimitBytes} {
		if n != nil {
			query.Set(name, strconv.FormatInt(*n, 10))
		}
	}
	if o.SinceTime != nil {
		query.Set("sinceTime", o.SinceTime.Format(time.RFC3339))
	}
	return query
}

func getPod(ctx context.Context, pods *builtin.REST, name string) (*corev1.Pod, error) {
	obj, err := pods.Get(ctx, name, &metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	return builtin.As[*corev1.Pod](obj)
}

// containerOf returns the container of a request: the named one, or the only one.
func containerOf(pod *corev1.Pod, named string) (string, error) {
	var names []string
	podspec.VisitContainers(&pod.Spec, nil, func(c *corev1.Container, _ *field.Path) { names = append(names, c.Name) })
	switch {
	case slices.Contains(names, named):
		return named, nil
	case named != "":
		return "", apierrors.NewBadRequest(fmt.Sprintf("container %s is not valid for pod %s", named, pod.Name))
	case len(pod.Spec.Containers) == 1:
		return pod.Spec.Containers[0].Name, nil
	case len(pod.Spec.Containers) == 0:
		return "", apierrors.NewBadRequest(fmt.Sprintf("a container name must be specified for pod %s", pod.Name))
	}
	return "", apierrors.NewBadRequest(fmt.Sprintf("a container name must be specified for pod %s, choose one of: %s", pod.Name, names))
}
