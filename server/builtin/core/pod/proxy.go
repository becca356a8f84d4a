package pod

import (
	"context"
	"fmt"
	"net"
	"net/url"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	netutils "k8s.io/utils/net"

	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/server/builtin"
	"github.com/kx-apiserver/kx/server/kubelet"
)

// newProxyREST makes the subresource proxy, which passes requests on to an address of the pod.
func newProxyREST(pods *builtin.REST, kubelets *kubelet.Client) rest.Storage {
	return &kubelet.ProxyREST{
		Options: func() runtime.Object { return &corev1.PodProxyOptions{} },
		Path:    func(o runtime.Object) string { return o.(*corev1.PodProxyOptions).Path },
		ResourceLocation: func(ctx context.Context, id string) (kubelet.Location, error) {
			scheme, name, port, ok := utilnet.SplitSchemeNamePort(id)
			if !ok {
				return kubelet.Location{}, apierrors.NewBadRequest(fmt.Sprintf("invalid pod request %q", id))
			}
			pod, err := getPod(ctx, pods, name)
			if err != nil {
				return kubelet.Location{}, err
			}
			host, err := hostOf(pod, port)
			return kubelet.Location{URL: &url.URL{Scheme: scheme, Host: host}, Transport: kubelets.Pods()}, err
		},
	}
}

// hostOf returns the pod's address with the requested port, or with the first port that the pod declares. It refuses
// addresses of this machine: otherwise users of the proxy could reach every port that is open here.
func hostOf(pod *corev1.Pod, port string) (string, error) {
	for _, c := range pod.Spec.Containers {
		if port == "" && len(c.Ports) > 0 {
			port = strconv.Itoa(int(c.Ports[0].ContainerPort))
		}
	}
	address := firstIP(pod)
	if ip := netutils.ParseIPSloppy(address); ip == nil || !kubelet.IsRemote(ip) {
		return "", apierrors.NewBadRequest("address not allowed")
	}
	switch {
	case port != "":
		return net.JoinHostPort(address, port), nil
	case strings.Contains(address, ":"):
		return "[" + address + "]", nil
	}
	return address, nil
}
