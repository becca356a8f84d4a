// Package kubelet reaches nodes: it finds the address of a node's kubelet, and passes requests on to kubelets, pods and
// services.
//
// It owns the connections that the server makes to nodes, and the two ways to use them: [Proxy] passes a request on,
// and upgrades the connection if the client asks for it; [LocationStreamer] reads one URL, for a log.
//
// What comes in: the name of a node, or a URL that a resource has found. What goes out: what the node answered, or the
// error of the dial in the words of the Kubernetes API server. Without any node, that error is the answer.
//
// # Invariants
//
//  1. A kubelet is reached over TLS, with the server's client certificate if there is one. The server verifies the
//     kubelet's certificate only if --kubelet-certificate-authority is given.
//  2. An upgraded connection ends when the client or the node closes it, and when the server stops. A write that is not
//     taken within 30 seconds ends the connection.
//  3. No journey holds a node's answer. The audit log holds it only if the policy asks for bodies.
package kubelet
