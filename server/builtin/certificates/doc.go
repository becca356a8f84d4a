// Package certificates declares the resources of certificates.k8s.io: requests for certificates, and the authorities
// that are believed.
package certificates
