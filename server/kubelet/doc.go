// Package kubelet reaches nodes: it finds the address of a node's kubelet, and passes requests on to kubelets, pods and
// services.
//
// It owns the connections that the server makes to nodes, and the two ways of answering over them: [Proxy] passes a request
// on as it is, and upgrades the connection if the client asks for it; [LocationStreamer] reads one URL, for a log.
//
// What comes in: the name of a node, or a URL that a resource has found. What goes out: what the node answered, or the
// error of the dial in the words of the Kubernetes API server. There need not be any node: then the error is the answer.
//
// # Invariants
//
//  1. A kubelet is reached over TLS, with the server's client certificate if there is one. Its own certificate is verified if
//     --kubelet-certificate-authority is given, and believed otherwise.
//  2. An upgraded connection ends with its client's, with its node's, and with the server, and when one side reads nothing for
//     half a minute of what the other writes.
//  3. Nothing that a node answers gets into a journey, and into the audit log only if the policy wants bodies.
package kubelet
