// Package certificates declares the resources of certificates.k8s.io: requests for certificates, and bundles of
// trusted authorities.
package certificates
