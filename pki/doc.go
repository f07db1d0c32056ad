// Package pki makes and keeps everything secret that a cluster needs before its first process
// starts: certificate authorities, the service-account key, the encryption-at-rest key and all
// certificates, as one value that is made once and stored by its owner.
//
// The package is pure: the time and the source of randomness are arguments, it reads and writes
// no file and opens no connection. What certificates there are is data, see [Table].
//
// Rules come from RFC 5280 and from the Kubernetes documentation, "PKI certificates and
// requirements" (https://kubernetes.io/docs/setup/best-practices/certificates/).
package pki
