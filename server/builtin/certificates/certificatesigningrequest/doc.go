// Package certificatesigningrequest declares certificatesigningrequests.certificates.k8s.io: what somebody wants signed, whether
// that was approved, and the certificate.
//
// Each part has its writer. A new request says who asks. After that, approval writes the conditions, status writes the
// certificate and the conditions that are no decision, and an update of the object itself changes only the metadata.
package certificatesigningrequest
