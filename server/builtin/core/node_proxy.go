package core

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	utilnet "k8s.io/apimachinery/pkg/util/net"

	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/server/builtin"
	"github.com/kx-apiserver/kx/server/kubelet"
)

// DeclareNodes declares nodes with the subresource proxy.
func DeclareNodes(kubelets *kubelet.Client) builtin.Resource[*corev1.Node] {
	r := Node
	proxy := builtin.Make(func(*builtin.REST) rest.Storage { return newProxyREST(kubelets) })
	r.Sub = append(slices.Clone(r.Sub), builtin.Sub{Name: "proxy", New: proxy})
	return r
}

// AddNodeOptions registers the conversion from a query to the options of the proxy.
func AddNodeOptions(s *runtime.Scheme) error {
	return builtin.AddQueryOptions(s, &corev1.NodeProxyOptions{})
}

func newProxyREST(kubelets *kubelet.Client) rest.Storage {
	return &kubelet.ProxyREST{
		Options:          func() runtime.Object { return &corev1.NodeProxyOptions{} },
		Path:             func(o runtime.Object) string { return o.(*corev1.NodeProxyOptions).Path },
		ResourceLocation: func(ctx context.Context, id string) (kubelet.Location, error) { return locate(ctx, kubelets, id) },
	}
}

// locate finds the node's kubelet, or another port of the node if the ID names one.
func locate(ctx context.Context, kubelets *kubelet.Client, id string) (kubelet.Location, error) {
	scheme, name, port, ok := utilnet.SplitSchemeNamePort(id)
	if !ok {
		return kubelet.Location{}, apierrors.NewBadRequest(fmt.Sprintf("invalid node request %q", id))
	}
	info, err := kubelets.GetConnectionInfo(ctx, name)
	if err != nil {
		return kubelet.Location{}, err
	}
	if err := checkHost(ctx, info.Hostname); err != nil {
		return kubelet.Location{}, apierrors.NewBadRequest(err.Error())
	}
	if port == "" || port == info.Port {
		return kubelet.Location{URL: &url.URL{Scheme: info.Scheme, Host: info.Host()}, Transport: info.ProxyTransport}, nil
	}
	return kubelet.Location{URL: &url.URL{Scheme: scheme, Host: net.JoinHostPort(info.Hostname, port)}, Transport: kubelets.Pods()}, nil
}

// checkHost refuses addresses of this machine: otherwise a user who may change a node could reach every port that is
// open here. The transports check again, since a name can resolve to another address a moment later. This check
// exists for its message, which is upstream's.
func checkHost(ctx context.Context, host string) error {
	addresses, err := net.DefaultResolver.LookupIPAddr(ctx, host)
	if err != nil {
		return err
	}
	if len(addresses) == 0 {
		return errors.New("no addresses for hostname")
	}
	for _, a := range addresses {
		if !kubelet.IsRemote(a.IP) {
			return errors.New("address not allowed")
		}
	}
	return nil
}
