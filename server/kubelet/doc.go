// Package kubelet connects to nodes: it finds the address of a node's kubelet, and forwards requests to
// kubelets, pods and services.
//
// It owns the server's connections to nodes, and the two ways to use them: [Proxy] forwards a request, and
// upgrades the connection if the client requests it; [LocationStreamer] reads one URL, for a log.
//
// In comes the name of a node, or a URL that a resource has found. Out goes the node's answer, or the error of
// the dial in the words of the Kubernetes API server. Without any node, that error is the answer.
//
// # Invariants
//
//  1. The connection to a kubelet uses TLS, with the server's client certificate if there is one. The server
//     verifies the kubelet's certificate only if --kubelet-certificate-authority is given.
//  2. An upgraded connection ends when the client or the node closes it, when the server stops, and when a
//     write takes longer than 30 seconds. One that the node has not answered yet ends with its request.
//  3. No journey holds a node's answer. The audit log holds it only if the policy requests bodies.
package kubelet
