// Package certificates signs approved requests for certificates, and removes requests that are over, as kube-controller-manager's
// certificatesigningrequest-signing-controller and certificatesigningrequest-cleaner-controller do.
//
// In come the keys of requests that change. Out go certificates for clients of this server, the condition Failed on requests for what a
// signer does not give, and deletions.
//
// Two of upstream's four signers are here: kubernetes.io/kube-apiserver-client and kubernetes.io/kube-apiserver-client-kubelet. They use the
// authority in the server's data directory, which signs for clients of the server and for the server itself, and which clients trust to tell
// them who the server is. So it signs for no other servers: requests for kubernetes.io/kubelet-serving and the legacy signer are left to
// whoever has an authority for them.
//
// # Invariants
//
//  1. A request that is not approved, is denied, has failed, or has a certificate, is never signed.
//  2. What was approved is what is signed: the request can't be changed after its creation.
//  3. Each server signs with its own authority. Where several are on one etcd, the one that runs the controllers signs, and the others
//     accept the certificate only if they accept that authority (--client-ca-file).
//  4. Between the end of a request and its deletion nothing is done.
package certificates
